"""The tensor that a MATLAB file holds, with the axes that stand beside it or in its struct.

Three habits are known. A **dataset object** of PLS_Toolbox, or a struct of that form, has `data`
and, per mode, `axisscale`, `label`, `title` and `include`. Other **structs** hold an array and its
axes as fields, as drEEM's do. And **plain variables**: an array, and vectors of the lengths of its
modes; `DimX` folds a matrix, as in files of the N-way toolbox.

What is read is a namespace: variables by name, each an array of numbers, an array of texts, a cell
(an array of objects) or a struct (a namespace again), whatever version of file it came from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

DESCRIBING = ("axisscale", "label", "title", "include")
"""Fields that make a struct with `data` a dataset object."""
FEWEST_LABELS = 3
"""Shorter vectors than this are no axes."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """An array of numbers, and what is known of its modes.

    Attributes
    ----------
    labels : per mode, or None where nothing names its rows.
    names : per mode, or None.
    kept : per mode, the rows that are included, from 0; None for all.
    """

    array: np.ndarray
    labels: tuple[np.ndarray | None, ...]
    names: tuple[str | None, ...]
    kept: tuple[np.ndarray | None, ...] = ()
    value_name: str = ""

    def described(self) -> dict[str, Any]:
        """Return arguments of `Observations.from_array` for the included rows."""
        rows = [
            np.arange(size) if kept is None else kept
            for size, kept in zip(self.array.shape, self._kept, strict=True)
        ]
        labels = [
            (np.arange(size) if mode is None else mode)[kept]
            for size, mode, kept in zip(self.array.shape, self.labels, rows, strict=True)
        ]
        return {
            "array": self.array[np.ix_(*rows)],
            "labels": labels,
            "mode_names": _distinct(self.names),
            "value_name": self.value_name or "value",
        }

    @property
    def _kept(self) -> tuple[np.ndarray | None, ...]:
        return self.kept or (None,) * self.array.ndim


def tensors(namespace: Mapping[str, Any], prefix: str = "") -> dict[str, Tensor]:
    """Return every tensor of a namespace by name; `struct.field` for an array in a struct."""
    found = {}
    sizes = _sizes(namespace.get("DimX"))
    for name, value in namespace.items():
        if isinstance(value, Mapping):
            whole = dataset_object(value)
            if whole is not None:
                found[f"{prefix}{name}"] = whole
            elif not prefix:
                found |= tensors(value, f"{name}.")
        elif is_tensor(value) and name != "DimX":
            array = folded(value, sizes)
            found[f"{prefix}{name}"] = _with_axes(array, name, namespace)
    return found


def most_modes(found: Mapping[str, Tensor]) -> list[str]:
    """Return the names of the tensors of the most modes; those inside of structs stand back."""
    most = max((tensor.array.ndim for tensor in found.values()), default=0)
    names = [name for name, tensor in found.items() if tensor.array.ndim == most]
    return [name for name in names if "." not in name] or names


def is_numeric(value: Any) -> TypeGuard[np.ndarray]:
    """Whether a variable is a full array of numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "iufbc"


def is_tensor(value: Any) -> TypeGuard[np.ndarray]:
    """Whether a variable has two modes or more; MATLAB has no vectors, 1 x n is one."""
    return is_numeric(value) and sum(size > 1 for size in value.shape) >= 2


def folded(array: np.ndarray, sizes: tuple[int, ...] | None) -> np.ndarray:
    """Fold a matrix to the sizes of its modes, of which the first runs fastest."""
    if sizes is None or array.ndim != 2 or math.prod(sizes) != array.size:
        return array
    return array.reshape(sizes, order="F")


def _sizes(value: Any) -> tuple[int, ...] | None:
    if not is_numeric(value) or not value.size or (value < 1).any() or (value % 1).any():
        return None
    return tuple(int(size) for size in np.ravel(value))


# ---- dataset objects -------------------------------------------------------------------


