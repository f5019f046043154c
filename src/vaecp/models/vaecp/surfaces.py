"""A smooth surface through scattered residuals: a Gaussian process over one or two ordered modes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from vaecp.models.vaecp.sweeps.chains import Chain

MOST_TO_LEARN, MOST_TO_USE = 300, 1_500
"""Entries by which lengths and noise are learned, and through which the surface goes."""
MOST_CELLS = 50_000
KEPT = 0.9999
"""Share of the squares of a surface that its columns keep."""


class Surface:
    """The process through values of unit variance at cells, (n, 1) or (n, 2) rows of the modes."""

    def __init__(self, chains: tuple[Chain, ...]) -> None:
        self.chains = chains
        lengths: Any = np.full(len(chains), 5.0)
        start = ConstantKernel(0.5) * RBF(lengths, (1.0, 200.0)) + WhiteKernel(0.5)
        self.process: Any = GaussianProcessRegressor(start)

    def learned(self, cells: np.ndarray, values: np.ndarray) -> Surface:
        """Learn how long waves are and how large the noise is, and go through the values."""
        some = _some(len(values), MOST_TO_LEARN)
        with warnings.catch_warnings():
            # A length at the end of its range, or a noise of 0, is an answer like others.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.process.fit(self._places(cells[some]), values[some])
        return self.through(cells, values)

    def through(self, cells: np.ndarray, values: np.ndarray) -> Surface:
        """Return a surface of the same kind through these values."""
        used = _some(len(values), MOST_TO_USE)
        found = Surface(self.chains)
        found.process.set_params(kernel=self.process.kernel_, optimizer=None)
        found.process.fit(self._places(cells[used]), values[used])
        return found

    def at(self, cells: np.ndarray) -> np.ndarray:
        """Return the surface at cells."""
        return self.process.predict(self._places(cells))

    def columns(self) -> tuple[np.ndarray, ...]:
        """Return tables per mode whose products add up to the surface on the whole grid."""
        sizes = [chain.n_rows for chain in self.chains]
        grid = np.indices(sizes).reshape(len(sizes), -1).T
        surface = self.at(grid).reshape(sizes)
        if len(sizes) == 1:
            return (surface[:, None],)
        left, strengths, right = np.linalg.svd(surface, full_matrices=False)
        share = np.cumsum(strengths**2) / max(float(np.sum(strengths**2)), 1e-300)
        kept = int(np.searchsorted(share, KEPT)) + 1
        roots = np.sqrt(strengths[:kept])
        return left[:, :kept] * roots, right[:kept].T * roots

    def _places(self, cells: np.ndarray) -> np.ndarray:
        along = [np.concatenate([[0.0], np.cumsum(chain.steps)]) for chain in self.chains]
        return np.stack([a[column] for a, column in zip(along, cells.T, strict=True)], axis=1)


def possible(chains: tuple[Chain | None, ...]) -> bool:
    """Whether the modes are one or two, all of them ordered, and their grid is not vast."""
    if not 1 <= len(chains) <= 2:
        return False
    sizes = [chain.n_rows for chain in chains if chain is not None]
    return len(sizes) == len(chains) and int(np.prod(sizes)) <= MOST_CELLS


def _some(n_entries: int, most: int) -> np.ndarray:
    if n_entries <= most:
        return np.arange(n_entries)
    return np.sort(np.random.default_rng(0).permutation(n_entries)[:most])
