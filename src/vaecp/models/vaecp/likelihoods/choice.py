"""Which kinds of values these may be, by looking at them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from vaecp.data.families import MAX_COUNT

LEAST, LEAST_ANSWERS = 30, 10
"""Fewer values do not tell their kind; zeros and ones do so sooner than others."""
FEW_LEVELS = 11
SKEWED = 1.0
LARGE_COUNTS = 30.0
"""Counts whose median is larger are nearly real numbers after a square root."""


@dataclass(frozen=True)
class Plausible:
    """Names of likelihoods, the first one to be preferred in doubt, and why they are plausible."""

    names: tuple[str, ...]
    why: str


def plausible(values: np.ndarray) -> Plausible:
    """Look at the values.

    Examples
    --------
    >>> plausible(np.tile([0.0, 1.0], 50))
    Plausible(names=('bernoulli',), why='all values are 0 or 1')
    """
    values = np.asarray(values, dtype=np.float64)
    levels = np.unique(values)
    if np.array_equal(levels, [0.0, 1.0]) and len(values) >= LEAST_ANSWERS:
        return Plausible(("bernoulli",), "all values are 0 or 1")
    if len(values) < LEAST or len(levels) < 2:
        return Plausible(("gaussian",), "there are too few values to tell")
    whole = bool(np.all(values == np.round(values)))
    if _are_classes(levels, len(values), whole):
        return Plausible(("ordinal",), f"there are {len(levels)} evenly spaced levels")
    if whole and levels[0] >= 0 and levels[-1] <= MAX_COUNT:
        if np.median(values) > LARGE_COUNTS:
            names = ("large-counts", "negative-binomial", "gaussian")
            return Plausible(names, "all values are large whole numbers from 0")
        return Plausible(("negative-binomial", "poisson"), "all values are whole numbers from 0")
    if levels[0] > 0 and _is_skewed(values):
        names = ("gaussian", "log-normal")
        return Plausible(names, "all values are positive, and a few are much larger than the rest")
    return Plausible(("gaussian",), "the values are real numbers")


def _are_classes(levels: np.ndarray, n_values: int, whole: bool) -> bool:
    """Whether levels are few, evenly spaced and often used; counts begin at 0, stars do not."""
    if not 3 <= len(levels) <= FEW_LEVELS or n_values < 10 * len(levels):
        return False
    steps = np.diff(levels)
    even = bool(np.allclose(steps, steps[0]))
    return even and (levels[0] > 0) and (not whole or levels[0] == 1)


def _is_skewed(values: np.ndarray) -> bool:
    logarithms = np.log(values)
    if values.max() / values.min() < 10:
        return False
    skewness, after = stats.skew(values), stats.skew(logarithms)
    return bool(skewness > SKEWED and abs(after) < 0.5 * skewness)
