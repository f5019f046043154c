"""Real values, and amounts and shares, which are real after a transform."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from vaecp.data.error_shapes import ErrorShape
from vaecp.data.families import Floor, Logarithm, LogOdds, Transform
from vaecp.data.limits import Limits
from vaecp.data.prediction import Prediction
from vaecp.data.standardising import OwnUnits, Scaling, Standardiser
from vaecp.data.transformed import TransformedPrediction
from vaecp.models.vaecp.likelihoods.base import Likelihood, Working, refuse
from vaecp.models.vaecp.likelihoods.tails import tail_derivatives

if TYPE_CHECKING:
    from jax import Array

    from vaecp.models.vaecp.gradients.kernels import RowTables

LOG_2PI = 1.8378770664093453
LEAST_NOISE = 1e-12
DEGREES = 4.0


@dataclass(frozen=True, eq=False)
class Gaussian(Likelihood):
    """Real values with noise of one size; the decoder's outputs are the mean and the log-variance."""

    name: ClassVar[str] = "gaussian"
    words: ClassVar[str] = "real numbers"
    aliases: ClassVar[tuple[str, ...]] = ("normal", "real")
    has_residuals: ClassVar[bool] = True

    noise_variance: float = 1.0

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        return cls()

    def scaling(self, values: np.ndarray) -> Scaling:
        return Standardiser.of(values)

    def start(self, values: np.ndarray) -> float:
        return float(np.mean(values))

    @property
    def noise(self) -> float:
        return self.noise_variance

    def with_noise(self, noise: float) -> Self:
        return replace(self, noise_variance=max(float(noise), LEAST_NOISE))

    def working(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Working:
        return Working(values, np.full(len(values), 1 / max(self.noise_variance, LEAST_NOISE)))

    def eager(self, values: np.ndarray, mean: np.ndarray, share: float) -> Working:
        return Working(
            values, np.full(len(values), 1 / max(share * self.noise_variance, LEAST_NOISE))
        )

    def working_of_limits(
        self, limits: Limits, mean: np.ndarray, variance: np.ndarray, share: float = 1.0
    ) -> Working:
        scale = np.sqrt(max(share * self.noise_variance, LEAST_NOISE) + variance)
        slope, bend = tail_derivatives((limits.lower - mean) / scale, (limits.upper - mean) / scale)
        return Working(mean + scale * slope / bend, bend / scale**2)

    def learned(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Self:
        noise = float(np.mean((values - mean) ** 2 + variance))
        return replace(self, noise_variance=max(noise, LEAST_NOISE))

    def losses(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return squared errors: how large they are is learned later."""
        return (values - mean) ** 2

    def predict(
        self, mean: np.ndarray, noise: np.ndarray, ignorance: np.ndarray, shape: ErrorShape
    ) -> Prediction:
        return self.in_own_units(Prediction(mean, np.sqrt(noise), np.sqrt(ignorance), shape))

    def in_own_units(self, prediction: Prediction) -> Prediction:
        """Undo the transform of the values, where there is one."""
        return prediction

    def log_prob(self, outputs: tuple[Array, Array], values: Array) -> Array:
        import jax.numpy as jnp

        mean, log_variance = outputs
        return -0.5 * (LOG_2PI + log_variance + (values - mean) ** 2 * jnp.exp(-log_variance))

    def total(self, tables: RowTables, values: Array, weights: Array) -> Array:
        """Return the weighted sum, in one pass over the entries together with its gradients."""
        from vaecp.models.vaecp.gradients import kernels

        return kernels.log_likelihood(tables, values, weights)


@dataclass(frozen=True, eq=False)
class StudentT(Gaussian):
    """Real values with outliers, which then pull the fit little."""

    name: ClassVar[str] = "student-t"
    words: ClassVar[str] = "real numbers with outliers"
    aliases: ClassVar[tuple[str, ...]] = ("robust", "outliers", "t")

    def working(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Working:
        return Working(values, self._trust(values, mean, variance) / self.noise_variance)

    def eager(self, values: np.ndarray, mean: np.ndarray, share: float) -> Working:
        trust = self._trust(values, mean, np.zeros_like(mean))
        return Working(values, trust / max(share * self.noise_variance, LEAST_NOISE))

    def learned(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Self:
        trust = self._trust(values, mean, variance)
        noise = float(np.mean(trust * ((values - mean) ** 2 + variance)))
        return replace(self, noise_variance=max(noise, LEAST_NOISE))

    def losses(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return squared errors, those of outliers bounded."""
        squares = (values - mean) ** 2
        return np.minimum(squares, 25 * max(float(np.median(squares)) / 0.455, 1e-30))

    def _trust(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        squares = ((values - mean) ** 2 + variance) / self.noise_variance
        return (DEGREES + 1) / (DEGREES + squares)

    def log_prob(self, outputs: tuple[Array, Array], values: Array) -> Array:
        import jax.numpy as jnp
        from jax.scipy.special import gammaln

        mean, log_variance = outputs
        squares = (values - mean) ** 2 * jnp.exp(-log_variance) / DEGREES
        constant = (
            gammaln((DEGREES + 1) / 2) - gammaln(DEGREES / 2) - 0.5 * jnp.log(DEGREES * jnp.pi)
        )
        return constant - 0.5 * log_variance - 0.5 * (DEGREES + 1) * jnp.log1p(squares)

    def total(self, tables: RowTables, values: Array, weights: Array) -> Array:
        return Likelihood.total(self, tables, values, weights)


@dataclass(frozen=True, eq=False)
class Transformed(Gaussian):
    """Values that are real and have noise of one size after a transform."""

    transform: Transform = field(default_factory=lambda: Logarithm(0.0, 1.0))

    def scaling(self, values: np.ndarray) -> Scaling:
        return OwnUnits.of(values, self.transform)

    def in_own_units(self, prediction: Prediction) -> Prediction:
        return TransformedPrediction.of(prediction, self.transform)


def standardised(transform: Transform, values: np.ndarray) -> Transform:
    """Return the transform that takes these values to mean 0 and variance 1."""
    found = Standardiser.of(transform.forth(values))
    return replace(transform, location=found.location, scale=found.scale or 1.0)


@dataclass(frozen=True, eq=False)
class LogNormal(Transformed):
    """Positive values whose ratios mean something: money, concentrations."""

    name: ClassVar[str] = "log-normal"
    words: ClassVar[str] = "positive amounts"
    aliases: ClassVar[tuple[str, ...]] = ("lognormal", "positive", "amounts")

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        rule = "they are larger than 0; use 'non-negative' or 'gaussian' if 0 can occur"
        refuse(values, ~(values > 0), cls.name, rule)
        return cls(transform=standardised(Logarithm(0.0, 1.0), values))


@dataclass(frozen=True, eq=False)
class LogitNormal(Transformed):
    """Values between two bounds, 0 and 1 unless they are percentages."""

    name: ClassVar[str] = "logit-normal"
    words: ClassVar[str] = "shares between two bounds"
    aliases: ClassVar[tuple[str, ...]] = ("beta", "shares", "bounded", "proportions")

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        highest = 1.0 if values.max() <= 1 else 100.0
        rule = "they lie between 0 and 1, or 0 and 100"
        refuse(values, ~((values >= 0) & (values <= highest)), cls.name, rule)
        # Ends that are reached are moved out by a little less than the values are apart.
        inner = values[(values > 0) & (values < highest)]
        edge = min(inner.min(initial=highest / 2), highest - inner.max(initial=highest / 2)) / 2
        reached = values.min() <= 0 or values.max() >= highest
        out = edge if reached else 0.0
        found = LogOdds(0.0, 1.0, -out, highest + out)
        return cls(transform=standardised(found, values))


@dataclass(frozen=True, eq=False)
class NonNegative(Transformed):
    """Real values that are never below 0, such as spectra."""

    name: ClassVar[str] = "non-negative"
    words: ClassVar[str] = "real numbers from 0"
    aliases: ClassVar[tuple[str, ...]] = ("nonnegative", "spectra")

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        refuse(values, values < -0.05 * np.abs(values).max(), cls.name, "they are 0 or larger")
        return cls(transform=standardised(Floor(0.0, 1.0), values))
