"""What members that have not seen them say of held-out entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.sampling import parts_of
from vaecp.data.support import Support
from vaecp.models.vaecp.holdouts import Fold, units_of
from vaecp.models.vaecp.likelihoods import Likelihood
from vaecp.models.vaecp.members import Ensemble, Member
from vaecp.models.vaecp.stacking import Stack, learn_stack

N_PARTS = 5
REACH = 1.0
"""Predictions may leave the range of the observed values by this share of its width."""

MAX_LATENT = 30.0


@dataclass(frozen=True, eq=False)
class Trained:
    """A member as held-out entries met it, fold by fold.

    `finish` lets it learn from all entries: only members that are kept need that.
    """

    by_fold: tuple[Member, ...]
    finish: Callable[[], Member]


@dataclass(frozen=True, eq=False)
class Judgement:
    """Held-out entries of all folds, and what members say of them."""

    folds: tuple[Fold, ...]
    ensembles: tuple[Ensemble, ...]
    supports: tuple[Support, ...]
    features: np.ndarray
    means: np.ndarray  # (n, members)
    variances: np.ndarray  # of these means
    noises: np.ndarray  # (n, members): noise variances
    values: np.ndarray
    importance: np.ndarray
    units: np.ndarray  # which entries were held out together
    likelihood: Likelihood

    @classmethod
    def of(
        cls,
        folds: tuple[Fold, ...],
        trained: Sequence[Trained],
        whole: Support,
        likelihood: Likelihood,
    ) -> Judgement:
        """Let the members of every fold predict what was held out of it."""
        ensembles, supports, features, means, variances, noises = [], [], [], [], [], []
        for number, fold in enumerate(folds):
            ensemble = Ensemble.of(
                [each.by_fold[number] for each in trained],
                *range_of(fold.train, likelihood),
            )
            support = whole.among(fold.train.indices)
            features.append(support.features(fold.held_out.indices))
            found = ensemble.moments(fold.held_out.indices)
            means.append(found.mean)
            variances.append(found.variance)
            noises.append(found.noise)
            ensembles.append(ensemble)
            supports.append(support)
        kind = np.concatenate([fold.kind for fold in folds])
        values = np.concatenate([fold.held_out.values for fold in folds])
        found = np.concatenate(means)
        importance = np.concatenate([fold.importance for fold in folds])
        if likelihood.has_residuals:
            importance = importance / _difficulty(found, values, kind)
        return cls(
            folds,
            tuple(ensembles),
            tuple(supports),
            np.concatenate(features),
            found,
            np.concatenate(variances),
            np.concatenate(noises),
            values,
            importance,
            units_of(folds),
            likelihood,
        )

    def stack(self) -> Stack:
        """Learn how much each member counts."""
        return learn_stack(
            self.means,
            self.values,
            self.features,
            self.importance,
            self.units,
            likelihood=self.likelihood,
        )

    def blended(self, stack: Stack) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of each held-out entry by weights that did not see it, and ignorance.

        Ignorance is by the weights themselves, as it is of entries that are predicted later.
        """
        part = parts_of(self.units, N_PARTS)
        weights = np.empty_like(self.means)
        slopes = bool(np.any(stack.slopes))
        for out in range(N_PARTS):
            inside, outside = part != out, part == out
            if not inside.any() or not outside.any():
                weights[outside] = stack.weights(self.features[outside])
                continue
            found = learn_stack(
                self.means[inside],
                self.values[inside],
                self.features[inside],
                self.importance[inside],
                self.units[inside],
                likelihood=self.likelihood,
                slopes=slopes,
            )
            weights[outside] = found.weights(self.features[outside])
        honest = np.sum(weights * self.means, axis=1)
        weights = stack.weights(self.features)
        apart = (self.means - np.sum(weights * self.means, axis=1)[:, None]) ** 2
        return honest, np.sum(weights * (self.variances + apart), axis=1)

    def loss(self) -> float:
        """Return the mean loss of held-out entries under weights that did not see them."""
        mean, variance = self.blended(self.stack())
        losses = self.likelihood.losses(self.values, mean, variance)
        found = float(np.average(losses, weights=self.importance))
        return float(np.log(found + 1e-30)) if self.likelihood.has_residuals else 2 * found

    def gain_of_last(self, n_members: int) -> float:
        """Return by how much the loss falls when the last members take part."""
        usual = np.arange(self.means.shape[1]) < self.means.shape[1] - n_members
        return self.only(usual).loss() - self.loss()

    def only(self, kept: np.ndarray) -> Judgement:
        """Return the same for some of the members."""
        return replace(
            self,
            ensembles=tuple(ensemble.only(kept) for ensemble in self.ensembles),
            means=self.means[:, kept],
            variances=self.variances[:, kept],
            noises=self.noises[:, kept],
        )


def range_of(entries: Observations, likelihood: Likelihood) -> tuple[float, float]:
    """Return what predictions may not leave."""
    if not likelihood.has_residuals:
        return -MAX_LATENT, MAX_LATENT
    low, high = float(entries.values.min()), float(entries.values.max())
    room = REACH * (high - low)
    if entries.limits is not None:
        low, high = entries.limits.reach(low, high)
    return low - room, high + room


def _difficulty(means: np.ndarray, values: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Mean squared error of the best member in each kind of gap, for each held-out entry."""
    squares = (values[:, None] - means) ** 2
    found = np.empty(len(values))
    for number in np.unique(kind):
        here = kind == number
        found[here] = max(float(squares[here].mean(axis=0).min()), 1e-30)
    return found
