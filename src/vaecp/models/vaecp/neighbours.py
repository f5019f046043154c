"""Residuals of neighbouring entries of an ordered mode are often alike.

The residuals at observed entries near the asked one, averaged over windows of several widths
along every ordered mode, are weighed by least squares on entries that the model did not see.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vaecp.data.cells import fibre_keys
from vaecp.data.sampling import parts_of

HALF_WIDTHS = (1, 2, 4, 8)
DAMPING = 0.3
"""Counts as so many neighbours without error: an average of few is drawn towards zero."""

RIDGE = 1e-3
N_FOLDS = 5
CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Errors of a model at observed entries, found by their place along the ordered modes."""

    indices: np.ndarray  # (n, D)
    errors: np.ndarray  # (n,)
    modes: tuple[int, ...]
    shape: tuple[int, ...]

    def features(self, indices: np.ndarray) -> np.ndarray:
        """Windowed averages (n, modes x widths) of the errors around entries.

        An entry is not its own neighbour, observed or not.
        """
        parts = [
            self._of_chunk(indices[first : first + CHUNK])
            for first in range(0, max(len(indices), 1), CHUNK)
        ]
        return np.concatenate(parts)

    def _of_chunk(self, indices: np.ndarray) -> np.ndarray:
        known = np.all(indices >= 0, axis=1)
        inside = np.where(known[:, None], indices, 0)
        averages = []
        for mode, fibres in zip(self.modes, self._fibres, strict=True):
            keys, row = fibre_keys(inside, self.shape, mode), inside[:, mode]
            own_total, own_count = fibres.between(keys, keys)
            for half_width in HALF_WIDTHS:
                first = keys - np.minimum(half_width, row)
                last = keys + np.minimum(half_width, self.shape[mode] - 1 - row)
                total, count = fibres.between(first, last)
                total, count = total - own_total, count - own_count
                averages.append(np.where(known, total / (count + DAMPING), 0.0))
        return np.stack(averages, axis=1)

    @cached_property
    def _fibres(self) -> list[_Fibres]:
        return [_Fibres.along(self.indices, self.errors, self.shape, mode) for mode in self.modes]


@dataclass(frozen=True, eq=False)
class _Fibres:
    """Entries sorted along one mode, with running sums: any window is two look-ups."""

    keys: np.ndarray
    running: np.ndarray  # (n + 1,)

    @classmethod
    def along(cls, indices: np.ndarray, errors: np.ndarray, shape: tuple[int, ...], mode: int):
        keys = fibre_keys(indices, shape, mode)
        order = np.argsort(keys)
        running = np.concatenate([[0.0], np.cumsum(errors[order], dtype=np.float64)])
        return cls(keys[order], running)

    def between(self, first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum and number of the errors with keys from `first` to `last`, inclusive."""
        low, high = np.searchsorted(self.keys, first), np.searchsorted(self.keys, last, "right")
        return self.running[high] - self.running[low], high - low


@dataclass(frozen=True, eq=False)
class Correction:
    """A correction of the mean by the residuals around an entry."""

    neighbourhood: Neighbourhood
    weights: np.ndarray  # of the windowed averages

    def at(self, indices: np.ndarray) -> np.ndarray:
        """Return what is added to the means of entries."""
        return self.neighbourhood.features(indices) @ self.weights


def weights_of(
    features: np.ndarray, errors: np.ndarray, importance: np.ndarray, units: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Weigh the averages by least squares; None where that does not clearly help.

    Clearly: the squared errors of held-out folds, which cut no unit, fall by more than their standard
    error. Returned with the weights are these errors, each by weights that did not see it.
    """
    if len(errors) < 10 * features.shape[1]:
        return None
    root = np.sqrt(importance / importance.mean())
    scaled, target = features * root[:, None], errors * root
    fold = parts_of(units, N_FOLDS)
    left = np.empty(len(errors))
    for out in range(N_FOLDS):
        weights = _ridge(scaled[fold != out], target[fold != out])
        left[fold == out] = errors[fold == out] - features[fold == out] @ weights
    unit = np.unique(units, return_inverse=True)[1]
    gain = np.bincount(unit, (root * errors) ** 2 - (root * left) ** 2)
    if gain.mean() <= gain.std() / np.sqrt(len(gain)):
        return None
    return _ridge(scaled, target), left


def _ridge(features: np.ndarray, errors: np.ndarray) -> np.ndarray:
    gram = features.T @ features
    penalty = RIDGE * np.trace(gram) / len(gram) + 1e-30
    return np.linalg.solve(gram + penalty * np.eye(len(gram)), features.T @ errors)
