"""How the log-probability of a normal variable to lie in a range depends on its mean."""

from __future__ import annotations

import numpy as np
from scipy import special

LEAST_BEND = 1e-6
"""Far inside the range a limit says nothing; its weight stays positive all the same."""
LOG_SQRT_2PI = 0.9189385332046727


def tail_derivatives(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slope, and minus the second derivative, of log(F(high) - F(low)) in the mean.

    F is the distribution function of a standard normal; `low` and `high` are relative to the mean
    and in standard deviations, and may be infinite. The second lies between 0 and 1: it is the
    share of the information of a whole observation that the limits have.

    Examples
    --------
    >>> slope, bend = tail_derivatives(np.array([0.0]), np.array([np.inf]))
    >>> slope.round(4).tolist(), bend.round(4).tolist()
    ([0.7979], [0.6366])
    """
    right = low > 0  # reflected, so that differences are taken where they are accurate
    low, high = np.where(right, -high, low), np.where(right, -low, high)
    below, above = special.log_ndtr(low), special.log_ndtr(high)
    log_mass = above + np.log1p(-np.exp(np.minimum(below - above, -1e-12)))
    at_low, at_high = (np.exp(-0.5 * end**2 - LOG_SQRT_2PI - log_mass) for end in (low, high))
    slope = at_low - at_high
    bend = slope**2 + _product(high, at_high) - _product(low, at_low)
    return np.where(right, -slope, slope), np.clip(bend, LEAST_BEND, 1.0)


def _product(end: np.ndarray, density: np.ndarray) -> np.ndarray:
    """Return end times density, which is 0 at infinity."""
    return np.where(np.isfinite(end), end, 0.0) * density
