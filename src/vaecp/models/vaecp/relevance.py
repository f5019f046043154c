"""How many components the data support: those that rise above the noise."""

from __future__ import annotations

import numpy as np

from vaecp.models.vaecp.members import Ensemble

RELEVANT = 0.05
"""A component counts if its variance is at least this share of the noise's."""

LIKELY = 1.645
"""Standard deviations on either side that hold 90 %."""


def effective_rank(ensemble: Ensemble, member: int, away: float = 0.0) -> int:
    """Count the components of a member whose size is above the threshold.

    `away` moves each size by so many of its posterior standard deviations, on a logarithmic scale.
    """
    rank = int(ensemble.ranks[member])
    logs, spread = np.zeros((2, rank))
    for table, variance in zip(ensemble.mean, ensemble.variance, strict=True):
        mean = table[member, :-1, :rank].astype(np.float64)
        own = variance[member, :-1, :rank].astype(np.float64)
        # Mean and variance of the mean square of Gaussian rows.
        size = np.mean(mean**2 + own, axis=0) + 1e-300
        logs += np.log(size)
        spread += np.mean(2 * own**2 + 4 * mean**2 * own, axis=0) / len(mean) / size**2
    noise = float(ensemble.noises[member]) or 1.0
    return int(np.sum(logs + away * np.sqrt(spread) > np.log(RELEVANT * noise)))


def rank_range(ensemble: Ensemble) -> tuple[int, int]:
    """Return the fewest and the most components that any member with some has, 90 % likely."""
    members = np.flatnonzero(ensemble.ranks > 0)
    low = [effective_rank(ensemble, int(member), -LIKELY) for member in members]
    high = [effective_rank(ensemble, int(member), LIKELY) for member in members]
    return min(low, default=0), max(high, default=0)
