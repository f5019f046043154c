"""Kernels between latent rows, and how a gradient passes back through them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.spatial.distance import cdist


class Kernel(ABC):
    """A covariance between the rows of one mode."""

    @abstractmethod
    def matrix(self, rows: np.ndarray) -> np.ndarray:
        """Return the covariance of every two rows."""

    @abstractmethod
    def across(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the covariance of every row on the left with every one on the right."""

    @abstractmethod
    def variances(self, rows: np.ndarray) -> np.ndarray:
        """Return the diagonal of the matrix."""

    @abstractmethod
    def pull_back(self, rows: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Turn a symmetric gradient in the matrix into one in the rows."""

    @abstractmethod
    def expected_variance(self, rank: int, row_variance: float) -> float:
        """Return the variance of a row drawn from the prior, averaged over the prior."""


class Linear(Kernel):
    """u'v: a Tucker model whose core is integrated out."""

    def matrix(self, rows: np.ndarray) -> np.ndarray:
        return rows @ rows.T

    def across(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return left @ right.T

    def variances(self, rows: np.ndarray) -> np.ndarray:
        return (rows**2).sum(1)

    def pull_back(self, rows: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return 2 * gradient @ rows

    def expected_variance(self, rank: int, row_variance: float) -> float:
        return rank * row_variance


class Stationary(Kernel):
    """A function of the squared distance, 1 at distance 0; the length scale is the rows' own."""

    @abstractmethod
    def profile(self, squared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the value and its derivative in the squared distance."""

    def matrix(self, rows: np.ndarray) -> np.ndarray:
        return self.profile(_squared_distances(rows))[0]

    def across(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return self.profile(cdist(left, right, "sqeuclidean"))[0]

    def variances(self, rows: np.ndarray) -> np.ndarray:
        return np.ones(len(rows))

    def pull_back(self, rows: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        weights = gradient * self.profile(_squared_distances(rows))[1]
        return 4 * (weights.sum(1)[:, None] * rows - weights @ rows)

    def expected_variance(self, rank: int, row_variance: float) -> float:
        return 1.0


class Rbf(Stationary):
    """exp(-d^2 / 2): endlessly smooth."""

    def profile(self, squared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value = np.exp(-0.5 * squared)
        return value, -0.5 * value


class Matern(Stationary):
    """The Matern kernel of smoothness 3/2: once differentiable."""

    def profile(self, squared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distance = np.sqrt(3 * squared)
        decay = np.exp(-distance)
        return (1 + distance) * decay, -1.5 * decay


KERNELS: dict[str, Kernel] = {"linear": Linear(), "rbf": Rbf(), "matern": Matern()}


def _squared_distances(rows: np.ndarray) -> np.ndarray:
    norms = (rows**2).sum(1)
    squared = np.maximum(norms[:, None] + norms - 2 * rows @ rows.T, 0.0)
    np.fill_diagonal(squared, 0.0)
    return squared
