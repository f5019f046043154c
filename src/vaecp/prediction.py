"""What a model says of entries: a value, how sure it is, and why it is not surer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from vaecp.observations import Standardiser


@dataclass(frozen=True, eq=False)
class Prediction:
    """The predictive distribution of each entry: a Student t around `mean`.

    Attributes
    ----------
    mean : the best guess of each value.
    noise_std : spread that would stay with endless data (measurement noise).
    ignorance_std : spread because the model is unsure of what it learned.
    degrees_of_freedom : of the Student t; infinite for a Gaussian. Small values mean that
        a few errors are far larger than the rest.
    """

    mean: np.ndarray
    noise_std: np.ndarray
    ignorance_std: np.ndarray
    degrees_of_freedom: float = np.inf

    @property
    def std(self) -> np.ndarray:
        """The total standard deviation."""
        return np.hypot(self.noise_std, self.ignorance_std)

    def __len__(self) -> int:
        return len(self.mean)

    def quantile(self, probability: float) -> np.ndarray:
        return self.mean + self._unit_scale() * self._unit.ppf(probability)

    def interval(self, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Return the central interval that holds a value with this probability."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage is {coverage}: use a number between 0 and 1, such as 0.9.")
        return self.quantile((1 - coverage) / 2), self.quantile((1 + coverage) / 2)

    def log_density(self, values: np.ndarray) -> np.ndarray:
        """Return the log of the predictive density at each observed value."""
        scale = self._unit_scale()
        return self._unit.logpdf((values - self.mean) / scale) - np.log(scale)

    def sample(self, n: int, random: np.random.Generator) -> np.ndarray:
        """Draw n values of each entry, every entry on its own: an (n, entries) array."""
        return self.mean + self._unit_scale() * self._unit.rvs((n, len(self)), random_state=random)

    def in_units_of(self, standardiser: Standardiser) -> Prediction:
        """Undo the standardising of the values that the model was fitted to."""
        return Prediction(
            standardiser.invert(self.mean),
            standardiser.scale * np.asarray(self.noise_std, dtype=np.float64),
            standardiser.scale * np.asarray(self.ignorance_std, dtype=np.float64),
            self.degrees_of_freedom,
        )

    @property
    def _unit(self) -> Any:
        finite = np.isfinite(self.degrees_of_freedom)
        return stats.t(self.degrees_of_freedom) if finite else stats.norm()

    def _unit_scale(self) -> np.ndarray:
        """A Student t of scale 1 has a standard deviation of sqrt(df / (df - 2))."""
        df = self.degrees_of_freedom
        return self.std * (np.sqrt((df - 2) / df) if np.isfinite(df) else 1.0)
