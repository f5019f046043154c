"""From arrays, tables and keys to coordinates, and the labels that these stand for."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from vaecp.data.checks import check_bounds, check_n_modes
from vaecp.data.labels import Place, columns_of, encode, place_in
from vaecp.errors import ObservationError


def default_mode_names(n_modes: int) -> tuple[str, ...]:
    """Return what modes are called that have no name of their own."""
    return tuple(f"mode {mode}" for mode in range(n_modes))


def narrowed(indices: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return coordinates as 32-bit integers, where these can number all rows."""
    wide = indices.dtype.kind in "iu" and indices.dtype.itemsize > 4
    if not wide or max(shape, default=0) >= 2**31:
        return indices
    check_bounds(indices, shape)
    return indices.astype(np.int32)


def dense_entries(array: Any, mask: Any = None) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Return coordinates and values of what is known in an array, and its shape."""
    observed = ~np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    array = np.ma.getdata(array) if observed is not None else np.asarray(array)
    if array.dtype.kind == "c":
        raise ObservationError("the array is complex: give its real and imaginary parts apart.")
    array = _numbers(array)
    if array.dtype.kind not in "iubf":
        raise ObservationError(f"the array has dtype {array.dtype}: use numbers.")
    known = ~np.isnan(array) if array.dtype.kind == "f" else np.ones(array.shape, dtype=bool)
    if observed is not None:
        known &= observed
    if mask is not None:
        mask = np.asarray(mask, dtype=bool)
        if mask.shape != array.shape:
            raise ObservationError(
                f"mask has shape {mask.shape}, but the array has {array.shape}: make them equal."
            )
        known &= mask
    indices = np.stack(np.nonzero(known), axis=1) if array.ndim else np.empty((0, 0), int)
    return indices, array[known], array.shape


def _numbers(array: np.ndarray) -> np.ndarray:
    """Return an array of objects as one of numbers: None is a gap, as in lists and databases."""
    if array.dtype.kind != "O":
        return array
    for place, item in np.ndenumerate(array):
        if item is not None and not isinstance(item, Real):
            raise ObservationError(
                f"the array has {item!r:.50} ({type(item).__name__}) at {place}: use numbers, and NaN or "
                "None for gaps."
            )
    return array.astype(np.float64)


def coded_table(
    table: pd.DataFrame, modes: Sequence[str], others: Sequence[str]
) -> tuple[np.ndarray, Sequence[np.ndarray], Place]:
    """Return the coordinates of the rows of a table, labels per mode, and what names a row."""
    for column in (*modes, *others):
        if column not in table.columns:
            raise ObservationError(
                f"the table has no column {column!r}: it has {', '.join(map(repr, table.columns))}."
            )
    check_n_modes(len(modes))
    place = place_in(table.index)
    codes, labels = (
        zip(*(encode(table[name].to_numpy(), str(name), place) for name in modes), strict=True)
        if len(modes)
        else ((), ())
    )
    indices = np.stack(codes, axis=1) if codes else np.empty((len(table), 0), dtype=np.int32)
    return indices, labels, place


def coded_keys(
    keys: Any, mode_names: Sequence[str]
) -> tuple[np.ndarray, tuple[np.ndarray, ...], tuple[str, ...]]:
    """Return the coordinates of keys (one column per mode), labels per mode, and their names."""
    columns = columns_of(keys)
    names = tuple(mode_names) or default_mode_names(len(columns))
    if len(columns) and len(columns[0]) == 0:
        raise ObservationError(
            f"Found array with 0 sample(s) (shape={(0, len(columns))}) while a minimum of 1 "
            "is required: X needs at least one observed entry."
        )
    if len(columns) < 2:
        raise ObservationError(
            f"X has {len(columns)} feature(s) (shape={(len(keys), len(columns))}) while a "
            f"minimum of 2 is required; n_features = {len(columns)}: give one column per mode."
        )
    codes, labels = zip(
        *(encode(column, name) for column, name in zip(columns, names, strict=True)),
        strict=True,
    )
    return np.stack(codes, axis=1), labels, names


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to; the caller's own array stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view
