"""How much is spent on a fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Effort:
    """How much is spent: on small tensors less than `multiplications`, for little is gained.

    With `seconds`, the clock ends the search, and the same seed may give other bits.
    """

    max_rank: int
    n_members: int
    n_rounds: int
    multiplications: float
    per_entry: float
    seconds: float | None = None

    def budget(self, n_entries: int) -> float:
        """Return how many multiplications a fit to so many entries may take."""
        return self.multiplications + self.per_entry * n_entries


GLANCE = Effort(max_rank=16, n_members=2, n_rounds=0, multiplications=8e9, per_entry=3e5)
"""Enough to see which likelihood suits the values."""

EFFORTS = {
    "quick": Effort(max_rank=16, n_members=4, n_rounds=1, multiplications=8e9, per_entry=3e5),
    "normal": Effort(
        max_rank=64, n_members=10, n_rounds=3, multiplications=1.6e10, per_entry=1.3e6
    ),
    "thorough": Effort(max_rank=128, n_members=20, n_rounds=5, multiplications=2e11, per_entry=2e7),
}


def effort_of(given: Any) -> Effort:
    """Return the effort of a name, or one that so many seconds end."""
    if isinstance(given, str) and given in EFFORTS:
        return EFFORTS[given]
    if isinstance(given, Real) and not isinstance(given, bool) and 0 < float(given) < np.inf:
        return replace(EFFORTS["thorough"], seconds=float(given))
    raise ValueError(
        f"effort is {given!r}: use {', '.join(map(repr, EFFORTS))}, or a number of seconds."
    )
