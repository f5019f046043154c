"""Entries worth a look: gaps that the model knows least, and values that it did not expect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.show.report.grid import Grid

N_LISTED = 12
MAX_CANDIDATES = 200_000
SURPRISE = 3.0
"""Standard deviations from which a value counts as surprising."""


@dataclass(frozen=True, eq=False)
class Notable:
    """A short list of entries, the most notable first.

    Attributes
    ----------
    indices : (n, D) coordinates.
    values : what was observed, NaN at gaps.
    prediction : of these entries.
    n_candidates : among how many they were found.
    n_beyond : how many of those lie more than `SURPRISE` standard deviations off.
    """

    indices: np.ndarray
    values: np.ndarray
    prediction: Prediction
    n_candidates: int
    n_beyond: int = 0

    def __len__(self) -> int:
        return len(self.indices)


def most_uncertain(grid: Grid) -> Notable:
    """Return the filled entries of the widest standard deviation among those in the page."""
    gaps = np.arange(grid.n_cells) if grid.given is None else np.flatnonzero(np.isnan(grid.given))
    widest = gaps[np.argsort(-grid.prediction.std[gaps], kind="stable")[:N_LISTED]]
    return Notable(
        grid.indices[widest],
        np.full(len(widest), np.nan),
        grid.prediction.take(widest),
        len(gaps),
    )


def most_surprising(observations: Observations, grid: Grid) -> Notable:
    """Return the observed values that lie farthest from the fit, in standard deviations."""
    if grid.is_whole and grid.given is not None:
        known = np.flatnonzero(~np.isnan(grid.given))
        indices, values = grid.indices[known], grid.given[known]
        prediction = grid.prediction.take(known)
    else:
        rows = _sample(len(observations))
        indices, values = observations.indices[rows], observations.values[rows]
        prediction = grid.at(indices)
    # A model without any spread is surprised by every deviation alike.
    spread = np.where(prediction.std > 0, prediction.std, np.inf)
    off = np.abs(values - prediction.mean) / spread
    first = np.argsort(-off, kind="stable")[:N_LISTED]
    return Notable(
        indices[first],
        values[first],
        prediction.take(first),
        len(values),
        int((off > SURPRISE).sum()),
    )


def _sample(n: int) -> np.ndarray:
    if n <= MAX_CANDIDATES:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MAX_CANDIDATES, replace=False))
