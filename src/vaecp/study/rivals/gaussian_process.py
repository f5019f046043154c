"""A Gaussian process over the labels: wavelengths and times as they lie, names as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from vaecp.data.observations import Observations
from vaecp.data.order import ordered_modes
from vaecp.data.prediction import Prediction
from vaecp.data.standardising import Standardiser
from vaecp.errors import ObservationError
from vaecp.models.inftucker.covariances import KERNELS
from vaecp.models.inftucker.kronecker import (
    conditional_draw,
    log_likelihood,
    with_conditional_means,
)
from vaecp.models.inftucker.learning import LatentParameters, LatentProcess, grid_posterior
from vaecp.runtime.blas import one_thread
from vaecp.study.rivals.interpolation import places_of

MAX_CELLS = 5_000_000
ROUNDS = 6
STEPS = 8
"""Of L-BFGS between two imputations of the gaps."""
N_DRAWS = 10
LIMITS = (-9.0, 9.0)
"""Of logarithms of inverse lengths and variances."""


def predict(
    training: Observations, indices: np.ndarray, random_state: int = 0, kernel: str = "matern"
) -> Prediction:
    """Condition a process on the training entries, whose covariance is a product over modes.

    The covariance along an ordered mode depends on the distance of labels; two rows of any other
    mode have one covariance, however far apart. Length scales and variances maximise the marginal
    likelihood (by variational EM, since the grid has gaps).

    Parameters
    ----------
    kernel : "matern" (smoothness 3/2) or "rbf".
    """
    once = training.settle_duplicates("mean")
    if once.n_cells > MAX_CELLS:
        raise ObservationError(
            f"the tensor has {once.n_cells:,} cells: a Gaussian process on a grid takes up to "
            f"{MAX_CELLS:,}."
        )
    standardiser = Standardiser.of(once.values)
    tensor = once.with_values(standardiser.apply(once.values)).to_array()
    model = LatentProcess(KERNELS[kernel], sparsity=1.0)
    with one_thread():
        parameters = _learned(tensor, model, _rows(once), random_state)
        mean, variance = grid_posterior(tensor, model, parameters, N_DRAWS, random_state)
    at = tuple(indices.T)
    noise = np.full(len(indices), np.sqrt(parameters.noise))
    return Prediction(mean[at], noise, np.sqrt(variance[at])).in_units_of(standardiser, indices)


def _rows(training: Observations) -> list[np.ndarray]:
    """Return where labels lie, ordered modes on a line of length 1, others all equally far."""
    rows = []
    for labels, ordered in zip(training.labels, ordered_modes(training), strict=True):
        if ordered:
            places = places_of(labels)
            rows.append((places / places.max())[:, None])
        else:
            rows.append(np.eye(len(labels)))
    return rows


def _learned(
    tensor: np.ndarray, model: LatentProcess, rows: Sequence[np.ndarray], seed: int
) -> LatentParameters:
    """Alternate between imputing the gaps and climbing the likelihood of the full grid."""
    observed, random = np.isfinite(tensor), np.random.default_rng(seed)
    values = np.where(observed, tensor, 0.0)
    filled = values
    # A tenth of an ordered mode, and rows of other modes that are alike to about a half.
    logs = np.array([np.log(10.0 if each.shape[1] == 1 else 0.7) for each in rows] + [0.0, -3.0])
    for _ in range(ROUNDS):
        system = model.grid(_parameters(logs, rows))
        filled = with_conditional_means(system, values, observed, filled, tol=1e-3)
        tensors = [filled]
        if not observed.all():
            tensors.append(conditional_draw(system, observed, random, tol=1e-2))
        found = minimize(
            _descent,
            logs,
            (model, rows, tensors),
            jac=True,
            method="L-BFGS-B",
            bounds=[LIMITS] * len(logs),
            options={"maxiter": STEPS},
        )
        moved, logs = float(np.abs(found.x - logs).max()), found.x
        if moved < 0.02:
            break
    return _parameters(logs, rows)


def _parameters(logs: np.ndarray, rows: Sequence[np.ndarray]) -> LatentParameters:
    scaled = tuple(np.exp(log) * each for log, each in zip(logs, rows, strict=False))
    return LatentParameters(scaled, float(logs[-2]), float(logs[-1]))


def _descent(
    logs: np.ndarray, model: LatentProcess, rows: Sequence[np.ndarray], tensors: list[np.ndarray]
) -> tuple[float, np.ndarray]:
    """Return the negative log-likelihood and its slope in the logarithms."""
    parameters = _parameters(logs, rows)
    value, in_kernels, in_signal, in_noise = log_likelihood(model.grid(parameters), tensors)
    slopes = [
        float(np.sum(model.kernel.pull_back(scaled, gradient) * scaled))
        for scaled, gradient in zip(parameters.rows, in_kernels, strict=True)
    ]
    return -value, -np.array([*slopes, in_signal, in_noise])
