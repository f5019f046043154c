"""New rows of an ordered mode lie between their neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vaecp.data.support import Support
from vaecp.models.vaecp.neighbours import Correction

LEAST_FOR_GROWTH = 8
MOST_GROWTH = 4.0
"""Of a smooth curve: what a line misses grows with the square of the distance, its variance with the fourth
power. That of a random walk grows with the first."""


def positions(labels: np.ndarray) -> np.ndarray:
    """Return where labels lie along their mode: by their values, or by their order."""
    if labels.dtype.kind == "M":
        labels = labels.astype("datetime64[ns]").astype(np.int64)
    if labels.dtype.kind in "iuf" and np.all(np.diff(labels) > 0):
        return labels.astype(np.float64)
    return np.arange(len(labels), dtype=np.float64)


def interpolated(
    mean: np.ndarray, variance: np.ndarray, at: np.ndarray, known: np.ndarray, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in which those that are not known are read off the nearest known ones.

    How uncertain they are is measured: by how much known rows differ from the line through
    their neighbours, and how that grows where these are twice as far away; at the ends, by how much
    they differ from the next one, per distance. It is no more than `most`.
    """
    mean, variance = mean.copy(), variance.copy()
    places, wanted = np.flatnonzero(known), np.flatnonzero(~known)
    if len(places) < 3 or not len(wanted):
        return mean, variance
    x, rows, spreads = at[places], mean[places], variance[places]
    off_line, usual = _off_line(x, rows, 1), _gap(x[:-2], x[1:-1], x[2:]).mean()
    growth = np.ones(len(off_line))  # as of a random walk, where there are too few rows to tell
    if len(x) >= LEAST_FOR_GROWTH:
        ratio = np.maximum(_off_line(x, rows, 2), 1e-300) / np.maximum(off_line, 1e-300)
        growth = np.clip(np.log2(ratio), 0.0, MOST_GROWTH)
    per_step = np.mean(np.diff(rows, axis=0) ** 2, axis=0) / np.mean(np.diff(x))
    for row in wanted:
        right = int(np.searchsorted(x, at[row]))
        if 0 < right < len(x):
            share = (at[row] - x[right - 1]) / (x[right] - x[right - 1])
            mean[row] = (1 - share) * rows[right - 1] + share * rows[right]
            away = _off_line_at(x[right - 1], at[row], x[right], growth) / usual**growth
            found = off_line * away + np.maximum(spreads[right - 1], spreads[right])
        else:
            end = 0 if right == 0 else len(x) - 1
            mean[row] = rows[end]
            found = spreads[end] + per_step * abs(at[row] - x[end])
        variance[row] = np.where(most > 0, np.clip(found, 1e-12, most), 0.0)
    return mean, variance


def _gap(left: np.ndarray, middle: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return how far the middle is from both ends: the harmonic mean of the two distances."""
    return 2 * (middle - left) * (right - middle) / (right - left)


def _off_line_at(left: float, at: float, right: float, growth: np.ndarray) -> np.ndarray:
    """Return how the mean square off a line grows with the distances to its ends.

    Their harmonic mean for a random walk (a growth of 1), the square of their product for a smooth curve (4).
    Halfway it is the distance to the power of the growth.
    """
    both, apart, power = (at - left) * (right - at), right - left, np.sqrt(growth)
    return both**power * apart ** (growth - 2 * power) * 2 ** (2 * power - growth)


def _off_line(x: np.ndarray, rows: np.ndarray, step: int) -> np.ndarray:
    """Return the mean square by which rows differ from the line through those so many steps away."""
    left, middle, right = x[: -2 * step], x[step:-step], x[2 * step :]
    share = ((middle - left) / (right - left))[:, None]
    line = (1 - share) * rows[: -2 * step] + share * rows[2 * step :]
    return np.mean((rows[step:-step] - line) ** 2, axis=0)


def nearest_known(at: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return, for the row at each place, which of the known ones is nearest, counted among them."""
    places = at[known]
    right = np.clip(np.searchsorted(places, at), 1, max(len(places) - 1, 1))
    right = np.minimum(right, len(places) - 1)
    left = np.maximum(right - 1, 0)
    return np.where(at - places[left] <= places[right] - at, left, right)


@dataclass(frozen=True, eq=False)
class SupportOfNearest(Support):
    """What is known around a cell, a row without entries standing where the nearest one is."""

    nearest: tuple[np.ndarray, ...] = ()

    def features(self, indices: np.ndarray) -> np.ndarray:
        """Return the features of the nearest cells of known rows."""
        return super().features(stood_in(indices, self.nearest))


@dataclass(frozen=True, eq=False)
class CorrectionOfNearest(Correction):
    """A correction by residuals, a row without entries standing where the nearest one is."""

    nearest: tuple[np.ndarray, ...] = ()

    def at(self, indices: np.ndarray) -> np.ndarray:
        """Return what is added to the means of the nearest cells of known rows."""
        return super().at(stood_in(indices, self.nearest))


def stood_in(indices: np.ndarray, nearest: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the coordinates among known rows; -1 stays."""
    columns = [
        np.where(column < 0, -1, rows[column])
        for rows, column in zip(nearest, indices.T, strict=True)
    ]
    return np.stack(columns, axis=1)
