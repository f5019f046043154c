"""The prior of an ordered mode: rows vary smoothly from one label to the next.

The rows of component r are a Gaussian chain with mean m_r and precision

    n(t_r) / v_r * (I + t_r L)^2,

L being the Laplacian of the path through the labels. At t_r = 0 the rows are independent with
variance v_r; as t_r grows, rough rows become improbable. n(t) keeps the average variance of a row
at v_r. The precision has two diagonals on either side, so whole chains are solved at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from vaecp.models.vaecp.sweeps.paths import add_up_squares, fill_precision

STRENGTHS = np.concatenate([[0.0], np.geomspace(0.05, 1e5, 64)])
"""Candidates for t."""

START = 30
"""Place in STRENGTHS at which learning begins: moderately smooth."""

MAX_UNEVEN = 4096
"""Up to so many rows the spacing of labels counts; of more, labels are taken as evenly spaced."""


@dataclass(frozen=True, eq=False)
class Bands:
    """A symmetric matrix per component with two diagonals on either side: (rows, components)."""

    diagonal: np.ndarray
    one_off: np.ndarray
    two_off: np.ndarray


@dataclass(frozen=True, eq=False)
class Chain:
    """The path through the rows of a mode.

    Attributes
    ----------
    steps : (rows - 1,) distances between neighbouring labels; their average is 1.
    """

    steps: np.ndarray

    @classmethod
    def through(cls, labels: np.ndarray | None, n_rows: int) -> Chain:
        """Space rows as their labels are, where these are numbers or times."""
        even = np.ones(max(n_rows - 1, 0))
        if labels is None or n_rows > MAX_UNEVEN or n_rows < 3:
            return cls(even)
        if labels.dtype.kind == "M":
            labels = labels.astype("datetime64[ns]").astype(np.int64)
        if labels.dtype.kind not in "iuf":
            return cls(even)
        steps = np.diff(labels.astype(np.float64))
        if not (np.isfinite(steps).all() and (steps > 0).all()):
            return cls(even)
        # A pause of months among daily readings is a long step, not an endless one.
        steps = np.clip(steps / np.median(steps), 0.1, 30.0)
        return cls(steps / steps.mean())

    @property
    def n_rows(self) -> int:
        return len(self.steps) + 1

    @cached_property
    def laplacian(self) -> Bands:
        """L, as (rows, 1) diagonals."""
        pull = 1 / self.steps
        diagonal = np.zeros(self.n_rows)
        diagonal[:-1] += pull
        diagonal[1:] += pull
        return Bands(diagonal[:, None], np.append(-pull, 0.0)[:, None], np.zeros((self.n_rows, 1)))

    @cached_property
    def squared(self) -> Bands:
        """L^2, as (rows, 1) diagonals."""
        diagonal, one_off = self.laplacian.diagonal[:, 0], self.laplacian.one_off[:, 0]
        square = diagonal**2 + one_off**2
        square[1:] += one_off[:-1] ** 2
        next_diagonal, next_off = np.append(diagonal[1:], 0.0), np.append(one_off[1:], 0.0)
        return Bands(
            square[:, None],
            (one_off * (diagonal + next_diagonal))[:, None],
            (one_off * next_off)[:, None],
        )

    @cached_property
    def _path(self) -> tuple[np.ndarray, ...]:
        """The diagonals of L, and those of L^2."""
        once, twice = self.laplacian, self.squared
        found = once.diagonal, once.one_off, twice.diagonal, twice.one_off, twice.two_off
        return tuple(np.ascontiguousarray(each[:, 0]) for each in found)

    @cached_property
    def _eigenvalues(self) -> np.ndarray:
        n_rows = self.n_rows
        if n_rows > MAX_UNEVEN or np.all(self.steps == 1):
            return 2 - 2 * np.cos(np.pi * np.arange(n_rows) / n_rows)
        bands = self.laplacian
        found = eigvalsh_tridiagonal(bands.diagonal[:, 0], bands.one_off[:-1, 0])
        return np.maximum(found, 0.0)

    @cached_property
    def norms(self) -> np.ndarray:
        """n(t) of every candidate."""
        return np.mean((1 + STRENGTHS[:, None] * self._eigenvalues) ** -2.0, axis=1)

    @cached_property
    def log_determinants(self) -> np.ndarray:
        """Log-determinant of n(t) (I + t L)^2 of every candidate."""
        roots = np.log1p(STRENGTHS[:, None] * self._eigenvalues).sum(axis=1)
        return 2 * roots + self.n_rows * np.log(self.norms)

    def precision(self, variance: np.ndarray, strength: np.ndarray) -> Bands:
        """Return the prior precision of components of these variances and places in STRENGTHS."""
        found = Bands(*np.empty((3, self.n_rows, len(variance))))
        t, size = STRENGTHS[strength], self.norms[strength] / variance
        fill_precision(t, size, *self._path, found.diagonal, found.one_off, found.two_off)
        return found

    def learn(self, centred: np.ndarray, covariance: Bands) -> tuple[np.ndarray, np.ndarray]:
        """Return the variance and the strength that make posteriors of rows most probable.

        `centred` are the posterior means less the prior's, `covariance` what lies within the band
        of the posterior covariances.
        """
        squares = np.empty((len(STRENGTHS), centred.shape[1]))
        bands = covariance.diagonal, covariance.one_off, covariance.two_off
        add_up_squares(centred, *bands, *self._path, STRENGTHS, self.norms, squares)
        variance = (squares + LITTLE) / (self.n_rows + LITTLE) + SMALLEST
        cost = self.n_rows * np.log(variance) - self.log_determinants[:, None] + squares / variance
        best = np.argmin(cost, axis=0)
        return variance[best, np.arange(centred.shape[1])], best


LITTLE = 1e-3
"""A made-up observation, which keeps learned variances away from 0 and infinity."""

SMALLEST = 1e-10
