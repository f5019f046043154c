"""Labels of rows <-> integer codes, one mode at a time.

A label is whatever names a row of a mode: an integer, a wavelength, a text, a date. Codes
are positions in the sorted list of distinct labels; an unknown label has code -1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pandas as pd

from vaecp.errors import LabelTypeError, ObservationError

UNSEEN = -1
Place = Callable[[int], str]
"""Says in words where the row with this number is found, for errors."""

MOST_NAMES = 30


def row_number(row: int) -> str:
    """Count the rows from 0, as Python does."""
    return f"row {row}"


def place_in(index: pd.Index) -> Place:
    """Name rows as a table does: one that was read from a text file counts its lines."""
    return lambda row: f"{index.name or 'row'} {index[row]}"


def columns_of(keys: Any) -> list[np.ndarray]:
    """Split a table of keys (DataFrame, 2-d array or list of tuples) into its columns."""
    if isinstance(keys, pd.DataFrame):
        return [keys.iloc[:, mode].to_numpy() for mode in range(keys.shape[1])]
    if hasattr(keys, "toarray"):
        raise TypeError(
            "X is a sparse matrix, but needs one column of labels per mode: pass a dense "
            "table with one row per observed entry."
        )
    if isinstance(keys, (list, tuple)) and keys and isinstance(keys[0], (list, tuple)):
        widths = {len(key) for key in keys}
        if len(widths) > 1:
            raise ObservationError(
                f"X has rows of {min(widths)} and of {max(widths)} labels: give every entry one "
                "label per mode."
            )
        return [_column_from_list([key[mode] for key in keys]) for mode in range(widths.pop())]
    table = np.asarray(keys)
    if np.iscomplexobj(table):
        raise ObservationError(f"Complex data not supported\n{table}\n")
    if table.ndim != 2:
        raise ObservationError(
            f"X has {table.ndim} dimension(s): expected 2D array, got {table.ndim}D array instead. "
            "Reshape your data to one row per entry and one column per mode."
        )
    return [table[:, mode] for mode in range(table.shape[1])]


def encode(
    column: np.ndarray, name: str, place: Place = row_number
) -> tuple[np.ndarray, np.ndarray]:
    """Return int32 codes and the sorted distinct labels of one mode."""
    column = _checked(column, name, place)
    if column.dtype.kind in "iu" and column.size:
        low, high = int(column.min()), int(column.max())
        # A table of presence is linear in the entries; hashing is several times slower.
        if high - low < max(10 * column.size, 1_000):
            present = np.zeros(high - low + 1, dtype=bool)
            offsets = (
                column if column.dtype.kind == "u" else column.astype(np.int64, copy=False)
            ) - low
            present[offsets] = True
            codes = np.cumsum(present, dtype=np.int32) - np.int32(1)
            return codes[offsets], np.flatnonzero(present).astype(column.dtype) + low
    try:
        codes, labels = pd.factorize(column, sort=True)
    except TypeError:  # hashable labels without an order, such as frozensets: first seen first
        codes, labels = pd.factorize(column, sort=False)
    return codes.astype(np.int32), np.asarray(labels)


def lookup(
    column: np.ndarray, labels: np.ndarray, name: str, place: Place = row_number
) -> np.ndarray:
    """Return the code of every label in `column`, -1 for those that `labels` lacks."""
    column = _checked(column, name, place)
    if column.dtype.kind != labels.dtype.kind and "O" in (column.dtype.kind, labels.dtype.kind):
        column, labels = column.astype(object), labels.astype(object)
    return index_of(labels).get_indexer(index_of(column)).astype(np.int32)


def of_another_type(column: np.ndarray, labels: np.ndarray) -> tuple[str, str] | None:
    """Return what these are and what the labels are, where that is why none is among them."""
    given, known = _type_in_words(column), _type_in_words(labels)
    return (given, known) if given and known and given != known else None


def _type_in_words(labels: np.ndarray) -> str:
    if labels.dtype.kind == "O":
        return "texts" if all(isinstance(label, str) for label in labels) else ""
    words = {"numbers": "iuf", "texts": "U", "dates": "M"}
    return next((word for word, kinds in words.items() if labels.dtype.kind in kinds), "")


def index_of(labels: np.ndarray) -> pd.Index:
    """Return an index of any labels: the type that pandas has for texts refuses lone surrogates."""
    return pd.Index(labels, dtype=object if labels.dtype.kind in "OU" else None)


def joined(
    labels: np.ndarray, column: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the codes of a column among old and new labels, all labels, and where old ones went.

    New labels take their place in the order where the old ones are sorted, else they come last.
    """
    codes = lookup(column, labels, name)
    fresh = codes == UNSEEN
    if not fresh.any():
        return codes, labels, np.arange(len(labels))
    new = pd.unique(column[fresh])
    everything = np.empty(len(labels) + len(new), dtype=object)
    everything[: len(labels)], everything[len(labels) :] = labels.tolist(), list(new)
    if labels.dtype.kind != "O" and labels.dtype.kind == new.dtype.kind:
        everything = np.concatenate([labels, new])
    everything = _checked(everything, name, lambda row: f"label {row}")
    places = np.arange(len(labels))
    try:
        order = np.argsort(everything, kind="stable")
    except TypeError:  # labels without an order
        order = np.arange(len(everything))
    ranks = np.argsort(order)[: len(labels)]
    if np.all(np.diff(ranks) > 0):
        everything, places = everything[order], ranks
    return lookup(column, everything, name), everything, places


