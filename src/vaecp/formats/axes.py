"""The axes of an array among the other arrays of its file: vectors of the lengths of its modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

FEWEST_LABELS = 3
"""Shorter vectors than this are no axes."""


@dataclass(frozen=True, eq=False)
class Axes:
    """Labels and a name for every mode, None where nothing tells, and what could not be told."""

    labels: tuple[np.ndarray | None, ...]
    names: tuple[str | None, ...]
    notes: tuple[str, ...] = ()


def axes_beside(shape: Sequence[int], others: Mapping[str, Any]) -> Axes:
    """Give every mode the one vector of its length that stands beside the array.

    Examples
    --------
    >>> axes = axes_beside((3, 4), {"nm": np.array([250, 260, 270]), "n": np.array([7])})
    >>> axes.names, axes.labels[0]
    (('nm', None), array([250, 260, 270]))
    """
    labels: list[np.ndarray | None] = [None] * len(shape)
    names: list[str | None] = [None] * len(shape)
    notes = []
    for size in dict.fromkeys(shape):
        modes = [mode for mode, each in enumerate(shape) if each == size]
        axes = {
            name: axis for name, each in others.items() if (axis := _beside(each, size)) is not None
        }
        if len(modes) == len(axes) == 1:
            ((names[modes[0]], labels[modes[0]]),) = axes.items()
        elif axes:
            notes.append(_unclear(list(axes), modes, size))
    return Axes(tuple(labels), tuple(names), tuple(notes))


def _unclear(names: Sequence[str], modes: Sequence[int], size: int) -> str:
    """Say that vectors and modes of one length cannot be matched, and what matches them."""
    several = "" if len(modes) == 1 else "s"
    return (
        f"{_joined([repr(name) for name in names])} could label mode{several} "
        f"{_joined([str(mode) for mode in modes])}, which {'has' if not several else 'have'} {size} "
        "rows: which belongs to which cannot be told, so the rows are numbered. Save the right "
        f"labels as {_joined([f'labels_{mode}' for mode in modes])} in the file."
    )


def _joined(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _beside(value: Any, size: int) -> np.ndarray | None:
    """Return a vector as an axis: texts that differ, or numbers that rise or fall throughout.

    A vector of concentrations has the length of the samples too, but hardly an order.
    """
    axis = None if size < FEWEST_LABELS else as_axis(value, size)
    if axis is None or axis.dtype.kind not in "iuf":
        return axis
    steps = np.diff(axis.astype(np.float64))
    return axis if (steps > 0).all() or (steps < 0).all() else None


def as_axis(value: Any, size: int) -> np.ndarray | None:
    """Return the labels of a mode of this size, if the value is such: distinct, none missing."""
    if not isinstance(value, np.ndarray) or value.size != size:
        return None
    texts = cell_texts(value)
    if texts is not None:
        usable = len(set(texts)) == size and all(texts)
        return np.array(texts) if usable else None
    if value.dtype.kind == "M":
        return value if not np.isnat(value).any() and len(np.unique(value)) == size else None
    if not is_numeric(value) or value.dtype.kind == "c":
        return None
    numbers = np.ravel(value)
    if not np.isfinite(numbers).all() or len(np.unique(numbers)) < size:
        return None
    whole = (numbers % 1 == 0).all() and np.abs(numbers).max() < 2**53
    return numbers.astype(np.int64) if whole else numbers


def cell_texts(value: Any) -> list[str] | None:
    """Return the rows of text, or the texts of a cell; None for anything else."""
    if not isinstance(value, np.ndarray):
        return None
    if value.dtype.kind == "U":
        return [str(text).strip() for text in value.ravel()]
    if value.dtype.kind != "O" or not value.size:
        return None
    texts = [single_text(cell) for cell in value.ravel()]
    return [text or "" for text in texts] if all(text is not None for text in texts) else None


def single_text(value: Any) -> str | None:
    """Return a text without the spaces around it; None for what is no single text."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.size == 1:
        return str(value.ravel()[0]).strip()
    return None


def is_numeric(value: Any) -> TypeGuard[np.ndarray]:
    """Whether a variable is a full array of numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "iufbc"
