"""Predictions of entries of which limits are known: they lie within them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from vaecp.data.prediction import MIDPOINTS, Prediction

if TYPE_CHECKING:
    from vaecp.data.standardising import Scaling


@dataclass(frozen=True, eq=False)
class LimitedPrediction(Prediction):
    """Values that lie beyond one limit, the logarithm of their excess over it being normal.

    Attributes
    ----------
    lower, upper : (n,) limits of the values; infinite where there is none. Of values between two
        limits, `mean` and the spreads are those within them.
    log_excess, log_std : mean and standard deviation of log|value - limit| where there is one
        limit, else NaN.
    """

    lower: np.ndarray = None  # type: ignore[assignment]
    upper: np.ndarray = None  # type: ignore[assignment]
    log_excess: np.ndarray = None  # type: ignore[assignment]
    log_std: np.ndarray = None  # type: ignore[assignment]

    @classmethod
    def of(
        cls,
        plain: Prediction,
        lower: np.ndarray,
        upper: np.ndarray,
        log_excess: np.ndarray,
        log_std: np.ndarray,
    ) -> LimitedPrediction:
        """Take what is said of entries without limits, and the excess of the others.

        The mean leaves out the last quarter of a percent at either end, where a wide distribution
        of the logarithm means little.
        """
        beyond = np.flatnonzero(~np.isnan(log_excess))
        units = special.ndtri(MIDPOINTS)
        draws = np.exp(log_excess[beyond, None] + log_std[beyond, None] * units)
        mean, std = np.array(plain.mean), np.array(plain.std)
        found = cls(mean, std, std, plain.shape, lower, upper, log_excess, log_std)
        mean[beyond] = found._limit[beyond] + found._side[beyond] * draws.mean(axis=1)
        std[beyond] = draws.std(axis=1)
        noise = np.minimum(plain.noise_std, std)
        return replace(found, noise_std=noise, ignorance_std=np.sqrt(std**2 - noise**2))

    @property
    def limited(self) -> np.ndarray:
        """Which entries have a limit."""
        return np.isfinite(self.lower) | np.isfinite(self.upper)

    def quantile(self, probability: float) -> np.ndarray:
        return self._at(special.ndtri(probability), super().quantile(probability))

    def cdf(self, values: np.ndarray) -> np.ndarray:
        unit, inside = self._unit(values)
        own = np.where(inside, special.ndtr(self._side * unit), self._side < 0)
        return np.where(self._beyond, own, super().cdf(values))

    def log_density(self, values: np.ndarray) -> np.ndarray:
        unit, inside = self._unit(values)
        excess = np.where(inside, np.abs(values - self._limit), 1.0)
        own = -0.5 * unit**2 - np.log(self.log_std * excess) - 0.5 * np.log(2 * np.pi)
        own = np.where(inside, own, -np.inf)
        return np.where(self._beyond, own, super().log_density(values))

    def crps(self, values: np.ndarray) -> np.ndarray:
        """Beyond a limit, the mean over levels of the quantile score, doubled."""
        total = np.zeros(len(self))
        for level in MIDPOINTS[::4]:
            below = values - self.quantile(level)
            total += 2 * np.where(below >= 0, level * below, (level - 1) * below)
        return np.where(self._beyond, total / len(MIDPOINTS[::4]), super().crps(values))

    def sample(self, n: int, random: np.random.Generator) -> np.ndarray:
        plain = super().sample(n, random)
        return self._at(random.standard_normal((n, len(self))), plain)

    def in_units_of(self, scaling: Scaling, indices: np.ndarray) -> Prediction:
        factor = scaling.stretch(np.ones(len(self)), indices)
        return replace(
            super().in_units_of(scaling, indices),
            lower=scaling.invert(self.lower, indices),
            upper=scaling.invert(self.upper, indices),
            log_excess=self.log_excess + np.log(np.maximum(factor, 1e-300)),
        )

    @property
    def _beyond(self) -> np.ndarray:
        return ~np.isnan(self.log_excess)

    @property
    def _side(self) -> np.ndarray:
        """1 where values lie above their limit, -1 where they lie below it."""
        return np.where(np.isfinite(self.lower), 1.0, -1.0)

    @property
    def _limit(self) -> np.ndarray:
        return np.where(np.isfinite(self.lower), self.lower, self.upper)

    def _at(self, units: np.ndarray | float, plain: np.ndarray) -> np.ndarray:
        """Return values at standardised logarithms of the excess; else the plain ones, clipped."""
        excess = np.exp(self.log_excess + self.log_std * self._side * units)
        inside = np.clip(plain, self.lower, self.upper)
        return np.where(self._beyond, self._limit + self._side * excess, inside)

    def _unit(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return standardised logarithms of the excess, and whether there is any."""
        excess = self._side * (values - np.where(self._beyond, self._limit, 0.0))
        inside = excess > 0
        logarithm = np.log(np.where(inside, excess, 1.0))
        return (logarithm - self.log_excess) / self.log_std, inside
