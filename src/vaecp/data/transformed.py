"""What a model says of values that are something else than what it predicts: amounts, shares, counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from vaecp.data.families import Transform
from vaecp.data.prediction import MIDPOINTS, Prediction
from vaecp.data.standardising import Scaling

ONE_SIGMA = (0.1587, 0.5, 0.8413)
"""Probabilities of a normal distribution at one standard deviation below and above its mean."""


@dataclass(frozen=True, eq=False)
class TransformedPrediction(Prediction):
    """Values whose transform has a location-scale distribution: amounts, shares."""

    inner: Prediction = None  # type: ignore[assignment]
    transform: Transform = None  # type: ignore[assignment]

    @classmethod
    def of(cls, inner: Prediction, transform: Transform) -> TransformedPrediction:
        """Find the moments of the values by their quantiles.

        The mean leaves out the last quarter of a percent at either end: where tails are heavy
        there, a mean of the untransformed values need not exist. Of values with limits it is the median.
        """
        unit = np.array([inner.shape.quantile(p) for p in MIDPOINTS])
        total = transform.back(np.stack([inner.quantile(p) for p in MIDPOINTS], axis=1))
        noise = transform.back(inner.mean[:, None] + inner.noise_std[:, None] * unit)
        low, middle, high = (transform.back(inner.quantile(p)) for p in ONE_SIGMA)
        # The logarithm of an excess is normal, and the excess in an exponent here: it has no moments.
        total[inner.limited] = middle[inner.limited, None]
        std = np.where(inner.limited, (high - low) / 2, total.std(axis=1))
        mean, noise_std = total.mean(axis=1), noise.std(axis=1)
        noise_std = np.minimum(noise_std, std)
        ignorance = np.sqrt(np.maximum(std**2 - noise_std**2, 0.0))
        if transform.whole:  # a mean of counts is at least the probability of 1 or more
            mean = np.maximum(mean, 1 - inner.cdf(transform(np.full(len(mean), 0.5))))
        return cls(mean, noise_std, ignorance, inner.shape, inner, transform)

    @property
    def discrete(self) -> bool:
        return self.transform.whole

    @property
    def limited(self) -> np.ndarray:
        return self.inner.limited

    def quantile(self, probability: float) -> np.ndarray:
        return self.transform.back(self.inner.quantile(probability))

    def cdf(self, values: np.ndarray) -> np.ndarray:
        if not self.transform.whole:
            return self.inner.cdf(self.transform(values))
        most = np.floor(values)  # the largest whole number: up to half of the way to the next
        return np.where(most < 0, 0.0, self.inner.cdf(self.transform(np.maximum(most, 0) + 0.5)))

    def log_density(self, values: np.ndarray) -> np.ndarray:
        if not self.transform.whole:
            return self.inner.log_density(self.transform(values)) + self.transform.log_slope(values)
        values = np.asarray(values, dtype=np.float64)
        possible = (values >= 0) & (values == np.round(values))
        counts = np.where(possible, values, 0.0)
        found = self.cdf(counts) - self.cdf(counts - 1)
        # Far out, where differences lose their digits, the density times a width of 1.
        density = self.inner.log_density(self.transform(counts)) + self.transform.log_slope(counts)
        found = np.where(found > 1e-9, np.log(np.maximum(found, 1e-9)), density)
        return np.where(possible, found, -np.inf)

    def crps(self, values: np.ndarray) -> np.ndarray:
        """The mean over levels of the quantile score, doubled."""
        total = np.zeros(len(self))
        for level in MIDPOINTS[::4]:
            below = values - self.quantile(level)
            total += 2 * np.where(below >= 0, level * below, (level - 1) * below)
        return total / len(MIDPOINTS[::4])

    def _mode(self) -> np.ndarray:
        return self.quantile(0.5)

    def sample(self, n: int, random: np.random.Generator) -> np.ndarray:
        return self.transform.back(self.inner.sample(n, random))

    def in_units_of(self, scaling: Scaling, indices: np.ndarray) -> Prediction:
        """The transform takes the values to their own units."""
        return self

    def take(self, rows: Any) -> Self:
        return replace(super().take(rows), inner=self.inner.take(rows))

    @classmethod
    def joined(cls, parts: Sequence[Prediction]) -> Any:
        inner = Prediction.joined([part.inner for part in parts])  # type: ignore[attr-defined]
        return replace(Prediction.joined(parts), inner=inner)
