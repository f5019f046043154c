"""Entries that stand for many: a sample of the cells that a list of events leaves out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vaecp.data.cells import cell_keys, coordinates, keys_fit, unlisted_cells
from vaecp.errors import ObservationError

if TYPE_CHECKING:
    from vaecp.data.observations import Observations

ZEROS_PER_EVENT, LEAST_ZEROS = 5, 20_000
"""So many absent cells are sampled; where there are fewer, all are listed."""

REPRESENTATIVES = 20_000


def absent_cells(
    listed: np.ndarray, n_events: int, shape: tuple[int, ...]
) -> tuple[np.ndarray, float]:
    """Return cells that are not listed, and how many absent cells each of them stands for.

    Every absent cell is as likely to be drawn as any other. So a sum over the drawn ones, times
    that number, is an unbiased estimate of the sum over all, and costs by the events.
    """
    if not keys_fit(shape):
        raise ObservationError(
            f"the tensor has more than {2**62:,} cells, too many to number those that are absent: "
            'leave rows out, or take absent entries for unknown (absent="unknown").'
        )
    taken = np.unique(cell_keys(listed, shape))
    n_cells = int(np.prod(shape, dtype=object))
    n_absent, wanted = n_cells - len(taken), max(ZEROS_PER_EVENT * n_events, LEAST_ZEROS)
    if n_absent <= wanted or n_cells <= 2 * wanted:
        cells = coordinates(unlisted_cells(listed, shape), shape)
        return cells.astype(np.int32), 1.0
    random, found = np.random.default_rng(0), np.empty(0, dtype=np.int64)
    while len(found) < wanted:
        drawn = random.integers(n_cells, size=2 * wanted)
        place = np.minimum(np.searchsorted(taken, drawn), len(taken) - 1)
        fresh = np.concatenate([found, drawn[taken[place] != drawn] if len(taken) else drawn])
        _, first = np.unique(fresh, return_index=True)
        found = fresh[np.sort(first)]
    cells = coordinates(np.sort(found[:wanted]), shape)
    return cells.astype(np.int32), n_absent / wanted


def zero_at(observations: Observations, indices: np.ndarray) -> Observations:
    """Observe a zero at these coordinates too."""
    return replace(
        observations,
        indices=np.concatenate([observations.indices, indices.astype(observations.indices.dtype)]),
        values=np.concatenate([observations.values, np.zeros(len(indices))]),
    )


def with_zeros(observations: Observations, unknown: np.ndarray | None) -> Observations:
    """Observe a zero at (a sample of the) entries that are not listed, except those in `unknown`."""
    known, n_listed = observations.known, len(observations)
    listed = known if unknown is None else np.concatenate([known, unknown])
    zeros, weight = absent_cells(listed, n_listed, observations.shape)
    found = zero_at(observations, zeros)
    if weight == 1:
        return found
    note = (
        f"{len(zeros):,} of the absent entries stand for all of them, as zeros that weigh "
        f"{weight:,.1f} times as much as a listed entry."
    )
    weights = np.concatenate([np.ones(n_listed), np.full(len(zeros), weight)])
    return replace(found, weights=weights, notes=(*observations.notes, note))


def representative(weights: np.ndarray, n: int = REPRESENTATIVES) -> np.ndarray:
    """Return places of entries, in order and as often as they weigh: all count alike then.

    Examples
    --------
    >>> representative(np.array([1.0, 1.0, 2.0]), n=4)
    array([0, 1, 2, 2])
    """
    reached = np.cumsum(weights) / np.sum(weights)
    asked = (np.arange(n) + 0.5) / n
    return np.minimum(np.searchsorted(reached, asked), len(weights) - 1)


def parts_of(units: np.ndarray, n_parts: int) -> np.ndarray:
    """Cut entries into about equal parts, at random, without cutting a unit: return numbers of parts.

    Errors of one unit, such as a block that is held out, are alike. So what is learned from some of
    its entries would not be judged honestly by the others.
    """
    numbers, inverse = np.unique(units, return_inverse=True)
    return (np.random.default_rng(0).permutation(len(numbers)) % n_parts)[inverse]
