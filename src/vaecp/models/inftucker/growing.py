"""New rows of a Gaussian process over entries: a latent vector, and then the formula of regression.

Given the tensor at known rows, the entries of a new row u are Gaussian. On the grid, with K the
kernel between the known rows of its mode and k that with u, their mean is a . F for a = K^-1 k, F
being the known slabs, and their covariance (k(u, u) - k . a) times the kernels of the other modes.
By entries, it is that of the exact process. The latent vector maximises the density of the new
entries times its prior; then the new row is conditioned on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from vaecp.models.inftucker.covariances import Kernel
from vaecp.models.inftucker.learning import entries_covariance

MOST_ENTRIES = 1_000
"""Entries of a new row from which it is learned; of more, so many are taken evenly."""
MOST_TO_SEARCH = 200
"""Entries by which its latent vector is sought."""
N_STARTS = 2
JITTER = 1e-4
"""Of the kernel's diagonal: rows that are nearly alike are told apart by no more than this."""
BLOCK = 2_000_000
STEPS = {"maxiter": 30}


class NewEntries(Protocol):
    """The entries of a row that joins, as what is known so far expects them."""

    def moments(self, row: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and covariance, noise included, of the entries at `places`."""
        ...


def some_of(entries: np.ndarray, most: int) -> np.ndarray:
    """Return at most so many entries, evenly spread."""
    if len(entries) <= most:
        return entries
    return entries[np.linspace(0, len(entries) - 1, most).astype(int)]


def latent_row(
    known: np.ndarray, values: np.ndarray, entries: NewEntries, sparsity: float
) -> np.ndarray:
    """Return the most probable latent vector, sought from the known ones that explain best."""
    places = some_of(np.arange(len(values)), MOST_TO_SEARCH)

    def loss(row: np.ndarray) -> float:
        mean, covariance = entries.moments(row, places)
        lower = cholesky(covariance, lower=True)
        left = solve_triangular(lower, values[places] - mean, lower=True)
        fit = 0.5 * float(left @ left) + float(np.log(np.diag(lower)).sum())
        return fit + sparsity * float(np.abs(row).sum())

    starts = sorted((loss(row), number) for number, row in enumerate(some_of(known, 50)))
    tried = [some_of(known, 50)[number] for _, number in starts[:N_STARTS]]
    found = [minimize(loss, start, method="L-BFGS-B", options=STEPS) for start in tried]
    return min(found, key=lambda each: each.fun).x


@dataclass(frozen=True, eq=False)
class OnGrid:
    """Entries of a new row of one mode, given the moments of the tensor at known rows.

    `cells` are the coordinates of the entries in the other modes; the mode itself is first in the
    grids.
    """

    kernel: Kernel
    known: np.ndarray
    others: tuple[np.ndarray, ...]  # latent rows of the other modes
    grid_mean: np.ndarray
    grid_variance: np.ndarray
    cells: np.ndarray
    signal: float
    noise: float

    def moments(self, row: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cells = self.cells[places]
        at = tuple(cells.T)
        share, own = self.shares(row)
        mean = np.tensordot(share, self.grid_mean[(slice(None), *at)], axes=1)
        spread = np.tensordot(share**2, self.grid_variance[(slice(None), *at)], axes=1)
        covariance = own * self.signal * self.between(cells, cells)
        return mean, covariance + np.diag(self.noise + spread)

    def shares(self, row: np.ndarray) -> tuple[np.ndarray, float]:
        """Return how much each known slab counts, and the part that the row has of its own."""
        kernel = self.kernel
        system = kernel.matrix(self.known) + JITTER * np.diag(kernel.variances(self.known) + 1e-12)
        near = kernel.across(row[None], self.known)[0]
        share = np.linalg.solve(system, near)
        own = float(kernel.variances(row[None])[0] - near @ share)
        return share, max(own, JITTER)

    def between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        kernels = [self.kernel.across(rows, rows) for rows in self.others]
        return entries_covariance(kernels, left, right)

    def slab(self, row: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of all entries of the row, given those that are known."""
        share, own = self.shares(row)
        mean, covariance = self.moments(row, np.arange(len(values)))
        lower = cholesky(covariance, lower=True)
        weights = cho_solve((lower, True), values - mean)
        slab_mean = np.tensordot(share, self.grid_mean, axes=1)
        slab_variance = np.tensordot(share**2, self.grid_variance, axes=1)
        sizes = slab_mean.shape
        step = max(BLOCK // len(values), 1)
        for first in range(0, slab_mean.size, step):
            flat = np.arange(first, min(first + step, slab_mean.size))
            cells = np.stack(np.unravel_index(flat, sizes), axis=1)
            across = own * self.signal * self.between(cells, self.cells)
            prior = own * self.signal * self._own_variance(cells)
            gained = np.sum(solve_triangular(lower, across.T, lower=True) ** 2, axis=0)
            slab_mean[tuple(cells.T)] += across @ weights
            slab_variance[tuple(cells.T)] += np.maximum(prior - gained, 0.0)
        return slab_mean, slab_variance

    def _own_variance(self, cells: np.ndarray) -> np.ndarray:
        found = np.ones(len(cells))
        for rows, column in zip(self.others, cells.T, strict=True):
            found *= self.kernel.variances(rows)[column]
        return found


@dataclass(frozen=True, eq=False)
class ByEntries:
    """Entries of a new row, given those of the fit: C^-1 y, and R with R'R = C^-1."""

    kernel: Kernel
    rows: tuple[np.ndarray, ...]
    mode: int
    entries: np.ndarray
    weights: np.ndarray
    root: np.ndarray
    cells: np.ndarray  # (n, D): coordinates; in the mode itself they do not count
    signal: float
    noise: float

    def moments(self, row: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        across, within = self._covariances(row, self.cells[places])
        turned = across @ self.root.T
        return across @ self.weights, within - turned @ turned.T

    def extended(self, row: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and root of the entries of the fit and these together."""
        across, within = self._covariances(row, self.cells)
        turned = across @ self.root.T
        lower = cholesky(within - turned @ turned.T, lower=True)
        fresh = cho_solve((lower, True), values - across @ self.weights)
        weights = np.concatenate([self.weights - self.root.T @ (turned.T @ fresh), fresh])
        inverse = solve_triangular(lower, np.eye(len(values)), lower=True)
        n_before, n_new = len(self.root), len(values)
        root = np.zeros((n_before + n_new, n_before + n_new))
        root[:n_before, :n_before] = self.root
        root[n_before:, :n_before] = -inverse @ turned @ self.root
        root[n_before:, n_before:] = inverse
        return weights, root

    def _covariances(self, row: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        across, within = (
            self.signal * each
            for each in (
                self._product(row, cells, self.entries, own=False),
                self._product(row, cells, cells, own=True),
            )
        )
        return across, within + self.noise * np.eye(len(cells))

    def _product(
        self, row: np.ndarray, left: np.ndarray, right: np.ndarray, *, own: bool
    ) -> np.ndarray:
        found = np.ones((len(left), len(right)))
        for mode, rows in enumerate(self.rows):
            if mode != self.mode:
                found *= self.kernel.across(rows[left[:, mode]], rows[right[:, mode]])
            elif own:
                found *= self.kernel.variances(row[None])[0]
            else:
                found *= self.kernel.across(row[None], rows[right[:, mode]])
        return found


def usable(cells: np.ndarray, mode: int, known: Sequence[np.ndarray]) -> np.ndarray:
    """Return which entries have known rows in all modes but one."""
    others = [rows[cells[:, m]] for m, rows in enumerate(known) if m != mode]
    return np.all(others, axis=0)
