"""Counts: with the variance of a Poisson or more, or so large that a square root makes them real."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from scipy import special

from vaecp.data.error_shapes import ErrorShape
from vaecp.data.families import MAX_COUNT, Family, RootOfCounts, Transform
from vaecp.data.families import Counts as CountsFamily
from vaecp.data.prediction import LatentPrediction, Prediction, log_prob_under
from vaecp.data.sampling import representative
from vaecp.models.vaecp.likelihoods.base import Likelihood, Working, refuse
from vaecp.models.vaecp.likelihoods.discrete import EAGER, FEW_NODES, Discrete, polya_gamma_mean
from vaecp.models.vaecp.likelihoods.gaussian import Transformed, standardised

if TYPE_CHECKING:
    from jax import Array

LEAST_WEIGHT = 0.02
REACH = 2.0
"""Means of counts are at most this many times the largest one."""

NODES = ((0.0, 2 / 3), (3**0.5, 1 / 6), (-(3**0.5), 1 / 6))
"""And weights of a standard normal, exact up to the fifth power."""

SIZES = np.geomspace(0.05, 1e4, 40)


@dataclass(frozen=True, eq=False)
class Poisson(Discrete):
    """Counts whose variance is their mean."""

    name: ClassVar[str] = "poisson"
    words: ClassVar[str] = "counts"
    aliases: ClassVar[tuple[str, ...]] = ()

    size: float = float("inf")
    highest: float = float("inf")
    """No mean is larger."""
    ignorance: float = float("inf")
    """Of the latent number, at most: the variance of the logarithms of all values."""

    def validate(self) -> None:
        if not (self.size > 0 and self.highest > 0 and self.ignorance >= 0):
            raise ValueError("likelihood.size, .highest or .ignorance is not a positive number")

    @classmethod
    def check(cls, values: np.ndarray) -> None:
        _check_counts(values, cls.name)

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        cls.check(values)
        spread = float(np.var(np.log(values + 0.5)))
        return cls(highest=REACH * float(values.max()) + 1, ignorance=spread)

    @property
    def family(self) -> Family:
        return CountsFamily(self.size)

    def predict(
        self, mean: np.ndarray, noise: np.ndarray, ignorance: np.ndarray, shape: ErrorShape
    ) -> Prediction:
        """Bound the mean, exp(latent + variance / 2): far from the data it could be anything."""
        most = np.log(self.highest)
        latent = np.minimum(self.shift + self.stretch * mean, most)
        variance = np.minimum(self.widening**2 * ignorance, self.ignorance)
        variance = np.minimum(variance, 2 * (most - latent))
        return LatentPrediction.of(latent, np.sqrt(variance), self.family)

    def _stretch(self, logarithm: float) -> float:
        """Few held-out counts are large, and a power of the mean would be learned from these."""
        return 1.0

    def start(self, values: np.ndarray) -> float:
        return float(np.log(max(values.mean(), 1e-3)))

    def working(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Working:
        """Newton's step, shortened where it would overshoot."""
        rate = np.exp(np.clip(mean + variance / 2, -30, 30))
        weights = np.maximum(np.maximum(rate, 0.5 * values), LEAST_WEIGHT)
        return Working(mean + (values - rate) / weights, weights)

    def slope(self, values: np.ndarray, mean: np.ndarray) -> np.ndarray:
        return values - np.exp(np.clip(mean, -30, 30))

    def log_prob(self, outputs: tuple[Array, Array], values: Array) -> Array:
        import jax.numpy as jnp
        from jax.scipy.special import gammaln

        latent = jnp.clip(outputs[0], -30.0, 30.0)
        return values * latent - jnp.exp(latent) - gammaln(values + 1)


