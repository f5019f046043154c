"""The held-out entries of all folds, and what they say of members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vaecp.models.vaecp.holdouts import Fold, units_of
from vaecp.models.vaecp.likelihoods import Likelihood

WINSOR = 0.995
"""Losses above this quantile count as the next largest ones."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The held-out entries of all folds, and what they say of members."""

    values: np.ndarray
    kind: np.ndarray
    importance: np.ndarray
    unit: np.ndarray

    @classmethod
    def of(cls, folds: Sequence[Fold]) -> HeldOut:
        """Put the folds one after the other."""
        return cls(
            np.concatenate([fold.held_out.values for fold in folds]),
            np.concatenate([fold.kind for fold in folds]),
            np.concatenate([fold.importance for fold in folds]),
            units_of(folds),
        )

    @property
    def together(self) -> float:
        """The share of importance of entries that were held out together with others.

        Scattered cells, the last kind, are not, however often they were measured.
        """
        _, place, sizes = np.unique(self.unit, return_inverse=True, return_counts=True)
        together = (sizes[place] > 1) & (self.kind != self.kind.max())
        return float(self.importance[together].sum() / self.importance.sum())

    def loss(self, likelihood: Likelihood, means: np.ndarray, variances: np.ndarray) -> float:
        """Mean loss by kind of gap, averaged; of squared errors, their logarithms.

        As logarithms, so that a kind of gap that is hard for every member does not drown the others;
        the few largest errors count as the next largest ones.
        """
        return self._loss(likelihood, means, variances)[0]

    def doubt(
        self,
        likelihood: Likelihood,
        first: tuple[np.ndarray, np.ndarray],
        second: tuple[np.ndarray, np.ndarray],
    ) -> float:
        """Return the standard error of the difference of two losses: other units would tell other ones."""
        apart = self._loss(likelihood, *first)[1] - self._loss(likelihood, *second)[1]
        total = 0.0
        for number in np.unique(self.kind):
            here = self.kind == number
            share = self.importance[here].sum() / self.importance.sum()
            moves = np.bincount(np.unique(self.unit[here], return_inverse=True)[1], apart[here])
            n_units = len(moves)
            # One unit cannot differ from itself: its loss is taken to be off by as much as it is.
            alone = np.sum(moves**2) * n_units / (n_units - 1) if n_units > 1 else 2 * share**2
            total += float(alone)
        return total**0.5

    def _loss(
        self, likelihood: Likelihood, means: np.ndarray, variances: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return the loss, and by how much each entry moves it away from what others say."""
        losses = likelihood.losses(self.values, means, variances)
        moves, total, weight = np.empty_like(losses), 0.0, self.importance.sum()
        for number in np.unique(self.kind):
            here = self.kind == number
            importance = self.importance[here] / weight
            share, capped = (
                importance.sum(),
                np.minimum(losses[here], np.quantile(losses[here], WINSOR)),
            )
            mean = float(importance @ capped) / share
            logs = likelihood.has_residuals
            total += share * (np.log(mean + 1e-30) if logs else 2 * mean)
            moves[here] = importance * (capped - mean) * (1 / (mean + 1e-30) if logs else 2)
        return total, moves
