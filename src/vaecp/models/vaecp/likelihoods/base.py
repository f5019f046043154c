"""What a likelihood must answer: everything that depends on what kind of values there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from vaecp.data.error_shapes import ErrorShape
from vaecp.data.limits import Limits
from vaecp.data.prediction import Prediction
from vaecp.data.standardising import OwnUnits, Scaling
from vaecp.errors import ObservationError

if TYPE_CHECKING:
    from jax import Array

    from vaecp.models.vaecp.gradients.kernels import RowTables


class Working(NamedTuple):
    """What sweeps fit in place of the values: a number and a precision per entry."""

    values: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class Likelihood(ABC):
    """The distribution of a value, given a latent number that the members predict.

    A likelihood is immutable; `learned` returns one with better parameters of its own, such as the
    noise. Values are in the units of its `scaling`. Sweeps ask for a quadratic approximation of
    the log-density (`working`); training by gradients asks for the log-density itself, in JAX
    (`log_prob`), which a likelihood without it leaves to sweeps alone.
    """

    name: ClassVar[str] = ""
    words: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    has_residuals: ClassVar[bool] = False
    """Whether values less predictions are residuals, whose size and neighbours mean something."""

    def validate(self) -> None:
        """Raise a ValueError if parameters do not fit each other; their types are known."""
        return None

    # ---- the values --------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def of(cls, values: np.ndarray) -> Self:
        """Return a likelihood for these values, in the units of the data, to start from.

        Raises an `ObservationError` where they cannot be of this kind.
        """

    @classmethod
    def check(cls, values: np.ndarray) -> None:
        """Raise an `ObservationError` where further values, of rows that join, cannot be of this kind.

        Classes that were not seen, and what the scaling takes to no number, are refused without it.
        """
        return None

    def scaling(self, values: np.ndarray) -> Scaling:
        """Return how values are scaled before a fit; left as they are, unless overridden."""
        return OwnUnits.of(values)

    # ---- sweeps ------------------------------------------------------------------------

    @abstractmethod
    def start(self, values: np.ndarray) -> float:
        """Return the latent number that suits the mean of the values best."""

    @abstractmethod
    def working(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Working:
        """Approximate the expected log-density, latent numbers being Normal(mean, variance)."""

    def working_of_limits(
        self, limits: Limits, mean: np.ndarray, variance: np.ndarray, share: float = 1.0
    ) -> Working:
        """Approximate the log-probability of values to lie between their limits."""
        raise NotImplementedError(f"{self.name} values have no limits")

    @classmethod
    def takes_limits(cls) -> bool:
        """Whether entries can be used of which only a range is known."""
        return cls.working_of_limits is not Likelihood.working_of_limits

    def eager(self, values: np.ndarray, mean: np.ndarray, share: float) -> Working:
        """Return what fast sweeps fit, in which priors hold little back."""
        return self.working(values, mean, np.zeros_like(mean))

    def learned(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Self:
        """Return the likelihood with parameters that suit the values better."""
        return self

    def settled(self) -> Self:
        """Return the likelihood as further members share it, after a first one has learned it."""
        return self

    def trainers(self) -> tuple[Likelihood, ...]:
        """Return the likelihoods that members are trained by; their latent numbers mean the same."""
        return (self,)

    @abstractmethod
    def losses(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return the negative log-probability of held-out values; or what serves in its place."""

    def slope(self, values: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Return the derivative of the log-density with respect to the latent number."""
        working = self.working(values, mean, np.zeros_like(mean))
        return working.weights * (working.values - mean)

    @property
    def classes_of_values(self) -> np.ndarray | None:
        """The values that there can be, where these are few."""
        return None

    @property
    def noise(self) -> float:
        """The noise variance, where the latent number is the mean of a value."""
        return 0.0

    def with_noise(self, noise: float) -> Self:
        """Return the likelihood with this noise variance, where it has one."""
        return self

    # ---- predictions -------------------------------------------------------------------

    @abstractmethod
    def predict(
        self, mean: np.ndarray, noise: np.ndarray, ignorance: np.ndarray, shape: ErrorShape
    ) -> Prediction:
        """Return the distribution of values; `noise` and `ignorance` are variances."""

    def in_own_units(self, prediction: Prediction) -> Prediction:
        """Return what is said of values, of what is said of latent numbers; for those with limits."""
        raise NotImplementedError(f"{self.name} values have no limits")

    def calibrated(
        self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray, importance: np.ndarray
    ) -> Self:
        """Return the likelihood with parameters that suit held-out values."""
        return self

    # ---- gradients ---------------------------------------------------------------------

    def log_prob(self, outputs: tuple[Array, Array], values: Array) -> Array:
        """Return the log density of each value under the decoder's outputs, in JAX."""
        raise NotImplementedError(f"{self.name} values are fitted by sweeps alone")

    @property
    def has_gradients(self) -> bool:
        """Whether members can be trained by gradients."""
        return type(self).log_prob is not Likelihood.log_prob

    def total(self, tables: RowTables, values: Array, weights: Array) -> Array:
        """Return the weighted sum of the log densities of entries; a fused kernel may override."""
        from vaecp.models.vaecp.gradients import kernels

        return weights @ self.log_prob(kernels.decode(tables), values)


def refuse(values: np.ndarray, wrong: np.ndarray, name: str, rule: str) -> None:
    """Say which value is none of its kind."""
    if wrong.any():
        entry = int(np.argmax(wrong))
        raise ObservationError(
            f"the value {values[entry]:.6g} (entry {entry}) cannot be one of {name} values: {rule}."
        )
