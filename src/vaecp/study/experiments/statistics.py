"""How sure a difference between two methods is that were measured on the same random splits.

Training sets of random splits overlap, so that the differences are not independent, and a plain
t test finds too much. Nadeau and Bengio (2003), "Inference for the generalization error",
equation 9, widen its variance by the ratio of test to training entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

COVERAGE = 0.95


@dataclass(frozen=True)
class Difference:
    """A mean with its interval of 95 %, and the two-sided p of the hypothesis that it is 0."""

    mean: float
    low: float
    high: float
    p: float


def corrected_t(differences: np.ndarray, held_out: float) -> Difference:
    """Test the mean of paired differences over random splits.

    Parameters
    ----------
    differences : one per split.
    held_out : the share of entries that was tested on.

    Examples
    --------
    >>> round(float(corrected_t(np.array([1.0, 2.0, 3.0]), held_out=0.5).low), 3)
    -2.968
    """
    differences = np.asarray(differences, dtype=np.float64)
    n = len(differences)
    mean = float(differences.mean())
    if n < 2:
        return Difference(mean, -np.inf, np.inf, 1.0)
    variance = differences.var(ddof=1) * (1 / n + held_out / (1 - held_out))
    error = float(np.sqrt(variance))
    half = float(stats.t.ppf((1 + COVERAGE) / 2, n - 1)) * error
    if error == 0:
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1))
    return Difference(mean, mean - half, mean + half, p)


def holm(probabilities: Sequence[float]) -> list[float]:
    """Adjust p values for their number (Holm 1979): the family's error rate stays below the level.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(probabilities, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    factors = np.arange(len(given), 0, -1)
    adjusted = np.empty(len(given))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * given[order]), 1.0)
    return adjusted.tolist()