@dataclass(frozen=True, eq=False)
class NegativeBinomial(Poisson):
    """Counts that vary more than a Poisson's: the variance is mean + mean^2 / size."""

    name: ClassVar[str] = "negative-binomial"
    words: ClassVar[str] = "counts that vary much"
    aliases: ClassVar[tuple[str, ...]] = ("counts", "count", "nb")

    size: float = 1.0

    def trainers(self) -> tuple[Likelihood, ...]:
        """Poisson's weights let large counts say more, which the mean squared error asks for."""
        return self, Poisson(highest=self.highest, ignorance=self.ignorance)

    def working(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Working:
        """Newton's step by the expected curvature, at most that of an upper bound of it.

        The bound (Polson, Scott and Windle 2013) never overshoots. But where the size is far above
        the mean it is many times the curvature: steps would be tiny, and rows too sure.
        """
        centred, std = mean - np.log(self.size), np.sqrt(variance)
        share = sum(w * special.expit(centred + std * node) for node, w in NODES)
        slope = values - (values + self.size) * share
        weights = np.maximum(self.size * share, 0.5 * np.abs(slope))
        bound = (values + self.size) * polya_gamma_mean(centred**2 + variance)
        weights = np.minimum(np.maximum(weights, LEAST_WEIGHT), bound)
        return Working(mean + slope / weights, weights)

    def eager(self, values: np.ndarray, mean: np.ndarray, share: float) -> Working:
        """By the bound alone: fast sweeps find less where steps are large."""
        centred = mean - np.log(self.size)
        weights = (values + self.size) * polya_gamma_mean(centred**2)
        found = np.log(self.size) + 0.5 * (values - self.size) / weights
        return Working(found, weights / (EAGER * share))

    def learned(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Self:
        # Marginal probabilities would let sizes grow with what members overfit.
        return replace(self, size=_best_size(values, mean + variance / 2, 0 * variance))

    def calibrated(
        self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray, importance: np.ndarray
    ) -> Self:
        alike = representative(importance, 2_000)
        sized = replace(self, size=_best_size(values[alike], mean[alike], variance[alike]))
        return super(NegativeBinomial, sized).calibrated(values, mean, variance, importance)

    def slope(self, values: np.ndarray, mean: np.ndarray) -> np.ndarray:
        rate = np.exp(np.clip(mean, -30, 30))
        return (values - rate) * self.size / (self.size + rate)

    def log_prob(self, outputs: tuple[Array, Array], values: Array) -> Array:
        """The second output is minus the logarithm of the size: 0 where rates vary as much."""
        import jax.numpy as jnp
        from jax.scipy.special import gammaln

        latent, log_size = jnp.clip(outputs[0], -30.0, 30.0), jnp.clip(-outputs[1], -5.0, 12.0)
        size = jnp.exp(log_size)
        total = jnp.logaddexp(latent, log_size)
        ways = gammaln(values + size) - gammaln(size) - gammaln(values + 1)
        return ways + size * (log_size - total) + values * (latent - total)


@dataclass(frozen=True, eq=False)
class LargeCounts(Transformed):
    """Counts, mostly large: real numbers with noise of one size after a square root."""

    name: ClassVar[str] = "large-counts"
    words: ClassVar[str] = "large counts"
    aliases: ClassVar[tuple[str, ...]] = ("root-counts",)

    transform: Transform = field(default_factory=lambda: RootOfCounts(0.0, 1.0))

    working_of_limits = Likelihood.working_of_limits  # ends of limits would have to be whole

    @classmethod
    def check(cls, values: np.ndarray) -> None:
        _check_counts(values, cls.name)

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        cls.check(values)
        return cls(transform=standardised(RootOfCounts(0.0, 1.0), values))


def _check_counts(values: np.ndarray, name: str) -> None:
    rule = f"they are whole numbers from 0 to {MAX_COUNT:.0e}"
    whole = values == np.round(values)
    refuse(values, ~whole | (values < 0) | (values > MAX_COUNT), name, rule)


def _best_size(values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> float:
    """Return the size on a grid that makes counts most probable, latent numbers being unsure."""
    kept = np.linspace(0, len(values) - 1, min(len(values), 2_000)).astype(int)
    values, mean, std = values[kept], mean[kept], np.sqrt(variance[kept])
    scores = [
        log_prob_under(CountsFamily(size), values, mean, std, FEW_NODES).mean() for size in SIZES
    ]
    return float(SIZES[int(np.argmax(scores))])
