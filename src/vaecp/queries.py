"""Predict the entries that a table lists, whatever types its file could keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from vaecp.errors import FormatError
from vaecp.formats.common import is_text
from vaecp.formats.tables import labels_of_column
from vaecp.labels import UNSEEN, lookup
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
            lookup(_as_learned(queries[name], labels), labels, name)
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


def _as_learned(column: Any, labels: np.ndarray) -> np.ndarray:
    """Return a column of labels in the type of those that the model knows."""
    values = column.to_numpy()
    texts = values.dtype.kind in "OUT" and all(isinstance(value, str) for value in values)
    if not texts:
        return values
    if is_text(labels):
        values = values.astype(object)
        values[values == ""] = None
        return values
    if labels.dtype.kind == "M":
        return pd.to_datetime(column, errors="coerce").to_numpy()
    return labels_of_column(column)
