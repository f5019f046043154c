"""Do the components come back: from other starts, and from either half of the data?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from vaecp.data.observations import Observations
from vaecp.data.selecting import select
from vaecp.errors import ObservationError
from vaecp.models.cp.estimators import CPALS, NCP, StartEnd
from vaecp.outcomes.diagnostics.congruence import Factors, Match, match

SAME_OBJECTIVE = 0.01
"""Starts whose objectives differ by less than this share may have found the same minimum ..."""
SAME_COMPONENTS = 0.95
"""... and have, where their components are at least so congruent in every mode."""
FEWEST_TO_SPLIT = 10
HALF_STARTS = 3


def agreeing(ends: Sequence[StartEnd]) -> int:
    """Return how many starts found what the best of them found, itself included."""
    best = min(ends, key=lambda end: end.objective)
    return sum(
        end.objective <= best.objective * (1 + SAME_OBJECTIVE)
        and match(best.factors, end.factors).worst >= SAME_COMPONENTS
        for end in ends
    )


def split_half(
    model: CPALS | NCP,
    observations: Observations,
    mode: int,
    n_splits: int = 3,
    random_state: int = 0,
) -> list[Match]:
    """Fit both halves of a mode's labels apart, and match their components in the other modes.

    Halves are random, and every split is another one. Components that are real are found in
    both halves; those of noise are not (Harshman and DeSarbo, 1984).
    """
    if observations.shape[mode] < 4:
        raise ObservationError(
            f"mode {observations.mode_names[mode]!r} has {observations.shape[mode]} labels: a "
            "split into halves needs at least four."
        )
    random = np.random.default_rng(random_state)
    found = []
    for _ in range(n_splits):
        order = random.permutation(observations.shape[mode])
        halves = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        first, second = (_fitted_half(model, observations, mode, rows) for rows in halves)
        found.append(match(first, second))
    return found


def mode_to_split(observations: Observations) -> int:
    """Return the first mode, which holds the samples by habit, or the largest if it is small."""
    if observations.shape[0] >= FEWEST_TO_SPLIT:
        return 0
    return int(np.argmax(observations.shape))


def _fitted_half(
    model: CPALS | NCP, observations: Observations, mode: int, rows: np.ndarray
) -> Factors:
    """Return the factors of all modes but the one that was split."""
    part = select(observations, mode, rows)
    factors = with_settings(model, n_starts=HALF_STARTS).every_start(part)[0].factors
    return [rows for place, rows in enumerate(factors) if place != mode]


def with_settings(model: CPALS | NCP, **settings: Any) -> CPALS | NCP:
    """Return an unfitted copy of a model with other settings."""
    copy: Any = clone(model)
    return copy.set_params(**settings)