def dataset_object(fields: Mapping[str, Any]) -> Tensor | None:
    """Return the tensor of a PLS_Toolbox dataset object, or of a struct of that form."""
    data = fields.get("data")
    if not is_tensor(data) or not any(name in fields for name in DESCRIBING):
        return None
    modes = range(data.ndim)
    scales, texts, titles, include = (
        [_item(fields.get(name), mode, 0, data.ndim) for mode in modes] for name in DESCRIBING
    )
    names = [
        _text(titles[mode])
        or _text(_item(fields.get("axisscale"), mode, 1, data.ndim))
        or _text(_item(fields.get("label"), mode, 1, data.ndim))
        for mode in modes
    ]
    labels = []
    for mode, size in enumerate(data.shape):
        choices = [scales[mode], texts[mode]]
        # Samples are known by their names, wavelengths by their numbers.
        axes = (as_axis(each, size) for each in (reversed(choices) if mode == 0 else choices))
        labels.append(next((axis for axis in axes if axis is not None), None))
    kept = tuple(_included(include[mode], data.shape[mode]) for mode in modes)
    return Tensor(data, tuple(labels), tuple(names), kept, _text(fields.get("name")) or "")


def _item(cells: Any, mode: int, column: int, n_modes: int) -> Any:
    """Return what a cell array of modes x (content, name) x sets, or of modes, has for a mode."""
    if not isinstance(cells, np.ndarray) or cells.dtype.kind != "O":
        return None
    if cells.ndim >= 2 and cells.shape[0] == n_modes and column < cells.shape[1]:
        return cells.reshape(*cells.shape[:2], -1)[mode, column, 0]
    return cells.ravel()[mode] if column == 0 and cells.size == n_modes else None


def _included(value: Any, size: int) -> np.ndarray | None:
    if not is_numeric(value) or not value.size or value.size == size:
        return None
    rows = np.unique(np.ravel(value)).astype(np.int64) - 1
    return rows if rows[0] >= 0 and rows[-1] < size else None


# ---- vectors beside an array -----------------------------------------------------------


def _with_axes(array: np.ndarray, name: str, namespace: Mapping[str, Any]) -> Tensor:
    """Give every mode the one vector of its length that stands beside the array."""
    labels: list[np.ndarray | None] = [None] * array.ndim
    names: list[str | None] = [None] * array.ndim
    for mode, size in enumerate(array.shape):
        if array.shape.count(size) > 1:
            continue
        axes = {other: _beside(value, size) for other, value in namespace.items() if other != name}
        found = [other for other, axis in axes.items() if axis is not None]
        if len(found) == 1:
            labels[mode], names[mode] = axes[found[0]], found[0]
    value_name = "" if name.lower() in ("x", "data") else name
    return Tensor(array, tuple(labels), tuple(names), value_name=value_name)


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
    texts = as_texts(value)
    if texts is not None:
        usable = len(set(texts)) == size and all(texts)
        return np.array(texts) if usable else None
    if not is_numeric(value) or value.dtype.kind == "c":
        return None
    numbers = np.ravel(value)
    if not np.isfinite(numbers).all() or len(np.unique(numbers)) < size:
        return None
    whole = (numbers % 1 == 0).all() and np.abs(numbers).max() < 2**53
    return numbers.astype(np.int64) if whole else numbers


def as_texts(value: Any) -> list[str] | None:
    """Return the rows of text, or the texts of a cell; None for anything else."""
    if not isinstance(value, np.ndarray):
        return None
    if value.dtype.kind == "U":
        return [str(text).strip() for text in value.ravel()]
    if value.dtype.kind != "O" or not value.size:
        return None
    texts = [_text(cell) for cell in value.ravel()]
    return [text or "" for text in texts] if all(text is not None for text in texts) else None


def _text(value: Any) -> str | None:
    """Return a text without the spaces around it; None for what is no single text."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.size == 1:
        return str(value.ravel()[0]).strip()
    return None


def _distinct(names: Sequence[str | None]) -> tuple[str, ...]:
    """Name modes that have no name, or that of another mode."""
    found: list[str] = []
    for mode, name in enumerate(names):
        taken = not name or name in found
        found.append(f"{name or 'mode'} {mode}" if taken else str(name))
    return tuple(found)
