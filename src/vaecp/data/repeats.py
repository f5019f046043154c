"""Entries that are listed more than once, where that is not allowed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from vaecp.data.cells import distinct_cells
from vaecp.data.checks import check_choice
from vaecp.data.labels import Place
from vaecp.errors import ObservationError

if TYPE_CHECKING:
    from vaecp.data.observations import Observations


Duplicates = Literal["error", "keep", "mean"]


def settled(observations: Observations, duplicates: Duplicates, place: Place) -> Observations:
    """Refuse, keep or average entries that are listed more than once."""
    check_choice("duplicates", duplicates, get_args(Duplicates))
    if duplicates == "mean":
        return _averaged(observations)
    if duplicates == "error":
        _refuse_repeated(observations, place)
    return observations


def _averaged(observations: Observations) -> Observations:
    """Return every entry once, with the mean of its values; limits stay as they are.

    Where entries have weights, the mean is weighted, and the entry has their mean weight.
    """
    first, group = distinct_cells(observations.indices, observations.shape)
    if len(first) == len(observations):
        return observations
    values, weights, counts = observations.values, observations.weights, np.bincount(group)
    indices = observations.indices[first]
    if weights is None:
        means = np.bincount(group, weights=values) / counts
        return replace(observations, indices=indices, values=means)
    total = np.bincount(group, weights=weights)
    means = np.bincount(group, weights=weights * values) / total
    return replace(observations, indices=indices, values=means, weights=total / counts)


def _refuse_repeated(observations: Observations, place: Place) -> None:
    """Name two places with the same entry, if there are any; those of limits come last."""
    indices = observations.known
    first, group = distinct_cells(indices, observations.shape)
    if len(first) == len(indices):
        return
    second = int(np.setdiff1d(np.arange(len(indices)), first)[0])
    names = ", ".join(
        f"{name}={observations.labels[mode][indices[second, mode]]!s}"
        for mode, name in enumerate(observations.mode_names)
    )
    raise ObservationError(
        f"the entry at {names} is listed more than once ({place(int(first[group[second]]))} and "
        f"{place(second)}): name a column that tells them apart as a further mode, or pass "
        '--duplicates mean or keep (duplicates="mean" or "keep").'
    )
