"""Prior means of rows that are learned functions of their features (Macau's link matrix).

    u_jr  ~  Normal(m_r + z_j . b_r, v_r),        b_r  ~  Normal(0, t_r I)

z_j being the features of row j. Given the posteriors of rows, b_r has a closed form; v_r and the
ridge t_r are learned as well, so that features which say nothing count for nothing.

A network is the same with further features: units of a hidden layer with random weights, of which
the output weights b_r are learned (Huang, Zhu and Siew 2006).

References
----------
Simm, Arany, Zakeri, Haber, Wegner, Chupakhin, Ceulemans and Moreau (2017). Macau: scalable Bayesian
factorization with high-dimensional side information using MCMC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vaecp.models.vaecp.sweeps.chains import LITTLE, SMALLEST

N_UNITS = 100
STEEPNESS = 1.5
START_RIDGE = 0.1
"""Of the variance of rows, what features explain at the start."""


class LearnedPrior(NamedTuple):
    """What the rows of a mode say about their priors: per component, and per row of the mode."""

    centre: np.ndarray  # (R + 1,)
    by_features: np.ndarray  # (rows, R + 1)
    variance: np.ndarray  # (R + 1,)
    ridge: np.ndarray  # (R + 1,)


@dataclass(frozen=True, eq=False)
class Link:
    """The features of a mode, turned so that the normal equations of b_r are diagonal."""

    turned: np.ndarray  # (rows, F)
    squares: np.ndarray  # (F,): sums of squares over the rows with entries
    seen: np.ndarray  # (rows,): rows with entries

    @classmethod
    def of(cls, features: np.ndarray, seen: np.ndarray, *, network: bool) -> Link:
        """Arrange features; rows that nothing describes, as NaN, have the prior of all."""
        design = np.nan_to_num(features.astype(np.float64))
        if network:
            design = np.concatenate([design, _hidden(design)], axis=1)
            design[np.isnan(features).any(axis=1)] = 0.0
        _, sizes, turns = np.linalg.svd(design[seen], full_matrices=False)
        return cls(design @ turns.T, sizes**2, seen)

    def start(self, variance: np.ndarray) -> np.ndarray:
        """Return the ridge to begin with."""
        return (
            START_RIDGE * variance / max(float(self.squares.sum()) / max(self.seen.sum(), 1), 1e-12)
        )

    def learn(
        self, mean: np.ndarray, spread: np.ndarray, variance: np.ndarray, ridge: np.ndarray
    ) -> LearnedPrior:
        """Update from the posterior means and variances of rows: one step of each in turn."""
        rows, n_seen = self.turned[self.seen], int(self.seen.sum())
        centre = mean[self.seen].sum(axis=0) / (n_seen + 1)
        away = mean[self.seen] - centre
        certain = self.squares[:, None] / variance + 1 / ridge
        weights = (rows.T @ away) / variance / certain
        left = (away - rows @ weights) ** 2 + spread[self.seen]
        squares = left.sum(axis=0) + (self.squares[:, None] / certain).sum(axis=0)
        found = (squares + LITTLE) / (n_seen + LITTLE) + SMALLEST
        determined = np.sum(self.squares[:, None] / variance / certain, axis=0)
        ridge = (np.sum(weights**2, axis=0) + SMALLEST) / (determined + SMALLEST)
        return LearnedPrior(centre, self.turned @ weights, found, np.maximum(ridge, 1e-8 * found))


def _hidden(design: np.ndarray) -> np.ndarray:
    """Return the units of a hidden layer, centred; each looks at one feature or two.

    A unit turns over at the place of some row, so that none is idle.
    """
    random = np.random.default_rng(0)
    n_features, sizes = design.shape[1], np.maximum(design.std(axis=0), 1e-12)
    weights = np.zeros((n_features, N_UNITS))
    for unit in range(N_UNITS):
        chosen = random.choice(n_features, min(1 + unit % 2, n_features), replace=False)
        weights[chosen, unit] = STEEPNESS * random.standard_normal(len(chosen)) / sizes[chosen]
    turns = design[random.integers(len(design), size=N_UNITS)]
    units = np.tanh(design @ weights - np.sum(turns.T * weights, axis=0))
    units -= units.mean(axis=0)
    return units * np.sqrt(np.sum(sizes**2) / max(float(np.sum(units.var(axis=0))), 1e-12))
