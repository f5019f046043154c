"""What a model says of entries: a value, how sure it is, and why it is not surer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vaecp.error_shapes import GAUSSIAN_ERRORS, ErrorShape
from vaecp.observations import Standardiser


@dataclass(frozen=True, eq=False)
class Prediction:
    """The predictive distribution of each entry: `mean`, a spread, and a shape.

    Attributes
    ----------
    mean : the best guess of each value.
    noise_std : spread that would stay with endless data (measurement noise).
    ignorance_std : spread because the model is unsure of what it learned.
    shape : how errors are distributed relative to `std`, Gaussian unless told otherwise.
    """

    mean: np.ndarray
    noise_std: np.ndarray
    ignorance_std: np.ndarray
    shape: ErrorShape = GAUSSIAN_ERRORS

    @property
    def std(self) -> np.ndarray:
        """The total standard deviation."""
        return np.hypot(self.noise_std, self.ignorance_std)

    def __len__(self) -> int:
        return len(self.mean)

    def quantile(self, probability: float) -> np.ndarray:
        return self.mean + self.std * self.shape.quantile(probability)

    def interval(self, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Return the central interval that holds a value with this probability."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage is {coverage}: use a number between 0 and 1, such as 0.9.")
        return self.quantile((1 - coverage) / 2), self.quantile((1 + coverage) / 2)

    def log_density(self, values: np.ndarray) -> np.ndarray:
        """Return the log of the predictive density at each observed value."""
        return self.shape.log_density((values - self.mean) / self.std) - np.log(self.std)

    def sample(self, n: int, random: np.random.Generator) -> np.ndarray:
        """Draw n values of each entry, every entry on its own: an (n, entries) array."""
        return self.mean + self.std * self.shape.sample((n, len(self)), random)

    def in_units_of(self, standardiser: Standardiser) -> Prediction:
        """Undo the standardising of the values that the model was fitted to."""
        return Prediction(
            standardiser.invert(self.mean),
            standardiser.scale * np.asarray(self.noise_std, dtype=np.float64),
            standardiser.scale * np.asarray(self.ignorance_std, dtype=np.float64),
            self.shape,
        )
