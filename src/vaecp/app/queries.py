"""Predict the entries that a table lists, whatever types its file could keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from vaecp.data.hints import limits_note
from vaecp.data.labels import UNSEEN, lookup, place_in
from vaecp.data.observations import Observations
from vaecp.errors import FormatError, VaecpError
from vaecp.formats import read, read_table
from vaecp.formats.common import RESULTS, is_text
from vaecp.formats.raw import RawTable
from vaecp.formats.text.labels import tidied, typed
from vaecp.models.base import TensorEstimator
from vaecp.outcomes.completion import predict_entries

ADDED = RESULTS[2:]


class Answer(NamedTuple):
    """What is known of the entries that a table lists.

    Attributes
    ----------
    columns : mean, std, low and high of every row, and p_ of each class.
    n_unseen : how many rows have a label that the model does not know.
    note : names one of these labels, and says how many there are; None where there is none.
    """

    columns: dict[str, np.ndarray]
    n_unseen: int
    note: str | None = None


def answer(
    model: TensorEstimator,
    queries: RawTable,
    source: str,
    coverage: float = 0.9,
    date_format: str | None = None,
) -> Answer:
    """Predict every row of a table.

    Labels take the type that the model learned, so "7" in a text file finds the text "7"
    in one model and the number 7 in another.
    """
    frame = queries.frame
    _check(model, frame, source)
    with naming(source):
        model = model.reading_between(
            [_typed(frame[name], labels, name, date_format) for name, labels in _modes(model)]
        )
        indices = np.stack(
            [_codes(frame[name], labels, name, date_format) for name, labels in _modes(model)],
            axis=1,
        )
    found = predict_entries(model, indices).columns(coverage)
    unseen = indices == UNSEEN
    return Answer(found, int(unseen.any(axis=1).sum()), _unseen_note(unseen, model, frame))


@contextmanager
def naming(source: str | Path) -> Iterator[None]:
    """Begin every error with the name of the table that led to it."""
    try:
        yield
    except VaecpError as error:
        if str(error).startswith(str(source)):
            raise
        raise type(error)(f"{source}: {error}") from error


def _unseen_note(unseen: np.ndarray, model: TensorEstimator, frame: pd.DataFrame) -> str | None:
    """Name a label that the model does not know, and say what it is taken for."""
    if not unseen.any():
        return None
    row, mode = (int(place) for place in np.argwhere(unseen)[0])
    name = model.mode_names_[mode]
    counts = {
        name: frame.loc[rows, name].nunique()
        for name, rows in zip(model.mode_names_, unseen.T, strict=True)
    }
    first = f"{name!r} has {str(frame[name].iloc[row])!r} in {place_in(frame.index)(row)}"
    if sum(counts.values()) == 1:
        return (
            f"{first}, which the model does not know: it is predicted as a new label, so its interval "
            "is wider."
        )
    listed = ", ".join(f"{n} of {name!r}" for name, n in counts.items() if n)
    return (
        f"{first}, which the model does not know; nor does it know others (labels: {listed}): they are "
        "predicted as new labels, so their intervals are wider."
    )


class FurtherEntries(NamedTuple):
    """Labels and values of further entries, and what was decided when they were read."""

    labels: Any
    values: np.ndarray
    notes: tuple[str, ...] = ()


def further_entries(model: TensorEstimator, path: Path, options: dict[str, Any]) -> FurtherEntries:
    """Read further entries, their labels in the types that the model learned.

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
    labels = keys if named else keys.to_numpy(dtype=object)
    return FurtherEntries(labels, found.values, _notes_of(found, path))


def _notes_of(found: Observations, path: Path) -> tuple[str, ...]:
    """Return what was decided; limits are left out, since only a whole fit learns from them."""
    if found.limits is None:
        return found.notes
    others = [note for note in found.notes if note != limits_note(found.limits)]
    n_limits = len(found.limits)
    left_out = (
        f"{path}: {n_limits:,} {'value is' if n_limits == 1 else 'values are'} known only by a "
        "limit, and left out: only vaecp fit and vaecp complete learn from limits."
    )
    return (*others, left_out)


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
