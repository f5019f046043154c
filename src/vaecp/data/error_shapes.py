"""How errors are distributed once they are divided by their standard deviation.

Shapes are symmetric, with mean 0 and variance 1: what sets them apart is how many errors are
far smaller or far larger than the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

N_SCALES = 16
N_ROUNDS = 300
PSEUDO_ERRORS = 5.0
MAX_ERRORS = 10_000
MAX_DOUBT = 1.0
"""Of the logarithm of a standard deviation: beyond it, nothing would be said any more."""


class ErrorShape(ABC):
    """A symmetric distribution with mean 0 and variance 1."""

    @abstractmethod
    def quantile(self, probability: float) -> float:
        """Return where the distribution function takes this value."""

    @abstractmethod
    def cdf(self, errors: np.ndarray) -> np.ndarray:
        """Return the probability of at most each error."""

    @abstractmethod
    def log_density(self, errors: np.ndarray) -> np.ndarray:
        """Return the log of the density at each error."""

    @abstractmethod
    def sample(self, size: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
        """Draw errors."""

    @abstractmethod
    def crps(self, errors: np.ndarray) -> np.ndarray:
        """Return the continuous ranked probability score of a forecast that is off by this."""


@dataclass(frozen=True)
class StudentT(ErrorShape):
    """A Student t, whose tails are heavy where the noise level itself is uncertain."""

    degrees_of_freedom: float

    @property
    def scale(self) -> float:
        """A t of scale 1 has a standard deviation of sqrt(df / (df - 2))."""
        return float(np.sqrt((self.degrees_of_freedom - 2) / self.degrees_of_freedom))

    def quantile(self, probability: float) -> float:
        return float(self.scale * stats.t.ppf(probability, self.degrees_of_freedom))

    def cdf(self, errors: np.ndarray) -> np.ndarray:
        return stats.t.cdf(errors / self.scale, self.degrees_of_freedom)

    def log_density(self, errors: np.ndarray) -> np.ndarray:
        return stats.t.logpdf(errors / self.scale, self.degrees_of_freedom) - np.log(self.scale)

    def sample(self, size: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
        return self.scale * random.standard_t(self.degrees_of_freedom, size)

    def crps(self, errors: np.ndarray) -> np.ndarray:
        """Jordan, Krüger and Lerch (2019), appendix A."""
        df, z = self.degrees_of_freedom, errors / self.scale
        # The beta functions in logs, because their ratio stays moderate where they underflow.
        log_ratio = special.betaln(0.5, df - 0.5) - 2 * special.betaln(0.5, df / 2)
        spread = 2 * np.sqrt(df) / (df - 1) * np.exp(log_ratio)
        peak = 2 * stats.t.pdf(z, df) * (df + z**2) / (df - 1)
        return self.scale * (z * (2 * stats.t.cdf(z, df) - 1) + peak - spread)


@dataclass(frozen=True)
class ScaleMixture(ErrorShape):
    """Gaussians of several widths around 0: a peak and tails of any weight."""

    weights: tuple[float, ...] = (1.0,)
    scales: tuple[float, ...] = (1.0,)

    def quantile(self, probability: float) -> float:
        if not 0 < probability < 1:
            return float(np.inf * np.sign(probability - 0.5))
        widest = 1.0 + max(self.scales) * abs(stats.norm.ppf(probability))
        low, high = -widest, widest
        while high - low > 1e-12 * widest:
            middle = 0.5 * (low + high)
            below = np.dot(self.weights, stats.norm.cdf(middle / np.array(self.scales)))
            low, high = (middle, high) if below < probability else (low, middle)
        return float(0.5 * (low + high))

    def cdf(self, errors: np.ndarray) -> np.ndarray:
        z = np.asarray(errors, dtype=np.float64)[..., None]
        return stats.norm.cdf(z / np.array(self.scales)) @ np.array(self.weights)

    def log_density(self, errors: np.ndarray) -> np.ndarray:
        z = np.asarray(errors, dtype=np.float64)[..., None]
        each = stats.norm.logpdf(z, scale=self.scales)
        return np.asarray(special.logsumexp(each, axis=-1, b=self.weights))

    def of_uncertain_scale(self, doubt: float) -> tuple[ScaleMixture, float]:
        """Return the shape, and its standard deviation, where that of the errors is not known well.

        Its logarithm is Gaussian with standard deviation `doubt`; three values stand for all
        (Gauss-Hermite quadrature).
        """
        factors = np.exp(min(doubt, MAX_DOUBT) * np.array([-np.sqrt(3), 0.0, np.sqrt(3)]))
        weights = np.outer([1 / 6, 2 / 3, 1 / 6], self.weights).ravel()
        scales = np.outer(factors, self.scales).ravel()
        std = float(np.sqrt(weights @ scales**2))
        return ScaleMixture(tuple(weights.tolist()), tuple((scales / std).tolist())), std

    def sample(self, size: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
        widths = random.choice(self.scales, size, p=self.weights)
        return widths * random.standard_normal(size)

    def crps(self, errors: np.ndarray) -> np.ndarray:
        """Grimit, Gneiting, Berrocal and Johnson (2006), equation 5."""
        weights, scales = np.array(self.weights), np.array(self.scales)
        z = np.asarray(errors, dtype=np.float64)[..., None]
        between = np.sqrt(scales[:, None] ** 2 + scales**2) * np.sqrt(2 / np.pi)
        return _mean_distance(z, scales) @ weights - 0.5 * weights @ between @ weights


GAUSSIAN_ERRORS = ScaleMixture()


def fitted_mixture(
    errors: np.ndarray, importance: np.ndarray | None = None
) -> tuple[ScaleMixture, float]:
    """Return the most likely mixture of Gaussians around 0, as a shape and its standard deviation.

    The widths lie on a grid, and only their weights are sought, by expectation-maximisation: a
    convex problem with one answer. A few made-up errors of ordinary size steady it where the
    real ones are few; many are averaged in groups of like size first. `importance` says how much
    each error counts: all alike by default.
    """
    order = np.argsort(np.abs(np.asarray(errors, dtype=np.float64)))
    size = np.abs(np.asarray(errors, dtype=np.float64))[order]
    counts = np.ones(len(size)) if importance is None else importance[order]
    counts = counts * np.sum(counts) / np.sum(counts**2)  # as many as they are worth
    if len(size) > MAX_ERRORS:
        groups = np.linspace(0, len(size), MAX_ERRORS + 1).astype(int)[:-1]
        totals = np.add.reduceat(counts, groups)
        size = np.sqrt(np.add.reduceat(counts * size**2, groups) / totals)
        counts = totals
    middle = size[np.searchsorted(np.cumsum(counts), 0.5 * counts.sum())]
    ordinary = max(float(middle) / stats.norm.ppf(0.75), 1e-9)
    widest = max(size.max(), 3 * ordinary)
    scales = np.geomspace(0.05 * ordinary, widest, N_SCALES)
    densities = stats.norm.pdf(size[:, None], scale=scales)
    start = np.where(np.arange(N_SCALES) == np.argmin(np.abs(np.log(scales / ordinary))), 1.0, 0.0)
    weights = np.full(N_SCALES, 1 / N_SCALES)
    for _ in range(N_ROUNDS):
        shares = densities * weights
        shares /= shares.sum(axis=1, keepdims=True) + 1e-300
        weights = counts @ shares + PSEUDO_ERRORS * start
        weights /= weights.sum()
    kept = weights > 1e-6
    weights, scales = weights[kept] / weights[kept].sum(), scales[kept]
    std = float(np.sqrt(weights @ scales**2))
    return ScaleMixture(tuple(weights.tolist()), tuple((scales / std).tolist())), std


def _mean_distance(z: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """E|x - z| of a Gaussian x around 0."""
    unit = z / scale
    return 2 * scale * stats.norm.pdf(unit) + z * (2 * stats.norm.cdf(unit) - 1)
