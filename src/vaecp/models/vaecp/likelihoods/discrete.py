"""Yes or no, and ordered classes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from scipy import optimize, special

from vaecp.data.error_shapes import ErrorShape
from vaecp.data.families import Bernoulli as BernoulliFamily
from vaecp.data.families import Family
from vaecp.data.families import Ordinal as OrdinalFamily
from vaecp.data.prediction import LatentPrediction, Prediction, log_prob_under
from vaecp.errors import ObservationError
from vaecp.models.vaecp.likelihoods.base import Likelihood, Working, refuse

if TYPE_CHECKING:
    from jax import Array

EAGER = 0.3
"""In fast sweeps values count for more by the inverse of this: a start near 0 is no trap then."""
MAX_CLASSES = 21
FEW_NODES = 7
"""Enough to compare members by; predictions have more."""


@dataclass(frozen=True, eq=False)
class Discrete(Likelihood):
    """Values of a family with one latent parameter.

    `shift` and `stretch` take blended latent numbers to calibrated ones, and `widening` their
    standard deviations.
    """

    shift: float = 0.0
    stretch: float = 1.0
    widening: float = 1.0

    @property
    @abstractmethod
    def family(self) -> Family:
        """The distribution of values, given the latent parameter."""

    @property
    def classes_of_values(self) -> np.ndarray | None:
        return self.family.classes

    def eager(self, values: np.ndarray, mean: np.ndarray, share: float) -> Working:
        found = self.working(values, mean, np.zeros_like(mean))
        return Working(found.values, found.weights / (EAGER * share))

    def losses(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        found = log_prob_under(self.family, values, mean, np.sqrt(variance), FEW_NODES)
        return -np.maximum(found, -50.0)

    def predict(
        self, mean: np.ndarray, noise: np.ndarray, ignorance: np.ndarray, shape: ErrorShape
    ) -> Prediction:
        latent = self.shift + self.stretch * mean
        return LatentPrediction.of(latent, self.widening * np.sqrt(ignorance), self.family)

    def calibrated(
        self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray, importance: np.ndarray
    ) -> Self:
        """Find the parameters under which held-out values are most probable."""
        weights = importance / importance.sum()

        def loss(given: np.ndarray) -> float:
            latent = given[0] + self._stretch(given[1]) * mean
            std = np.exp(given[2]) * np.sqrt(variance)
            found = log_prob_under(self.family, values, latent, std, FEW_NODES)
            cost = -weights @ np.maximum(found, -50.0)
            return float(cost) + 0.5 * float(given @ given) * 4 / len(values)

        # The default simplex around 0 is so small that the search would end where it began.
        simplex = np.concatenate([np.zeros((1, 3)), 0.3 * np.eye(3)])
        options = {"maxiter": 90, "xatol": 1e-3, "fatol": 1e-6, "initial_simplex": simplex}
        found = optimize.minimize(loss, np.zeros(3), method="Nelder-Mead", options=options).x
        return replace(
            self,
            shift=float(found[0]),
            stretch=self._stretch(found[1]),
            widening=float(np.exp(found[2])),
        )

    def _stretch(self, logarithm: float) -> float:
        return float(np.exp(logarithm))


@dataclass(frozen=True, eq=False)
class Bernoulli(Discrete):
    """Yes (1) or no (0)."""

    name: ClassVar[str] = "bernoulli"
    words: ClassVar[str] = "yes or no"
    aliases: ClassVar[tuple[str, ...]] = ("binary", "yes-no", "boolean")

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        refuse(values, ~np.isin(values, (0.0, 1.0)), cls.name, "they are 0 or 1")
        if len(np.unique(values)) < 2:
            raise ObservationError(
                f"all values are {values[0]:g}: to tell yes from no, both must be among them."
            )
        return cls()

    @property
    def family(self) -> Family:
        return BernoulliFamily()

    def start(self, values: np.ndarray) -> float:
        return float(special.logit(np.clip(values.mean(), 1e-9, 1 - 1e-9)))

    def working(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Working:
        """Jaakkola and Jordan's bound (2000), which never overshoots."""
        weights = polya_gamma_mean(mean**2 + variance)
        return Working((values - 0.5) / weights, weights)

    def slope(self, values: np.ndarray, mean: np.ndarray) -> np.ndarray:
        return values - special.expit(mean)

    def log_prob(self, outputs: tuple[Array, Array], values: Array) -> Array:
        import jax

        return jax.nn.log_sigmoid((2 * values - 1) * outputs[0])


def polya_gamma_mean(square: np.ndarray) -> np.ndarray:
    """E[w] of a Polya-Gamma(1, c) variable, from c^2: tanh(c / 2) / (2 c)."""
    root = np.sqrt(np.maximum(square, 1e-12))
    return np.tanh(root / 2) / (2 * root)


