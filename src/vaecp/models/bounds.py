"""How far the mean of an entry may lie outside the values that were observed.

Where whole fibres are missing, a row may be known only by entries in which some components are nearly
zero: the fit then divides by numbers near zero, and its predictions elsewhere can be hundreds of times
as large as any value. A prior on the rows does not prevent that where the noise is small: a few
entries that the model cannot explain outweigh it. The range of the values is a bound that always holds.

Values may really lie outside: peaks that a detector cut off are larger than anything observed. A method
that bounds its own means is believed further out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vaecp.data.fields import has_type
from vaecp.data.limited import LimitedPrediction
from vaecp.data.limits import Limits
from vaecp.data.prediction import LatentPrediction, Prediction
from vaecp.data.transformed import TransformedPrediction

REACH, SURE_REACH = 0.25, 1.0
"""Means are taken as they are up to this far outside the observed values, in widths of their range: of
most methods, and of those that bound their means by themselves."""

FEW = 30
"""Few values say little about their range: with this many it reaches as far again as it is wide."""

HUGE = 1e15
"""Its square is still a number in single precision."""


class Bounds(NamedTuple):
    """Where means are taken as they are, and what is known of the values as such.

    Beyond `low` and `high`, a mean has the less weight the further it lies outside. The rest of
    the weight goes to the mean of the values, with their standard deviation as ignorance.

    Attributes
    ----------
    reach : the distance from the observed values to `low` and `high`, and from there to where a
        mean has half the weight.
    mean, std : of the observed values.
    """

    low: float
    high: float
    reach: float
    mean: float
    std: float

    @classmethod
    def of(cls, values: np.ndarray, limits: Limits | None = None, widths: float = REACH) -> Bounds:
        """Return the bounds for predictions of a model that was fitted to these values."""
        least, most = float(values.min()), float(values.max())
        reach = (widths + FEW / len(values)) * (most - least)
        if limits is not None:
            least, most = limits.reach(least, most)
        return cls(least - reach, most + reach, reach, float(values.mean()), float(values.std()))

    def widened(self, values: np.ndarray, widths: float = REACH) -> Bounds:
        """Return the bounds after further values, of a model whose bounds were so many widths away."""
        if not len(values):
            return self
        least, most = self.low + self.reach, self.high - self.reach
        width = most - least
        n_before = FEW / max(self.reach / width - widths, 1e-9) if width else 1.0
        share = len(values) / (len(values) + n_before)
        mean = (1 - share) * self.mean + share * float(values.mean())
        square = (1 - share) * (self.std**2 + self.mean**2) + share * float(np.mean(values**2))
        least, most = min(least, float(values.min())), max(most, float(values.max()))
        reach = (widths + FEW / (len(values) + n_before)) * (most - least)
        std = float(np.sqrt(max(square - mean**2, 0.0)))
        return Bounds(least - reach, most + reach, reach, mean, std)

    def validate(self) -> None:
        """Raise a ValueError unless these are bounds."""
        if not has_type(tuple(self), tuple[float, ...]) or not np.isfinite(self).all():
            raise ValueError("bounds_ are not finite numbers")
        if not (self.low <= self.high and self.reach >= 0 and self.std >= 0):
            raise ValueError(f"bounds_ are {tuple(self)}, which bound nothing")

    def weight(self, means: np.ndarray) -> np.ndarray:
        """Return the weight of each mean, from 1 to 0."""
        excess = np.maximum(np.maximum(self.low - means, means - self.high), 0.0)
        if not self.reach:  # all values are equal
            return (excess == 0).astype(np.float64)
        return 1 / (1 + np.minimum(excess / self.reach, HUGE) ** 2)

    def bounded_means(self, means: np.ndarray) -> np.ndarray:
        """Return the means, those outside drawn to the mean of the values."""
        weight = self.weight(means)
        if (weight == 1).all():
            return means
        drawn = self.mean + weight * (np.clip(means, self.low, self.high) - self.mean)
        return np.where(weight == 1, means, drawn)

    def bounded(self, prediction: Prediction) -> Prediction:
        """Return the prediction with its means bounded, and as ignorant as that makes it.

        Ignorance has a bound too, half the width between `low` and `high`: the values are known
        to lie there. Of transformed values all this is about the transform, in whose units the
        model was fitted; values of a family keep to its support.
        """
        if isinstance(prediction, TransformedPrediction):
            inner = self.bounded(prediction.inner)
            unchanged = inner is prediction.inner
            return prediction if unchanged else type(prediction).of(inner, prediction.transform)
        outside = self.outside(prediction)
        if not outside.any():
            return prediction
        weight = self.weight(prediction.mean)
        own = np.minimum(prediction.ignorance_std, self.half_width)
        ignorance = np.sqrt(weight * own**2 + (1 - weight) * self.std**2)
        return replace(
            prediction,
            mean=np.where(outside, self.bounded_means(prediction.mean), prediction.mean),
            ignorance_std=np.where(outside, ignorance, prediction.ignorance_std),
        )

    def outside(self, prediction: Prediction) -> np.ndarray:
        """Return which entries are not taken as they are."""
        if isinstance(prediction, LatentPrediction):
            return np.zeros(len(prediction), dtype=bool)
        if isinstance(prediction, TransformedPrediction):
            prediction = prediction.inner
        outside = (self.weight(prediction.mean) < 1) | (prediction.ignorance_std > self.half_width)
        if isinstance(prediction, LimitedPrediction):  # its limits say where it lies
            outside &= ~prediction.limited
        return outside

    @property
    def half_width(self) -> float:
        return 0.5 * (self.high - self.low)
