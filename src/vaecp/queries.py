"""Predict the entries that a table lists, whatever types its file could keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from vaecp.errors import FormatError
from vaecp.formats.common import is_text
from vaecp.formats.tables import is_number, labels_of_column
from vaecp.labels import UNSEEN, lookup, place_in
from vaecp.models.base import TensorEstimator

ADDED = ("mean", "std", "low", "high")


def answer(
    model: TensorEstimator, queries: pd.DataFrame, source: str, coverage: float = 0.9
) -> tuple[pd.DataFrame, int]:
    """Return the table with mean, std, low and high added, and how many rows had an unseen label.

    Labels take the type that the model learned, so "7" in a text file finds the text "7"
    in one model and the number 7 in another.
    """
    _check(model, queries, source)
    indices = np.stack(
        [
            _codes(queries[name], labels, name)
            for name, labels in zip(model.mode_names_, model.labels_, strict=True)
        ],
        axis=1,
    )
    prediction = model.predict_at(indices)
    columns = (prediction.mean, prediction.std, *prediction.interval(coverage))
    answered = queries.assign(**dict(zip(ADDED, columns, strict=True)))
    return answered, int((indices == UNSEEN).any(axis=1).sum())


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


def _codes(column: Any, labels: np.ndarray, name: str) -> np.ndarray:
    """Find a column of labels among those that the model knows, in their type."""
    values, place = column.to_numpy(), place_in(column.index)
    texts = values.dtype.kind in "OUT" and all(isinstance(value, str) for value in values)
    if not texts:
        return lookup(values, labels, name, place)
    values = values.astype(object)
    values[values == ""] = None
    if is_text(labels) or (values == None).any():  # noqa: E711
        return lookup(values, labels, name, place)
    if labels.dtype.kind == "M":
        return lookup(pd.to_datetime(column, errors="coerce").to_numpy(), labels, name, place)
    # A text that is no number is not among the numbers, and leaves the others as they are.
    codes = np.full(len(values), UNSEEN, dtype=np.int32)
    numeric = np.array([is_number(text) for text in values], dtype=bool)
    if numeric.any():
        codes[numeric] = lookup(labels_of_column(column[numeric]), labels, name)
    return codes
