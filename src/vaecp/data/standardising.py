"""From the units of the data to those in which a method learns, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vaecp.data.families import Transform
from vaecp.data.fields import NOT_NEGATIVE, NUMBER, check_fields


@dataclass(frozen=True, eq=False)
class Scaling(ABC):
    """How the values of a tensor are scaled before a fit, and predictions after it.

    Location and scale may differ from entry to entry, as they do after centring across a mode:
    so every method takes the (n, D) coordinates of the values, where -1 is a label not seen in
    training. Fields are arrays, tuples of them or plain numbers, so that any scaling can be
    written to a file.
    """

    uniform: ClassVar[bool] = False
    """Whether `location` and `scale` are those of every entry."""

    location: float
    """A typical value."""
    scale: float
    """A typical deviation from it; 0 marks constant values."""

    @property
    def support(self) -> tuple[float, float]:
        """Between which numbers the values of the data have to lie."""
        return -np.inf, np.inf

    def validate(self, shape: tuple[int, ...]) -> None:
        """Raise a ValueError if a field does not fit the others, or a tensor of this shape.

        Override it to say the sizes of arrays.
        """
        check_fields(self, shape, {"location": NUMBER, "scale": NOT_NEGATIVE})

    @abstractmethod
    def apply(self, values: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return values of the data in the units of the method."""

    @abstractmethod
    def invert(self, scaled: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return values in the units of the data; the last axis goes over the entries."""

    @abstractmethod
    def stretch(self, spreads: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return standard deviations or differences in the units of the data."""

    def grown(self, sources: Sequence[np.ndarray]) -> Scaling:
        """Return the scaling of a tensor with further rows.

        `sources` says per mode which old row each row is, -1 for a new one.
        """
        return self


@dataclass(frozen=True)
class Standardiser(Scaling):
    """One location and one scale: values = location + scale * standardised."""

    uniform: ClassVar[bool] = True

    @classmethod
    def of(cls, values: np.ndarray) -> Standardiser:
        """Measure mean and standard deviation in float64, whatever the offset."""
        values = np.asarray(values, dtype=np.float64)
        location = float(values.mean())
        centred = values - location
        # Squares of very large or very small values would leave the range of float64.
        unit = float(np.abs(centred).max()) or 1.0
        scale = unit * float(np.sqrt(np.mean((centred / unit) ** 2)))
        # Rounding leaves a spread of about one unit in the last place on constant values.
        rounding = 4 * np.finfo(np.float64).eps * abs(location)
        return cls(location, scale) if scale > rounding else cls(float(values[0]), 0.0)

    def apply(self, values: np.ndarray, indices: np.ndarray | None = None) -> np.ndarray:
        centred = np.asarray(values, dtype=np.float64) - self.location
        return centred / self.scale if self.scale else np.zeros_like(centred)

    def invert(self, scaled: np.ndarray, indices: np.ndarray | None = None) -> np.ndarray:
        return self.location + self.scale * np.asarray(scaled, dtype=np.float64)

    def stretch(self, spreads: np.ndarray, indices: np.ndarray | None = None) -> np.ndarray:
        return self.scale * np.asarray(spreads, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class OwnUnits(Scaling):
    """Predictions are in the units of the data already; a transform may come before the fit."""

    uniform: ClassVar[bool] = True

    transform: Transform | None = None

    @classmethod
    def of(cls, values: np.ndarray, transform: Transform | None = None) -> OwnUnits:
        """Keep a typical value and deviation, by which tables and axes are laid out."""
        usual = Standardiser.of(values)
        return cls(usual.location, usual.scale, transform)

    @property
    def support(self) -> tuple[float, float]:
        return super().support if self.transform is None else self.transform.support

    def apply(self, values: np.ndarray, indices: np.ndarray | None = None) -> np.ndarray:
        values = np.asarray(values, dtype=np.float64)
        return values if self.transform is None else self.transform(values)

    def invert(self, scaled: np.ndarray, indices: np.ndarray | None = None) -> np.ndarray:
        return np.asarray(scaled, dtype=np.float64)

    def stretch(self, spreads: np.ndarray, indices: np.ndarray | None = None) -> np.ndarray:
        return np.asarray(spreads, dtype=np.float64)
