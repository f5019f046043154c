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

from vaecp.formats.axes import as_axis, axes_beside, is_numeric, single_text

DESCRIBING = ("axisscale", "label", "title", "include")
"""Fields that make a struct with `data` a dataset object."""


@dataclass(frozen=True, eq=False)
class NamedArray:
    """An array of numbers, and what is known of its modes.

    Attributes
    ----------
    labels : per mode, or None where nothing names its rows.
    names : per mode, or None.
    kept : per mode, the rows that are included, from 0; None for all.
    notes : what could not be told, in sentences.
    """

    array: np.ndarray
    labels: tuple[np.ndarray | None, ...]
    names: tuple[str | None, ...]
    kept: tuple[np.ndarray | None, ...] = ()
    value_name: str = ""
    notes: tuple[str, ...] = ()

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


def tensors(namespace: Mapping[str, Any], prefix: str = "") -> dict[str, NamedArray]:
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
            axes = axes_beside(array.shape, {n: v for n, v in namespace.items() if n != name})
            value_name = "" if name.lower() in ("x", "data") else name
            found[f"{prefix}{name}"] = NamedArray(
                array, axes.labels, axes.names, value_name=value_name, notes=axes.notes
            )
    return found


def most_modes(found: Mapping[str, NamedArray]) -> list[str]:
    """Return the names of the tensors of the most modes; those inside of structs stand back."""
    most = max((tensor.array.ndim for tensor in found.values()), default=0)
    names = [name for name, tensor in found.items() if tensor.array.ndim == most]
    return [name for name in names if "." not in name] or names


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


def dataset_object(fields: Mapping[str, Any]) -> NamedArray | None:
    """Return the tensor of a PLS_Toolbox dataset object, or of a struct of that form."""
    data = fields.get("data")
    if not is_tensor(data) or not any(name in fields for name in DESCRIBING):
        return None
    modes = range(data.ndim)
    scales, texts, titles, include = (
        [_item(fields.get(name), mode, 0, data.ndim) for mode in modes] for name in DESCRIBING
    )
    names = [
        single_text(titles[mode])
        or single_text(_item(fields.get("axisscale"), mode, 1, data.ndim))
        or single_text(_item(fields.get("label"), mode, 1, data.ndim))
        for mode in modes
    ]
    labels = []
    for mode, size in enumerate(data.shape):
        choices = [scales[mode], texts[mode]]
        # Samples are known by their names, wavelengths by their numbers.
        axes = (as_axis(each, size) for each in (reversed(choices) if mode == 0 else choices))
        labels.append(next((axis for axis in axes if axis is not None), None))
    kept = tuple(_included(include[mode], data.shape[mode]) for mode in modes)
    return NamedArray(
        data, tuple(labels), tuple(names), kept, single_text(fields.get("name")) or ""
    )


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


def _distinct(names: Sequence[str | None]) -> tuple[str, ...]:
    """Name modes that have no name, or that of another mode."""
    found: list[str] = []
    for mode, name in enumerate(names):
        taken = not name or name in found
        found.append(f"{name or 'mode'} {mode}" if taken else str(name))
    return tuple(found)
