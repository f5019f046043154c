"""How InfTucker learns: latent rows, signal and noise, by the marginal likelihood.

The latent tensor is integrated out. On a grid that fits in memory, the gaps are imputed by
exact conditional means and draws (variational EM); a few entries of any tensor, however
vast, get the exact marginal likelihood of the observed entries alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.sparse import csr_array

from vaecp.data.observations import Observations
from vaecp.models.inftucker.covariances import Kernel
from vaecp.models.inftucker.kronecker import (
    KroneckerSystem,
    conditional_draw,
    log_likelihood,
    with_conditional_means,
)
from vaecp.models.multilinear.starts import singular_vectors
from vaecp.runtime.progress import steps

_LOG_LIMITS = (np.log(1e-8), np.log(1e6))
_MOST_LOG_RATIO = float(np.log(30.0))
_SMOOTHING = 1e-2
"""|u| is sqrt(u^2 + this^2) while learning, so that its gradient exists at 0."""
_STEPS = 10
"""L-BFGS steps between two imputations."""
_MOST_DRAWS = 8
_MONTE_CARLO_CELLS = 200_000
"""Small tensors get more draws per imputation, until they hold this many cells together."""

Gradients = tuple[float, list[np.ndarray], float, float]


@dataclass(frozen=True, eq=False)
class LatentParameters:
    """Latent rows per mode, and the logarithms of the signal's and the noise's variance."""

    rows: tuple[np.ndarray, ...]
    log_signal: float = 0.0
    log_noise: float = float(np.log(0.1))

    @property
    def signal(self) -> float:
        return float(np.exp(self.log_signal))

    @property
    def noise(self) -> float:
        return float(np.exp(self.log_noise))

    def with_unit_noise(self) -> LatentParameters:
        """Return the same in units of the noise, which few signs may show as too small."""
        ratio = min(self.log_signal - self.log_noise, _MOST_LOG_RATIO)
        return LatentParameters(self.rows, ratio, 0.0)

    def flat(self) -> np.ndarray:
        flat = [rows.ravel() for rows in self.rows]
        return np.concatenate([*flat, [self.log_signal, self.log_noise]])

    def like(self, flat: np.ndarray) -> LatentParameters:
        """Return the parameters that `flat` would have been made from."""
        ends = np.cumsum([rows.size for rows in self.rows])
        parts = np.split(flat[:-2], ends[:-1])
        rows = (part.reshape(old.shape) for part, old in zip(parts, self.rows, strict=True))
        return LatentParameters(tuple(rows), float(flat[-2]), float(flat[-1]))


@dataclass(frozen=True, eq=False)
class LatentProcess:
    """What stays the same while learning: the kernel, and the rate of the Laplace prior."""

    kernel: Kernel
    sparsity: float

    def kernels(self, parameters: LatentParameters) -> list[np.ndarray]:
        return [self.kernel.matrix(rows) for rows in parameters.rows]

    def grid(self, parameters: LatentParameters) -> KroneckerSystem:
        return KroneckerSystem.of(self.kernels(parameters), parameters.signal, parameters.noise)

    def log_prior(self, parameters: LatentParameters) -> float:
        sizes = sum(np.sum(np.sqrt(rows**2 + _SMOOTHING**2)) for rows in parameters.rows)
        n_numbers = sum(rows.size for rows in parameters.rows)
        return float(n_numbers * np.log(self.sparsity / 2) - self.sparsity * sizes)

    def maximise(
        self,
        likelihood: Callable[[LatentParameters], Gradients],
        start: LatentParameters,
        max_iter: int,
    ) -> tuple[LatentParameters, float, bool]:
        """Climb log-likelihood plus log-prior by L-BFGS."""

        def descent(flat: np.ndarray) -> tuple[float, np.ndarray]:
            here = start.like(flat)
            value, in_kernels, in_signal, in_noise = likelihood(here)
            slopes = [
                self.kernel.pull_back(rows, gradient)
                - self.sparsity * rows / np.sqrt(rows**2 + _SMOOTHING**2)
                for rows, gradient in zip(here.rows, in_kernels, strict=True)
            ]
            slope = np.concatenate([*(part.ravel() for part in slopes), [in_signal, in_noise]])
            return -(value + self.log_prior(here)), -slope

        flat = start.flat()
        limits = [(None, None)] * (len(flat) - 2) + [_LOG_LIMITS] * 2
        options = {"maxiter": max_iter, "maxcor": 20}
        found = minimize(descent, flat, jac=True, method="L-BFGS-B", bounds=limits, options=options)
        return start.like(found.x), -float(found.fun), bool(found.success)


def first_parameters(
    observations: Observations, rank: int, random: np.random.Generator
) -> LatentParameters:
    """Start from singular vectors of the unfoldings, short so that the kernels are smooth."""
    rows = []
    for mode, size in enumerate(observations.shape):
        start = 0.01 * random.normal(size=(size, rank))
        vectors, strengths = singular_vectors(observations, mode, rank, random)
        if len(strengths) and strengths[0] > 0:
            relative = np.sqrt(strengths / strengths[0])
            start[:, : len(strengths)] += 0.5 * np.sqrt(size) * vectors * relative
        rows.append(start)
    return LatentParameters(tuple(rows))


# ---- the whole grid --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Learned:
    """Parameters, the bound after every round, and whether it had stopped rising."""

    parameters: LatentParameters
    bounds: tuple[float, ...]
    converged: bool


def learn_on_grid(
    tensor: np.ndarray,
    model: LatentProcess,
    start: LatentParameters,
    max_iter: int,
    tol: float,
    seed: int,
) -> Learned:
    """Alternate between imputing the gaps (NaN) and climbing the likelihood of the full grid.

    A round that would lower the bound is thrown away. When rounds gain little, the draws of
    the gaps are too few to show the way, so they are doubled before learning stops.
    """
    observed = np.isfinite(tensor)
    imputed = _impute(tensor, model, start, np.where(observed, tensor, 0.0))
    bounds, random = [imputed.bound], np.random.default_rng(seed)
    n_draws = 0 if observed.all() else int(np.clip(_MONTE_CARLO_CELLS // tensor.size, 1, 8))
    for _ in steps(max_iter, "rounds"):
        draws = [
            conditional_draw(imputed.system, observed, random, tol=1e-3) / np.sqrt(n_draws)
            for _ in range(n_draws)
        ]

        def likelihood(
            here: LatentParameters, tensors: Sequence[np.ndarray] = (imputed.filled, *draws)
        ) -> Gradients:
            return log_likelihood(model.grid(here), tensors)

        parameters, _, _ = model.maximise(likelihood, imputed.parameters, _STEPS)
        proposal = _impute(tensor, model, parameters, imputed.filled)
        gain = proposal.bound - imputed.bound
        imputed = proposal if gain >= 0 else imputed
        bounds.append(imputed.bound)
        if gain < tol * observed.sum():
            if n_draws in (0, _MOST_DRAWS):
                return Learned(imputed.parameters, tuple(bounds), True)
            n_draws = min(2 * n_draws, _MOST_DRAWS)
    return Learned(imputed.parameters, tuple(bounds), False)


@dataclass(frozen=True, eq=False)
class _Imputed:
    """A grid whose gaps hold their conditional mean under these parameters."""

    parameters: LatentParameters
    system: KroneckerSystem
    filled: np.ndarray
    bound: float


def _impute(
    tensor: np.ndarray, model: LatentProcess, parameters: LatentParameters, guess: np.ndarray
) -> _Imputed:
    observed, system = np.isfinite(tensor), model.grid(parameters)
    filled = with_conditional_means(
        system, np.where(observed, tensor, 0.0), observed, guess, tol=1e-4
    )
    bound = evidence_bound(system, filled, observed) + model.log_prior(parameters)
    return _Imputed(parameters, system, filled, bound)


def evidence_bound(system: KroneckerSystem, filled: np.ndarray, observed: np.ndarray) -> float:
    """Return a lower bound of the log-likelihood of the observed cells.

    The gaps have an independent Gaussian each: their conditional mean, and the best variance,
    1 / (C^-1)_ii. Without gaps this is the exact log-likelihood.
    """
    precisions = system.diagonal(1 / system.total)[~observed]
    value = -0.5 * np.sum(filled * system.solve(filled)) - 0.5 * np.sum(np.log(system.total))
    value -= 0.5 * np.sum(np.log(precisions)) + 0.5 * observed.sum() * np.log(2 * np.pi)
    return float(value)


def grid_posterior(
    tensor: np.ndarray, model: LatentProcess, parameters: LatentParameters, n_draws: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of the latent tensor in every cell.

    The mean is exact. The variance is the one with all cells observed, which is exact, plus
    that of the mean over what the gaps might be, from draws.
    """
    observed, random = np.isfinite(tensor), np.random.default_rng(seed)
    values = np.where(observed, tensor, 0.0)
    system = model.grid(parameters)
    mean = system.smooth(with_conditional_means(system, values, observed, values, tol=1e-6))
    variance = system.diagonal(system.spectrum * system.noise / system.total)
    for _ in range(n_draws if not observed.all() else 0):
        deviation = conditional_draw(system, observed, random, tol=1e-3)
        variance += system.smooth(deviation) ** 2 / n_draws
    return mean, np.maximum(variance, 0.0)