@dataclass(frozen=True, eq=False)
class Ordinal(Discrete):
    """Ordered classes, such as stars: thresholds cut the latent numbers."""

    name: ClassVar[str] = "ordinal"
    words: ClassVar[str] = "ordered classes"
    aliases: ClassVar[tuple[str, ...]] = ("ratings", "stars", "classes", "levels")

    classes: np.ndarray = field(default_factory=lambda: np.arange(1.0, 6.0))
    thresholds: np.ndarray = field(default_factory=lambda: np.arange(4.0))
    is_settled: bool = False

    def validate(self) -> None:
        if len(self.classes) < 2 or len(self.thresholds) != len(self.classes) - 1:
            raise ValueError("likelihood.thresholds are not one fewer than likelihood.classes")
        if (np.diff(self.classes) <= 0).any() or (np.diff(self.thresholds) < 0).any():
            raise ValueError("likelihood.classes or likelihood.thresholds do not rise")

    def settled(self) -> Self:
        return replace(self, is_settled=True)

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        classes, counts = np.unique(values, return_counts=True)
        if not 2 <= len(classes) <= MAX_CLASSES:
            raise ObservationError(
                f"the values have {len(classes)} different levels: ordinal values have 2 to "
                f"{MAX_CLASSES}, such as 1 to 5 stars."
            )
        below = np.cumsum(counts)[:-1] / len(values)
        return cls(classes=classes.astype(np.float64), thresholds=special.logit(below))

    @property
    def family(self) -> Family:
        return OrdinalFamily(self.classes, self.thresholds)

    def start(self, values: np.ndarray) -> float:
        return 0.0

    def _ends(self, values: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of at most, and of less than, each value's class."""
        place = np.searchsorted(self.classes, values)
        ends = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        return special.expit(ends[place + 1] - mean), special.expit(ends[place] - mean)

    def working(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Working:
        """Bound both ends as Jaakkola and Jordan bound one, which never overshoots.

        With the thresholds a above and b below a class, its log-probability is
        log expit(a - latent) + log expit(latent - b) and what does not depend on the latent number.
        """
        place = np.searchsorted(self.classes, values)
        ends = np.concatenate([[np.nan], self.thresholds, [np.nan]])
        above, below = ends[place + 1], ends[place]
        upper, lower = (
            np.where(np.isnan(end), 0.0, polya_gamma_mean((end - mean) ** 2 + variance))
            for end in (above, below)
        )
        pull = upper * np.nan_to_num(above) + lower * np.nan_to_num(below)
        pull += 0.5 * np.isnan(above) - 0.5 * np.isnan(below)
        return Working(pull / (upper + lower), upper + lower)

    def slope(self, values: np.ndarray, mean: np.ndarray) -> np.ndarray:
        upper, lower = self._ends(values, mean)
        return upper + lower - 1

    def learned(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Self:
        """Return the thresholds under which the values are most probable.

        They are learned with row effects alone, and then kept: latent numbers of members that are
        to be blended must mean the same.
        """
        if self.is_settled:
            return self
        kept = np.linspace(0, len(values) - 1, min(len(values), 2_000)).astype(int)
        place, mean = np.searchsorted(self.classes, values[kept]), mean[kept]

        def loss(flat: np.ndarray) -> float:
            found = OrdinalFamily(self.classes, _rising(flat)).probabilities(mean)
            return -float(np.mean(np.log(found[np.arange(len(place)), place])))

        found = optimize.minimize(
            loss, _steps(self.thresholds), method="L-BFGS-B", options={"maxiter": 8}
        ).x
        return replace(self, thresholds=_rising(found))

    def calibrated(
        self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray, importance: np.ndarray
    ) -> Self:
        """Find the stretch and the thresholds, which members share and row effects set."""
        weights, std = importance / importance.sum(), np.sqrt(variance)
        start = np.append(_steps(self.thresholds), 0.0)

        def loss(flat: np.ndarray) -> float:
            family, stretch = OrdinalFamily(self.classes, _rising(flat[:-1])), np.exp(flat[-1])
            found = log_prob_under(family, values, stretch * mean, stretch * std, FEW_NODES)
            cost = -weights @ np.maximum(found, -50.0)
            return float(cost) + 0.5 * float(np.sum((flat - start) ** 2)) * 4 / len(values)

        found = optimize.minimize(loss, start, method="L-BFGS-B", options={"maxiter": 30}).x
        stretch = float(np.exp(found[-1]))
        return replace(self, thresholds=_rising(found[:-1]), stretch=stretch, widening=stretch)

    def log_prob(self, outputs: tuple[Array, Array], values: Array) -> Array:
        import jax.numpy as jnp
        from jax.nn import log_sigmoid

        place = jnp.searchsorted(jnp.asarray(self.classes, jnp.float32), values)
        ends = np.concatenate([[-100.0], self.thresholds, [100.0]])
        apart = jnp.asarray(np.log(-np.expm1(-np.diff(ends))), jnp.float32)
        ends = jnp.asarray(ends, jnp.float32)
        above, below = ends[place + 1] - outputs[0], outputs[0] - ends[place]
        return apart[place] + log_sigmoid(above) + log_sigmoid(below)


def _rising(flat: np.ndarray) -> np.ndarray:
    """Return thresholds from the first one and the logarithms of the steps."""
    return flat[0] + np.concatenate([[0.0], np.cumsum(np.exp(flat[1:]))])


def _steps(thresholds: np.ndarray) -> np.ndarray:
    return np.append(thresholds[:1], np.log(np.maximum(np.diff(thresholds), 1e-3)))
