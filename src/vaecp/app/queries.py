"""Predict the entries that a table lists, whatever types its file could keep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vaecp.data.labels import UNSEEN, lookup, place_in
from vaecp.errors import FormatError
from vaecp.formats import read, read_table
from vaecp.formats.common import RESULTS, is_text
from vaecp.formats.raw import RawTable
from vaecp.formats.text.labels import tidied, typed
from vaecp.models.base import TensorEstimator
from vaecp.outcomes.completion import predict_entries

ADDED = RESULTS[2:]


def answer(
    model: TensorEstimator,
    queries: RawTable,
    source: str,
    coverage: float = 0.9,
    date_format: str | None = None,
) -> tuple[dict[str, np.ndarray], int]:
    """Return mean, std, low and high of every row (and p_ of each class), and how many rows had an unseen label.

    Labels take the type that the model learned, so "7" in a text file finds the text "7"
    in one model and the number 7 in another.
    """
    frame = queries.frame
    _check(model, frame, source)
    model = model.reading_between(
        [_typed(frame[name], labels, name, date_format) for name, labels in _modes(model)]
    )
    indices = np.stack(
        [_codes(frame[name], labels, name, date_format) for name, labels in _modes(model)],
        axis=1,
    )
    found = predict_entries(model, indices).columns(coverage)
    return found, int((indices == UNSEEN).any(axis=1).sum())


def entries_of(
    model: TensorEstimator, path: Path, options: dict[str, Any]
) -> tuple[Any, np.ndarray]:
    """Read labels, in the types that the model learned, and values of further entries.

    The values are in the column of the name that they had when the model was fitted, else in the
    last one that is no mode. A row without a value is left out.
    """
    names, value = list(model.mode_names_), model.value_name_
    columns = read_table(path, **options).frame.columns
    spare = [str(column) for column in columns if column not in names]
    value = spare[-1] if spare and value not in spare else value
    found = read(path, modes=names, value=value, duplicates="keep", **options)
    keys = found.keys()
    for name, labels in zip(names, model.labels_, strict=True):
        if is_text(labels) and not is_text(keys[name].to_numpy()):
            keys[name] = [str(label) for label in keys[name]]
    named = hasattr(model, "feature_names_in_")
    return (keys if named else keys.to_numpy(dtype=object)), found.values


def _check(model: TensorEstimator, queries: pd.DataFrame, source: str) -> None:
    columns = ", ".join(map(repr, queries.columns))
    for name in model.mode_names_:
        if name not in queries.columns:
            raise FormatError(
                f"{source}: has no column {name!r}, which the model needs: it has {columns}."
            )
    for name in ADDED:
        if name in queries.columns:
            raise FormatError(
                f"{source}: has a column {name!r} already, which the result adds: rename it."
            )
    if not len(queries):
        raise FormatError(f"{source}: has a header but no rows: list at least one entry.")


def _modes(model: TensorEstimator) -> list[tuple[str, np.ndarray]]:
    return list(zip(model.mode_names_, model.labels_, strict=True))


def _typed(column: Any, labels: np.ndarray, name: str, date_format: str | None) -> np.ndarray:
    """Return the labels of a column that are of the type of those that the model knows."""
    values = column.to_numpy()
    if is_text(labels) or not all(isinstance(value, str) for value in values):
        return values
    texts = list(filter(None, map(tidied, pd.unique(values))))
    return typed(texts, name, date_format=date_format)[0]


def _codes(column: Any, labels: np.ndarray, name: str, date_format: str | None) -> np.ndarray:
    """Find a column of labels among those that the model knows, in their type."""
    values, place = column.to_numpy(), place_in(column.index)
    if not all(isinstance(value, str) for value in values):
        return lookup(values, labels, name, place)
    rows, distinct = pd.factorize(values.astype(object))
    texts = [tidied(text) for text in distinct]
    if "" in texts or is_text(labels):
        found = np.array([text or None for text in texts], dtype=object)
        return lookup(found[rows], labels, name, place)
    return _typed_codes(texts, labels, name, date_format)[rows]


def _typed_codes(
    texts: Sequence[str], labels: np.ndarray, name: str, date_format: str | None
) -> np.ndarray:
    """Find texts among numbers or dates; one that is neither is unseen, and spoils no other."""
    kinds = "M" if labels.dtype.kind == "M" else "iuf"
    found, _ = typed(texts, name, date_format=date_format)
    if found.dtype.kind in kinds:
        return lookup(found, labels, name)
    codes = np.full(len(texts), UNSEEN, dtype=np.int32)
    for row, text in enumerate(texts):
        one, _ = typed([text], name, date_format=date_format)
        if one.dtype.kind in kinds:
            codes[row] = lookup(one, labels, name)[0]
    return codes
