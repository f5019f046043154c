"""Distributions of values that are no real numbers: yes or no, counts, classes; and transforms.

A family has one latent parameter per entry, on the whole real line; what else it has (dispersion,
thresholds) all entries share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special, stats

MAX_LOG_RATE = 30.0
MAX_COUNT = 1e12
"""Well below the largest rate."""

Cdf = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Of values at some entries, which are named by their places."""


@dataclass(frozen=True, eq=False)
class Family(ABC):
    """The distribution of a value, given its latent parameter."""

    @property
    def classes(self) -> np.ndarray | None:
        """The values that there can be, where these are few."""
        return None

    @abstractmethod
    def moments(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the variance of values."""

    @abstractmethod
    def log_prob(self, values: np.ndarray, latent: np.ndarray) -> np.ndarray:
        """Return the log-probability of values."""

    @abstractmethod
    def cdf(self, values: np.ndarray, latent: np.ndarray) -> np.ndarray:
        """Return the probability of at most these values."""

    @abstractmethod
    def sample(self, latent: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Draw a value for every latent parameter."""

    def peak(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return about where values are most probable, and the precision there; 0 where flat.

        Averages over the latent parameter have to look there, if the peak is narrow.
        """
        return np.zeros(np.shape(values)), np.zeros(np.shape(values))

    def quantile(
        self,
        probability: float,
        cdf: Cdf,
        mean: np.ndarray,
        std: np.ndarray,
    ) -> np.ndarray:
        """Return the smallest values at which a mixture of the family reaches a probability."""
        assert self.classes is not None
        every = np.arange(len(mean))
        found = np.full(len(mean), self.classes[-1], dtype=np.float64)
        for value in self.classes[::-1]:
            reached = cdf(np.full(len(mean), value), every) >= probability - 1e-12
            found = np.where(reached, value, found)
        return found


@dataclass(frozen=True, eq=False)
class Bernoulli(Family):
    """Yes (1) or no (0); the latent parameter is the log-odds."""

    link: ClassVar[Callable[[np.ndarray], np.ndarray]] = special.expit
    """From the latent parameter to the probability of 1."""
    log_link: ClassVar[Callable[[np.ndarray], np.ndarray]] = special.log_expit

    @property
    def classes(self) -> np.ndarray:
        return np.array([0.0, 1.0])

    def moments(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        probability = self.link(latent)
        return probability, probability * (1 - probability)

    def log_prob(self, values: np.ndarray, latent: np.ndarray) -> np.ndarray:
        return self.log_link(np.where(values > 0.5, latent, -latent))

    def cdf(self, values: np.ndarray, latent: np.ndarray) -> np.ndarray:
        return np.where(values >= 1, 1.0, np.where(values >= 0, self.link(-latent), 0.0))

    def sample(self, latent: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return (random.random(latent.shape) < self.link(latent)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Probit(Bernoulli):
    """Yes (1) or no (0): whether the latent parameter and standard normal noise exceed 0."""

    link = special.ndtr
    log_link = special.log_ndtr


@dataclass(frozen=True, eq=False)
class Ordinal(Family):
    """Ordered classes: P(class <= k) = expit(threshold_k - latent)."""

    values: np.ndarray
    thresholds: np.ndarray  # one fewer than classes, rising

    @property
    def classes(self) -> np.ndarray:
        return self.values

    def probabilities(self, latent: np.ndarray) -> np.ndarray:
        """Return (..., classes)."""
        below = special.expit(self.thresholds - latent[..., None])
        ends = np.concatenate(
            [np.zeros_like(latent[..., None]), below, np.ones_like(latent[..., None])], axis=-1
        )
        return np.maximum(np.diff(ends, axis=-1), 1e-300)

    def moments(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = self.probabilities(latent)
        mean = found @ self.values
        return mean, np.maximum(found @ self.values**2 - mean**2, 0.0)

    def log_prob(self, values: np.ndarray, latent: np.ndarray) -> np.ndarray:
        """With thresholds a above and b below, expit(a - u) expit(u - b) (1 - exp(b - a))."""
        place = np.searchsorted(0.5 * (self.values[1:] + self.values[:-1]), values)
        ends = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        above, below = ends[place + 1], ends[place]
        known = np.isclose(self.values[place], values)
        apart = np.where(known, np.log(-np.expm1(np.minimum(below - above, -1e-12))), -np.inf)
        return apart + special.log_expit(above - latent) + special.log_expit(latent - below)

    def cdf(self, values: np.ndarray, latent: np.ndarray) -> np.ndarray:
        place = np.searchsorted(self.values, values, side="right")
        ends = np.append(self.thresholds, np.inf)
        below = special.expit(ends[np.maximum(place - 1, 0)] - latent)
        return np.where(place == 0, 0.0, below)

    def sample(self, latent: np.ndarray, random: np.random.Generator) -> np.ndarray:
        noise = special.logit(random.random(latent.shape))
        return self.values[np.searchsorted(self.thresholds, latent + noise)]


@dataclass(frozen=True, eq=False)
class Counts(Family):
    """Counts from 0: negative binomial with mean exp(latent), Poisson where `size` is infinite.

    The variance is mean + mean^2 / size.
    """

    size: float = np.inf

    def _rate(self, latent: np.ndarray) -> np.ndarray:
        return np.exp(np.minimum(latent, MAX_LOG_RATE))

    def moments(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rate = self._rate(latent)
        return rate, rate + rate**2 / self.size

    def log_prob(self, values: np.ndarray, latent: np.ndarray) -> np.ndarray:
        values, latent = np.asarray(values, dtype=np.float64), np.minimum(latent, MAX_LOG_RATE)
        possible = (values >= 0) & (values == np.round(values))
        values = np.where(possible, values, 0.0)
        ways = np.where(possible, -special.gammaln(values + 1), -np.inf)
        if np.isinf(self.size):
            return ways + values * latent - np.exp(latent)
        ways = ways + special.gammaln(values + self.size) - special.gammaln(self.size)
        excess = np.logaddexp(latent, np.log(self.size)) - np.log(self.size)
        return ways + values * (latent - np.log(self.size)) - (values + self.size) * excess

    def cdf(self, values: np.ndarray, latent: np.ndarray) -> np.ndarray:
        rate = self._rate(latent)
        if np.isinf(self.size):
            return stats.poisson.cdf(values, rate)
        return stats.nbinom.cdf(values, self.size, self.size / (self.size + rate))

    def peak(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = np.maximum(values, 0.0)
        return np.log(np.maximum(counts, 0.5)), counts / (1 + counts / self.size)

    def sample(self, latent: np.ndarray, random: np.random.Generator) -> np.ndarray:
        rate = self._rate(latent)
        if np.isfinite(self.size):
            rate = random.gamma(self.size, rate / self.size)
        return random.poisson(np.minimum(rate, 1e15)).astype(np.float64)

    def quantile(
        self,
        probability: float,
        cdf: Cdf,
        mean: np.ndarray,
        std: np.ndarray,
    ) -> np.ndarray:
        """Close in on integers: by halves, and in between by where a Gaussian would lie."""
        if probability <= 0:
            return np.zeros(len(mean))
        low, high = np.full(len(mean), -1.0), np.full(len(mean), np.inf)
        below, above = np.full((2, len(mean)), np.nan)  # how far off low and high are, as Gaussians
        unit, root = special.ndtri(probability), np.sqrt(mean + 0.375)
        spread = np.maximum(0.5 * std / root, 1e-3)  # of square roots, which are nearly Gaussian
        guess, turn = root + unit * spread, 0
        left = np.arange(len(mean))
        while len(left):
            turn += 1
            end = np.where(np.isinf(high[left]), 3 * low[left] + 20, high[left])
            tried = np.floor(np.maximum(guess[left], 0.0) ** 2)
            if turn % 3 == 0:
                tried = np.floor(0.5 * (low[left] + end))
            tried = np.clip(tried, low[left] + 1, np.maximum(end - 1, low[left] + 1))
            found = cdf(tried, left)
            off = special.ndtri(np.clip(found, 1e-12, 1 - 1e-12)) - unit
            reached = found >= probability
            low[left[~reached]], below[left[~reached]] = tried[~reached], off[~reached]
            high[left[reached]], above[left[reached]] = tried[reached], off[reached]
            slope = (above - below)[left] / (
                np.sqrt(high[left] + 0.375) - np.sqrt(np.maximum(low[left], 0) + 0.375)
            )
            slope = np.where(slope > 0, slope, 1 / spread[left])
            guess[left] = np.sqrt(tried + 0.375) - off / slope
            left = left[high[left] - low[left] > 1]
        return high


@dataclass(frozen=True, eq=False)
class Transform(ABC):
    """From values to real numbers, standardised, and back."""

    whole: ClassVar[bool] = False
    """Whether values are whole numbers: those nearest to what `inverse` would have without that."""

    location: float
    scale: float

    @property
    def support(self) -> tuple[float, float]:
        """Between which numbers values lie."""
        return -np.inf, np.inf

    def __call__(self, values: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return (self.forth(np.asarray(values, dtype=np.float64)) - self.location) / self.scale

    def back(self, scaled: np.ndarray) -> np.ndarray:
        """Return the values."""
        return self.inverse(self.location + self.scale * np.asarray(scaled, dtype=np.float64))

    def log_slope(self, values: np.ndarray) -> np.ndarray:
        """Return the logarithm of the derivative at values."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.log_derivative(np.asarray(values, float)) - np.log(self.scale)

    @abstractmethod
    def forth(self, values: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def inverse(self, numbers: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def log_derivative(self, values: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Logarithm(Transform):
    """Of positive values."""

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, np.inf

    def forth(self, values: np.ndarray) -> np.ndarray:
        return np.log(values)

    def inverse(self, numbers: np.ndarray) -> np.ndarray:
        return np.exp(np.clip(numbers, -690.0, 690.0))

    def log_derivative(self, values: np.ndarray) -> np.ndarray:
        return -np.log(values)


@dataclass(frozen=True, eq=False)
class LogOdds(Transform):
    """Of values between a lowest and a highest one."""

    lowest: float = 0.0
    highest: float = 1.0

    @property
    def support(self) -> tuple[float, float]:
        return self.lowest, self.highest

    def forth(self, values: np.ndarray) -> np.ndarray:
        return special.logit((values - self.lowest) / (self.highest - self.lowest))

    def inverse(self, numbers: np.ndarray) -> np.ndarray:
        return self.lowest + (self.highest - self.lowest) * special.expit(numbers)

    def log_derivative(self, values: np.ndarray) -> np.ndarray:
        width = self.highest - self.lowest
        return np.log(width) - np.log(values - self.lowest) - np.log(self.highest - values)


@dataclass(frozen=True, eq=False)
class Floor(Transform):
    """Of values that are never below 0: what would be lower is 0."""

    def forth(self, values: np.ndarray) -> np.ndarray:
        return values

    def inverse(self, numbers: np.ndarray) -> np.ndarray:
        return np.maximum(numbers, 0.0)

    def log_derivative(self, values: np.ndarray) -> np.ndarray:
        return np.zeros_like(values)


@dataclass(frozen=True, eq=False)
class RootOfCounts(Transform):
    """Of counts, whose spread hardly depends on their size after it (Anscombe 1948)."""

    whole: ClassVar[bool] = True

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, np.inf

    def forth(self, values: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(values + 0.375, 0.0))

    def inverse(self, numbers: np.ndarray) -> np.ndarray:
        return np.maximum(np.ceil(np.maximum(numbers, 0.0) ** 2 - 0.875), 0.0)

    def log_derivative(self, values: np.ndarray) -> np.ndarray:
        return -np.log(2.0) - 0.5 * np.log(values + 0.375)
