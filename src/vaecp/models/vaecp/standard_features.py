"""Features of support, standardised, and kept within what held-out entries have shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEAST_SCALE = 0.5
"""Logarithms of counts that differ by less than this differ by chance."""

ENDS = (0.02, 0.98)


@dataclass(frozen=True, eq=False)
class StandardFeatures:
    """From features to numbers of about unit size.

    Beyond the least and the largest that held-out entries had, nothing is known: features there
    count as those at the end.
    """

    centre: np.ndarray
    scale: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @classmethod
    def of(cls, features: np.ndarray) -> StandardFeatures:
        """Learn the range from the features of held-out entries."""
        lowest, highest = np.quantile(features, ENDS, axis=0)
        return cls(
            features.mean(axis=0),
            np.maximum(features.std(axis=0), LEAST_SCALE),
            lowest,
            highest,
        )

    @classmethod
    def plain(cls, n_features: int) -> StandardFeatures:
        """Leave features as they are."""
        none = np.zeros(n_features)
        return cls(none, none + 1, none - np.inf, none + np.inf)

    def __call__(self, features: np.ndarray) -> np.ndarray:
        return (np.clip(features, self.lowest, self.highest) - self.centre) / self.scale