# ---- the observed entries alone --------------------------------------------------------


def entries_covariance(
    kernels: Sequence[np.ndarray], left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Return the product over modes of the kernel between two lists of coordinates."""
    covariance = np.ones((len(left), len(right)))
    for mode, kernel in enumerate(kernels):
        covariance *= kernel[left[:, mode][:, None], right[:, mode]]
    return covariance


def learn_on_entries(
    observations: Observations, model: LatentProcess, start: LatentParameters, max_iter: int
) -> Learned:
    """Climb the exact marginal likelihood; time grows with entries^3, memory with entries^2."""
    bounds: list[float] = []

    def likelihood(here: LatentParameters) -> Gradients:
        return entries_likelihood(observations, model.kernels(here), here.signal, here.noise)

    best, converged = start, False
    for _ in steps(max_iter, "rounds"):
        best, bound, converged = model.maximise(likelihood, best, _STEPS)
        bounds.append(bound)
        if converged:
            break
    return Learned(best, tuple(bounds), converged)


def entries_likelihood(
    observations: Observations, kernels: Sequence[np.ndarray], signal: float, noise: float
) -> Gradients:
    """Return log N(y; 0, C) of the observed entries, and its gradients as on the grid."""
    indices, values = observations.indices, observations.values
    covariance = signal * entries_covariance(kernels, indices, indices)
    lower = cholesky(covariance + noise * np.eye(len(values)), lower=True)
    weights = cho_solve((lower, True), values)
    value = -0.5 * values @ weights - np.log(np.diag(lower)).sum()
    value -= 0.5 * len(values) * np.log(2 * np.pi)
    slope = 0.5 * (np.outer(weights, weights) - cho_solve((lower, True), np.eye(len(values))))
    in_kernels = []
    for mode, size in enumerate(observations.shape):
        others = [kernel for other, kernel in enumerate(kernels) if other != mode]
        coordinates = np.delete(indices, mode, axis=1)
        spread = slope * signal * entries_covariance(others, coordinates, coordinates)
        places = (indices[:, mode], np.arange(len(values)))
        gather = csr_array((np.ones(len(values)), places), shape=(size, len(values)))
        in_kernels.append(gather @ (gather @ spread).T)
    return (
        float(value),
        in_kernels,
        float(np.sum(slope * covariance)),
        float(noise * np.trace(slope)),
    )


def entries_posterior(
    observations: Observations, model: LatentProcess, parameters: LatentParameters
) -> tuple[np.ndarray, np.ndarray]:
    """Return C^-1 y and the inverse of the Cholesky root of C, for predictions."""
    kernels, indices = model.kernels(parameters), observations.indices
    covariance = parameters.signal * entries_covariance(kernels, indices, indices)
    covariance += parameters.noise * np.eye(len(indices))
    lower = cholesky(covariance, lower=True)
    weights = cho_solve((lower, True), observations.values)
    return weights, solve_triangular(lower, np.eye(len(indices)), lower=True)
