"""How the log-probability of a normal variable to lie in a range depends on its mean."""

from __future__ import annotations

import numpy as np
from scipy import special

LEAST_BEND = 1e-6
"""Far inside the range a limit says nothing; its weight stays positive all the same."""
LOG_SQRT_2PI = 0.9189385332046727
FAR = 100.0
"""From here on a series is as accurate as float64, and the difference that it replaces is not."""
NEAR, WIDE = 30.0, 0.1
"""Ranges that begin nearer than this, and over which the density falls by more than this exponent,
have accurate closed forms."""
EXPONENT = 40.0
"""Where the density is smaller than its peak by exp(-40), it no longer counts."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)


def tail_derivatives(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slope, and minus the second derivative, of log(F(high) - F(low)) in the mean.

    F is the distribution function of a standard normal; `low` and `high` are relative to the mean
    and in standard deviations, and may be infinite. The slope is the mean of the variable in the
    range. The second lies between 0 and 1: it is the share of the information of a whole
    observation that the limits have, and 1 less the variance in the range.

    Examples
    --------
    >>> slope, bend = tail_derivatives(np.array([0.0]), np.array([np.inf]))
    >>> slope.round(4).tolist(), bend.round(4).tolist()
    ([0.7979], [0.6366])
    """
    left = low + high < 0  # reflected, so that the end that is nearer to the mean is the lower one
    low, high = np.where(left, -high, low), np.where(left, -low, high)
    slope, bend = _above(low)
    two = np.isfinite(high)
    slope[two], bend[two] = _between(low[two], high[two])
    return np.where(left, -slope, slope), np.clip(bend, LEAST_BEND, 1.0)


def _above(low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and bend where there is no upper end: the hazard h, and h (h - low)."""
    near = np.clip(low, -FAR, FAR)
    hazard = np.sqrt(2 / np.pi) / special.erfcx(near / np.sqrt(2))
    inverse = 1 / np.maximum(low, FAR)
    square = inverse**2
    series = inverse * (1 - square * (2 - square * (10 - 74 * square)))
    excess = np.where(low > FAR, series, hazard - near)
    slope = np.where(low > FAR, low + series, hazard)
    return slope, slope * excess


def _between(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and bend between two ends; `low` is nearer to 0 than `high`, or below it."""
    start, width = np.maximum(low, 0.0), high - low
    plain = (start <= NEAR) & (width * (start + 0.5 * width) > WIDE)
    slope, bend = np.empty_like(low), np.empty_like(low)
    slope[plain], bend[plain] = _by_densities(low[plain], high[plain])
    slope[~plain], bend[~plain] = _by_quadrature(low[~plain], high[~plain])
    return slope, bend


def _by_densities(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and bend from the densities at the ends, as shares of the mass between them."""
    above, beyond = special.log_ndtr(-low), special.log_ndtr(-high)
    log_mass = above + np.log1p(-np.exp(beyond - above))
    at_low, at_high = (np.exp(-0.5 * end**2 - LOG_SQRT_2PI - log_mass) for end in (low, high))
    slope = at_low - at_high
    return slope, slope**2 + high * at_high - low * at_low


def _by_quadrature(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and bend of a range that is narrow or far, where closed forms lose their digits."""
    start = np.maximum(low, 0.0)
    reach = 2 * EXPONENT / (start + np.sqrt(start**2 + 2 * EXPONENT))  # where the density counts
    first = np.maximum(low, -reach)
    steps = 0.5 * (np.minimum(high, start + reach) - first)[:, None] * (1 + NODES)
    density = WEIGHTS * np.exp(-steps * (first[:, None] + 0.5 * steps))
    density /= density.sum(axis=1, keepdims=True)
    mean = (density * steps).sum(axis=1)
    variance = (density * (steps - mean[:, None]) ** 2).sum(axis=1)
    return first + mean, 1 - variance
