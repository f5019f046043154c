"""What the data look like: how many entries are missing, where, and how values are spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from vaecp.data.cells import distinct_cells
from vaecp.data.observations import Observations
from vaecp.show.report.numbers import few_digits, label_numbers, label_texts

MAX_BARS = 400
"""More bars than this are groups of neighbouring labels."""
MAX_BINS = 60


def modes_of(
    labels: tuple[np.ndarray, ...], names: tuple[str, ...], used: list[np.ndarray]
) -> list[dict[str, Any]]:
    """Return what the page needs to know of each mode: only rows in `used` have labels there."""
    modes = []
    for name, mode, rows in zip(names, labels, used, strict=True):
        numbers = label_numbers(mode)
        modes.append(
            {
                "name": name,
                "size": len(mode),
                "labels": dict(zip(rows.tolist(), label_texts(mode[rows]), strict=True)),
                "numbers": None
                if numbers is None
                else {row: numbers[row] for row in rows.tolist()},
                "dates": np.asarray(mode).dtype.kind == "M",
            }
        )
    return modes


def data_overview(observations: Observations) -> dict[str, Any]:
    """Return the share that is missing per label of every mode, and a histogram."""
    first, _ = distinct_cells(observations.indices, observations.shape)
    unique = observations.indices[first]
    return {
        "missing": [_missing(unique, observations, mode) for mode in range(observations.n_modes)],
        "histogram": _histogram(observations.values),
    }


def never_observed(observations: Observations) -> list[tuple[str, list[str]]]:
    """Return the labels per mode that have no observed entry at all."""
    found = []
    for mode, (name, size) in enumerate(
        zip(observations.mode_names, observations.shape, strict=True)
    ):
        counts = np.bincount(observations.indices[:, mode], minlength=size)
        if (counts == 0).any():
            found.append((name, label_texts(observations.labels[mode][counts == 0])))
    return found


def count_cells(observations: Observations) -> int:
    """Return how many different entries were observed."""
    return len(distinct_cells(observations.indices, observations.shape)[0])


def _missing(unique: np.ndarray, observations: Observations, mode: int) -> dict[str, Any]:
    size = observations.shape[mode]
    share = 1 - np.bincount(unique[:, mode], minlength=size) / (observations.n_cells / size)
    groups = np.array_split(np.arange(size), min(size, MAX_BARS))
    return {
        "share": few_digits([share[group].mean() for group in groups]),
        "first": [int(group[0]) for group in groups],
        "last": [int(group[-1]) for group in groups],
        "grouped": size > MAX_BARS,
    }


def _histogram(values: np.ndarray) -> dict[str, Any]:
    values = np.asarray(values, dtype=np.float64)
    n_bins = int(np.clip(np.sqrt(len(values)), 5, MAX_BINS))
    counts, edges = np.histogram(values, bins=n_bins)
    return {"counts": counts.tolist(), "edges": [float(edge) for edge in edges]}