def labels_between(labels: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return the labels of a column that are new and lie between known ones, which are sorted.

    Only numbers and times have a place between others.
    """
    column = np.asarray(column)
    if column.dtype.kind == "O":
        column = pd.Series(column).infer_objects().to_numpy()
    kinds = "M" if labels.dtype.kind == "M" else "iuf"
    if not (labels.dtype.kind in kinds and column.dtype.kind in kinds and len(labels) > 1):
        return column[:0]
    if not (np.diff(labels) > np.zeros(1, dtype=np.diff(labels[:2]).dtype)).all():
        return column[:0]
    inside = (column > labels[0]) & (column < labels[-1])
    return np.setdiff1d(column[inside], labels)


def are_quantities(labels: np.ndarray) -> bool:
    """Whether labels are places on a scale, such as wavelengths, rather than names.

    Integers that only count the rows, from 0 or from 1, are names as long as there are few.
    """
    if labels.dtype.kind not in "iufM":
        return False
    if labels.dtype.kind not in "iu" or len(labels) > MOST_NAMES:
        return True
    steps = np.arange(len(labels))
    return not any(np.array_equal(labels, steps + first) for first in (0, 1))


def _column_from_list(values: list) -> np.ndarray:
    """Keep tuples as labels, which `np.array` would spread into a second axis."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _checked(column: np.ndarray, name: str, place: Place = row_number) -> np.ndarray:
    """Return the column with a tight dtype, or say which row breaks which rule."""
    if column.dtype.kind == "O":
        column = _tightened(column, name, place)
    if column.dtype.kind == "c":
        raise ObservationError(f"Complex data not supported: labels of mode {name!r} are complex.")
    if column.dtype.kind == "f":
        if column.dtype.itemsize not in (4, 8):  # pandas has no hash tables for the others
            column = column.astype(np.float64)
        bad = ~np.isfinite(column)
        if bad.any():
            row = int(np.argmax(bad))
            raise ObservationError(
                f"the label of mode {name!r} in {place(row)} is {column[row]}, but labels cannot be "
                "NaN or infinity: fill it in, or delete the row."
            )
    if column.dtype.kind == "M" and np.isnat(column).any():
        raise _missing(name, place(int(np.argmax(np.isnat(column)))))
    return column


def _tightened(column: np.ndarray, name: str, place: Place) -> np.ndarray:
    missing = pd.isna(column)
    if missing.any():
        raise _missing(name, place(int(np.argmax(missing))))
    kind = pd.api.types.infer_dtype(column, skipna=False)
    if kind in {"integer", "floating", "mixed-integer-float", "boolean", "datetime64", "datetime"}:
        tight = pd.Series(column).infer_objects()
        if kind == "mixed-integer-float":
            tight = tight.astype(float)
        return tight.to_numpy()
    if kind in {"string", "empty"}:
        return column
    first = column[0]
    for row, label in enumerate(column):
        if type(label) is not type(first):
            raise LabelTypeError(
                f"mode {name!r} has labels of mixed type: {place(0)} has {first!r} "
                f"({type(first).__name__}) and {place(row)} has {label!r} ({type(label).__name__}); "
                "the argument must be all string or all number in one mode."
            )
        if not isinstance(label, Hashable):
            raise LabelTypeError(
                f"mode {name!r} has the label {label!r} ({type(label).__name__}) in {place(row)}, "
                "which cannot be hashed: the argument must be a string, a number, a date or a tuple."
            )
    return column


def _missing(name: str, place: str) -> ObservationError:
    return ObservationError(
        f"the label of mode {name!r} in {place} is missing (empty or NaN), but every entry needs a "
        "label in every mode: fill it in, or delete the row (a sum or a remark, for example)."
    )
