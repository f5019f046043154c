"""What is known about rows beside their entries: tables of features, as numbers per mode.

A described row has one number per column: numbers are standardised, categories become 0 or 1 for
each value that at least two rows have, and a missing value is the mean, with a column that marks
it. Rows that no table describes are NaN.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from vaecp.data.labels import UNSEEN, encode, joined, lookup
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

MAX_COLUMNS = 2_000
"""Columns of numbers per mode, above which the most frequent values of categories count."""
LEAST_ROWS = 2


def with_features(
    observations: Observations, row_features: Mapping[str, Any], *, add_rows: bool = True
) -> Observations:
    """Return the observations with what tables say about the rows of modes.

    A table has one row per label: its column with the name of the mode holds the labels, or else
    its index. With `add_rows`, labels that the tensor lacks become rows of the mode, which features
    alone describe; else they are ignored. `notes` has the counts.
    """
    if not isinstance(row_features, Mapping):
        raise ObservationError(
            f"row_features is a {type(row_features).__name__}: give a dictionary from the name of a "
            'mode to a DataFrame, such as {"film": films}.'
        )
    for name, table in row_features.items():
        if name not in observations.mode_names:
            raise ObservationError(
                f"row_features has the mode {name!r}, which does not exist: use "
                f"{', '.join(map(repr, observations.mode_names))}."
            )
        mode = observations.mode_names.index(name)
        observations = _described(observations, mode, table, add_rows)
    return observations


def _described(observations: Observations, mode: int, table: Any, add_rows: bool) -> Observations:
    name = observations.mode_names[mode]
    labels, columns = _labels_and_columns(table, name)
    known = lookup(labels, observations.labels[mode], name) != UNSEEN
    n_known, n_other = int(known.sum()), int((~known).sum())
    if not n_known:
        raise ObservationError(
            f"row_features[{name!r}] has no label of the mode, such as "
            f"{observations.labels[mode][0]!r}; it has {labels[0]!r}: name the column of labels "
            f"{name!r}, or make it the index."
        )
    if not add_rows:
        labels, columns = labels[known], columns[known]
    place, everything, moved = joined(observations.labels[mode], labels, name)
    numbers, names, unused = _numbers_of(columns, name)
    design = np.full((len(everything), numbers.shape[1]), np.nan, dtype=np.float32)
    design[place] = numbers
    other = (n_other, add_rows)
    indices = np.array(observations.indices)
    indices[:, mode] = moved[indices[:, mode]]
    limits = observations.limits
    if limits is not None:
        of_limits = np.array(limits.indices)
        of_limits[:, mode] = moved[of_limits[:, mode]]
        limits = replace(limits, indices=of_limits)
    return replace(
        observations,
        limits=limits,
        indices=indices,
        shape=_put(observations.shape, mode, len(everything)),
        labels=_put(observations.labels, mode, everything),
        features=_put(observations.features or (None,) * observations.n_modes, mode, design),
        notes=(*observations.notes, _note(name, names, (n_known, len(moved)), other, unused)),
    )


def _put(items: tuple, place: int, item: Any) -> tuple:
    return (*items[:place], item, *items[place + 1 :])


def _note(
    name: str, names: list[str], known: tuple[int, int], other: tuple[int, bool], unused: list[str]
) -> str:
    n_known, n_rows = known
    n_other, added = other
    note = f"features of {name}: {len(names)} columns of numbers describe {n_known:,} of {n_rows:,} rows"
    if n_known < n_rows:
        note += f"; the other {n_rows - n_known:,} have the prior of all"
    if n_other and added:
        note += (
            f"; {n_other:,} more labels have features and no entries, and are predicted from them"
        )
    elif n_other:
        note += f"; features of {n_other:,} labels that the data lack are ignored"
    if unused:
        note += f"; not used, since no value occurs twice or all are equal: {', '.join(unused)}"
    return f"{note}."


def _labels_and_columns(table: Any, name: str) -> tuple[np.ndarray, Any]:
    if not isinstance(table, pd.DataFrame):
        raise ObservationError(
            f"row_features[{name!r}] is a {type(table).__name__}: give a DataFrame with one row per "
            "label."
        )
    if name in table.columns:
        table = table.set_index(name)
    if not table.shape[0] or not table.shape[1]:
        raise ObservationError(
            f"row_features[{name!r}] has {table.shape[0]} rows and {table.shape[1]} columns beside "
            "the labels: give at least one of each."
        )
    if table.index.hasnans:
        raise ObservationError(
            f"row_features[{name!r}] has no label in row {int(np.argmax(table.index.isna()))}: give "
            "every row one."
        )
    encode(table.index.to_numpy(), name)  # says which label is none
    repeated = table.index.duplicated()
    if repeated.any():
        raise ObservationError(
            f"row_features[{name!r}] lists the label {table.index[repeated][0]!r} more than once: "
            "give one row per label."
        )
    return table.index.to_numpy(), table


def _numbers_of(table: Any, name: str) -> tuple[np.ndarray, list[str], list[str]]:
    """Return centred numbers of unit size, their names, and the columns that say nothing."""
    found, names, unused = [], [], []
    for title in table.columns:
        columns = _column(table[title], f"row_features[{name!r}], column {title!r}")
        columns = {key: column for key, column in columns.items() if np.ptp(column) > 0}
        if not columns:
            unused.append(str(title))
        for key, column in columns.items():
            found.append(column - column.mean())
            names.append(f"{title}{key}")
    if not found:
        raise ObservationError(
            f"row_features[{name!r}] has no column in which rows differ and a value occurs twice, or "
            "that has numbers: there is nothing to learn from."
        )
    return np.stack(found, axis=1), names, unused


def _column(column: Any, where: str) -> dict[str, np.ndarray]:
    """Return the numbers of a column, by what follows its name."""
    missing = column.isna().to_numpy()
    found: dict[str, np.ndarray] = {}
    if pd.api.types.is_datetime64_any_dtype(column):
        column = column.astype("int64").where(~missing)
    if pd.api.types.is_numeric_dtype(column):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        infinite = np.isinf(numbers)
        if infinite.any():
            raise ObservationError(
                f"{where}, has {numbers[infinite][0]} at the label "
                f"{column.index[infinite][0]!r}: use finite numbers, or leave it empty."
            )
        found |= _standardised(numbers[~missing], missing)
    else:
        found |= _categories(column, where)
    if missing.any() and found:
        found[" missing"] = missing.astype(np.float64)
    return found


def _standardised(known: np.ndarray, missing: np.ndarray) -> dict[str, np.ndarray]:
    """Return numbers of unit size, and of two values 0 and 1, as categories are."""
    if not len(known) or not np.ptp(known):
        return {}
    two = len(np.unique(known)) == 2
    scale = np.ptp(known) if two else np.std(known)
    numbers = np.zeros(len(missing))
    numbers[~missing] = (known - known.mean()) / scale
    return {"": numbers}


def _categories(column: Any, where: str) -> dict[str, np.ndarray]:
    """Return a column of 0 and 1 for each value; of two values one tells all."""
    if not all(isinstance(value, Hashable) for value in column):
        raise ObservationError(
            f"{where}, has values that cannot be hashed: use numbers, texts or dates."
        )
    counts = column.value_counts()
    if len(counts) < 2:
        return {}
    shown = counts.index[counts >= LEAST_ROWS][:MAX_COLUMNS]
    if len(counts) == 2:
        shown = shown[:1]
    return {f"={value}": (column == value).to_numpy(dtype=np.float64) for value in shown}
