"""What sweeps learn: posteriors and priors of rows and effects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vaecp.models.vaecp.pairs import PairEffects


@dataclass(frozen=True, eq=False)
class Tables:
    """What is learned: posteriors and priors of rows and effects, and the level of the values.

    Tables have one row per row of any mode, modes one after the other, and R + D columns: the
    components, then the effects of each mode, which are 1 in the rows of the others.
    """

    mean: np.ndarray  # (rows, R + D)
    variance: np.ndarray  # (rows, R + D)
    second: np.ndarray  # (rows, R + D), or a triangle of (R + D)^2 where covariances are full
    prior_mean: np.ndarray  # (D, R + 1): the components, then the mode's own effect
    prior_variance: np.ndarray
    strength: np.ndarray  # (D, R + 1): how smooth, as a place in chains.STRENGTHS
    by_features: np.ndarray  # (rows, R + 1): what features of a row add to its prior mean
    ridge: np.ndarray  # (D, R + 1): prior variances of the weights of features
    level: float = 0.0
    pairs: PairEffects | None = None
