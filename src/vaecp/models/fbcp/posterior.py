"""The mean-field posterior of Bayesian CP: its updates and its evidence bound.

Symbols follow Zhao, Zhang and Cichocki (2015): rows a ~ N(0, diag(lambda)^-1), values
y ~ N(sum_r prod_d a^d_r, 1/tau), lambda and tau with Gamma priors. Every update maximises
the bound over one factor of q while the others stay, so the bound can only rise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from vaecp.models.multilinear.fibres import FibreSums

PRIOR_SHAPE = 1e-6
PRIOR_RATE = 1e-6

NOISE_FLOOR = 1e-10
"""Prior variance of the noise (values have variance 1): double precision sees no less."""


@dataclass(frozen=True)
class Gamma:
    """Independent Gamma distributions; `shape` and `rate` are numbers or arrays."""

    shape: float
    rate: Any
    prior_rate: float = PRIOR_RATE

    @property
    def mean(self) -> Any:
        return self.shape / self.rate

    @property
    def mean_log(self) -> Any:
        return digamma(self.shape) - np.log(self.rate)

    def divergence(self) -> Any:
        """Return the KL divergence from the prior."""
        return (
            (self.shape - PRIOR_SHAPE) * digamma(self.shape)
            - gammaln(self.shape)
            + gammaln(PRIOR_SHAPE)
            + PRIOR_SHAPE * (np.log(self.rate) - np.log(self.prior_rate))
            + self.shape * (self.prior_rate - self.rate) / self.rate
        )


@dataclass(frozen=True, eq=False)
class RowPosteriors:
    """The Gaussian posterior of the rows of one mode."""

    means: np.ndarray
    covariances: np.ndarray
    log_determinants: np.ndarray
    """Sum over the rows of log det of their covariance."""
    precision_diagonals: np.ndarray

    @property
    def seconds(self) -> np.ndarray:
        """E[a a'] of every row, the upper triangle in one line."""
        upper = np.triu_indices(self.means.shape[1])
        return (
            self.means[:, upper[0]] * self.means[:, upper[1]]
            + self.covariances[:, upper[0], upper[1]]
        )

    @property
    def squares(self) -> np.ndarray:
        """Sum over the rows of E[a_r^2]."""
        return (self.means**2).sum(0) + np.einsum("jrr->r", self.covariances)


@dataclass(frozen=True, eq=False)
class Posterior:
    """q(rows) q(lambda) q(tau), and what the bound needs of the data under it."""

    rows: tuple[RowPosteriors, ...]
    component_precision: Gamma
    noise_precision: Gamma
    residual: float
    """E_q of the sum of squared residuals."""
    residual_without: np.ndarray
    """The same after leaving out one component, for each of them."""
    n_entries: int

    @property
    def rank(self) -> int:
        return self.rows[0].means.shape[1]

    @property
    def bound(self) -> float:
        """The evidence lower bound, constants included."""
        likelihood = _log_likelihood(self.residual, self.noise_precision, self.n_entries)
        divergence = 0.5 * np.sum(self._scaled_squares())
        divergence -= 0.5 * sum(np.sum(rows.log_determinants) for rows in self.rows)
        divergence += np.sum(self.component_precision.divergence())
        return float(likelihood - divergence)

    @property
    def removal_gains(self) -> np.ndarray:
        """How much the bound rises when one component is left out, for each of them.

        The other components keep their marginal posterior, and the noise precision moves to
        its new optimum. Dropping component r multiplies det V by its precision P_rr.
        """
        noise = noise_precision(self.residual_without, self.n_entries)
        gains = _log_likelihood(self.residual_without, noise, self.n_entries)
        gains -= _log_likelihood(self.residual, self.noise_precision, self.n_entries)
        gains += self.component_precision.divergence() + 0.5 * self._scaled_squares()
        return gains + 0.5 * sum(np.log(rows.precision_diagonals).sum(0) for rows in self.rows)

    def _scaled_squares(self) -> np.ndarray:
        """Per component, sum over rows of E[lambda a^2 - log lambda] - 1."""
        weights = self.component_precision
        n_rows = sum(len(rows.means) for rows in self.rows)
        squares = np.sum([rows.squares for rows in self.rows], axis=0)
        return weights.mean * squares - n_rows * (weights.mean_log + 1)


def _log_likelihood(residual: Any, noise: Gamma, n_entries: int) -> Any:
    """E_q of the log-likelihood, less the divergence of q(tau) from its prior."""
    log_likelihood = 0.5 * n_entries * (noise.mean_log - np.log(2 * np.pi))
    return log_likelihood - 0.5 * noise.mean * residual - noise.divergence()


def sweep(posterior: Posterior, sums: Sequence[FibreSums], sum_of_squares: float) -> Posterior:
    """Update the rows of every mode, then the precisions, each at the bound's maximum."""
    for mode in range(len(sums)):
        posterior = update_rows(posterior, mode, sums[mode], sum_of_squares)
    return replace(
        posterior,
        component_precision=component_precision(posterior.rows),
        noise_precision=noise_precision(posterior.residual, posterior.n_entries),
    )


def update_rows(
    posterior: Posterior, mode: int, sums: FibreSums, sum_of_squares: float
) -> Posterior:
    """Update the rows of one mode (their equations 8 and 9), and the residual with them."""
    tables = [rows.means for rows in posterior.rows]
    projected = sums.total(tables)
    gram = unpacked(sums.count([rows.seconds for rows in posterior.rows]))
    noise, weights = posterior.noise_precision.mean, posterior.component_precision.mean
    rows = gaussian_rows(noise * gram + np.diag(weights), noise * projected)
    linear = 2 * np.sum(rows.means * projected, axis=0)
    products = rows.means[:, :, None] * rows.means[:, None, :] + rows.covariances
    quadratic = np.sum(gram * products, axis=0)
    residual = sum_of_squares - linear.sum() + quadratic.sum()
    without = residual + linear - 2 * quadratic.sum(1) + np.diag(quadratic)
    everything = tuple(rows if other == mode else old for other, old in enumerate(posterior.rows))
    return replace(posterior, rows=everything, residual=residual, residual_without=without)


def without_component(posterior: Posterior, component: int) -> Posterior:
    """Leave out one component; the others keep their marginal posterior.

    What was measured on the data (the residuals) holds again after the next sweep.
    """
    keep = np.arange(posterior.rank) != component
    rows = tuple(
        RowPosteriors(
            mode.means[:, keep],
            mode.covariances[:, keep][:, :, keep],
            mode.log_determinants + np.log(mode.precision_diagonals[:, component]),
            mode.precision_diagonals[:, keep],
        )
        for mode in posterior.rows
    )
    weights = posterior.component_precision
    return replace(
        posterior,
        rows=rows,
        component_precision=replace(weights, rate=weights.rate[keep]),
        noise_precision=noise_precision(posterior.residual_without[component], posterior.n_entries),
        residual=posterior.residual_without[component],
        residual_without=np.full(posterior.rank - 1, np.nan),
    )


def gaussian_rows(precisions: np.ndarray, shifts: np.ndarray) -> RowPosteriors:
    """Return the Gaussians with these natural parameters, one per row."""
    diagonals = np.einsum("jrr->jr", precisions).copy()
    # Components live on scales far apart; with a unit diagonal the inverse keeps its digits.
    scale = 1 / np.sqrt(diagonals)
    unit = precisions * scale[:, :, None] * scale[:, None, :]
    lower = np.linalg.cholesky(unit)
    log_determinants = 2 * np.log(scale).sum(1)
    log_determinants -= 2 * np.log(np.einsum("jrr->jr", lower)).sum(1)
    covariances = np.linalg.inv(unit) * scale[:, :, None] * scale[:, None, :]
    means = np.einsum("jrs,js->jr", covariances, shifts)
    return RowPosteriors(means, covariances, log_determinants, diagonals)


def component_precision(rows: Sequence[RowPosteriors]) -> Gamma:
    """Update q(lambda) (their equations 12 and 13)."""
    n_rows = sum(len(mode.means) for mode in rows)
    squares = np.sum([mode.squares for mode in rows], axis=0)
    return Gamma(PRIOR_SHAPE + 0.5 * n_rows, PRIOR_RATE + 0.5 * squares)


def noise_precision(residual: Any, n_entries: int) -> Gamma:
    """Update q(tau) (their equations 16 and 17)."""
    prior_rate = PRIOR_RATE + 0.5 * NOISE_FLOOR * n_entries
    # Rounding can leave the residual of exact data a little below zero.
    rate = prior_rate + 0.5 * np.maximum(residual, 0.0)
    return Gamma(PRIOR_SHAPE + 0.5 * n_entries, rate, prior_rate)


def unpacked(upper: np.ndarray) -> np.ndarray:
    """Undo `RowPosteriors.seconds`: lines of upper triangles to symmetric matrices."""
    rank = int((np.sqrt(8 * upper.shape[1] + 1) - 1) / 2)
    places = np.triu_indices(rank)
    full = np.empty((len(upper), rank, rank))
    full[:, places[0], places[1]] = upper
    full[:, places[1], places[0]] = upper
    return full
