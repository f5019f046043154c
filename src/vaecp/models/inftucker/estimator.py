"""InfTucker: Tucker decomposition in an infinite feature space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vaecp.data.observations import Observations
from vaecp.data.standardising import OwnUnits, Scaling
from vaecp.errors import ObservationError
from vaecp.models.base import TensorEstimator, check_at_least
from vaecp.models.fitted import Diagnostics, FitResult
from vaecp.models.inftucker.covariances import KERNELS
from vaecp.models.inftucker.fitted import FittedInfTucker
from vaecp.models.inftucker.learning import (
    LatentParameters,
    LatentProcess,
    Learned,
    entries_posterior,
    first_parameters,
    grid_posterior,
    learn_on_entries,
    learn_on_grid,
)
from vaecp.models.inftucker.probit import LEAST, N_ROUNDS, are_binary, mean_behind

FEW_ENTRIES = 200
"""Up to this many entries, the exact marginal likelihood is the quickest way as well."""
MAX_ENTRIES = 4_000
"""The most entries whose own covariance matrix is built, when the grid is too large."""
MAX_CELLS = 5_000_000
"""The largest grid, observed or not, that is imputed."""
SPARSE = 0.02
"""Below this observed share, imputing learns slowly, and few entries are done exactly."""

OBJECTIVE = "evidence bound"


class InfTucker(TensorEstimator):
    """Infinite Tucker: a Gaussian process over the entries, with one kernel per mode.

    Every row of every mode has a latent vector under a Laplace prior. The tensor is Gaussian,
    its covariance the product over modes of a kernel between latent vectors, and values carry
    Gaussian noise. With linear kernels this is Tucker with the core integrated out; other
    kernels do the same in a feature space of endless dimension. Latent vectors and the two
    variances maximise the marginal likelihood times the prior.

    Yes-or-no values, 1 and 0, say whether the sum of tensor and noise exceeds 0 (probit). Latent
    vectors and the ratio of the variances are then learned from signs as if these were real
    numbers, and the tensor by variational inference of the numbers behind the values.

    Gaps are unknown: on a grid that fits in memory, variational EM imputes them by their exact
    conditional mean and by draws (conjugate gradients on Kronecker products). Where the grid
    is too large or nearly empty, the exact marginal likelihood of the entries alone is used.
    Repeated coordinates are averaged. A label that was not seen is independent of all others:
    its entries are predicted by the mean of the values, with the full variance of the signal. So
    do predictions fall back to that mean far from the observed entries; one that lies far outside the
    observed values is drawn back to it.
    The spread counts what is unknown of the tensor, not of the latent vectors, which are point
    estimates: with few entries per row the intervals are too narrow.

    On a grid a step costs cells x (sum of mode sizes) multiplications and an
    eigendecomposition per mode, memory is about ten times the cells; by entries it costs
    entries^3 and entries^2. A grid above 5,000,000 cells with more than 4,000 entries is refused.

    Parameters
    ----------
    rank : the length of the latent vectors.
    kernel : "rbf", "matern" (smoothness 3/2) or "linear".
    sparsity : the rate of the Laplace prior; its mean absolute value is 1 / sparsity.
    max_iter : the largest number of rounds, each of one imputation and ten L-BFGS steps.
    tol : stop when the bound rises by less than this per observed entry and round.
    n_draws : how many draws of the gaps the predictive variance is made from.
    likelihood : "gaussian", or "probit" for yes-or-no values, 1 or 0; "auto" looks at the values.
    random_state : seed of the start and of the draws.

    Attributes
    ----------
    bound_ : per round, a lower bound of the log evidence (exact without gaps or by entries),
        the log prior of the latent vectors included; it never decreases.
    n_iter_ : the number of rounds.
    converged_ : whether `tol` was reached within `max_iter` rounds.

    References
    ----------
    Xu, Yan, Qi (2012), "Infinite Tucker Decomposition: Nonparametric Bayesian Models for
    Multiway Data Analysis", ICML.
    """

    fitted_type = FittedInfTucker

    def __init__(
        self,
        rank: int = 5,
        *,
        kernel: Literal["rbf", "matern", "linear"] = "rbf",
        sparsity: float = 1.0,
        max_iter: int = 50,
        tol: float = 1e-3,
        n_draws: int = 20,
        likelihood: Literal["auto", "gaussian", "probit"] = "auto",
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.kernel = kernel
        self.sparsity = sparsity
        self.max_iter = max_iter
        self.tol = tol
        self.n_draws = n_draws
        self.likelihood = likelihood
        self.random_state = random_state

    @property
    def bound_(self) -> np.ndarray:
        """A lower bound of the log evidence after every round."""
        check_is_fitted(self)
        return self.diagnostics_.history[OBJECTIVE]

    def _fit(self, observations: Observations, random: np.random.Generator) -> FitResult:
        self._check()
        probit = self._is_probit(observations)
        observations = observations.settle_duplicates("mean")
        numbers = observations
        if probit:  # what lies behind yes and no is on both sides of 0
            numbers = observations.with_values(2 * observations.values - 1)
        model = LatentProcess(KERNELS[self.kernel], self.sparsity)
        start = first_parameters(numbers, self.rank, random)
        seed = int(random.integers(2**31))
        learned = self._learned(numbers, model, start, seed)
        if not probit:
            posterior = self._posterior(observations, model, learned.parameters, seed)
            return self._result(learned, posterior)
        scaled = learned.parameters.with_unit_noise()
        posterior = self._posterior_behind(observations, model, scaled, seed)
        return self._result(learned, replace(posterior, probit=True))

    def _is_probit(self, observations: Observations) -> bool:
        binary = are_binary(observations.values)
        if self.likelihood == "probit" and not binary:
            raise ObservationError(
                "likelihood is 'probit', but the values are not 0 and 1, or fewer than "
                f"{LEAST}: use 'gaussian'."
            )
        return binary and self.likelihood != "gaussian"

    def _scaling(self, observations: Observations) -> Scaling:
        if self._is_probit(observations):
            return OwnUnits.of(observations.values)
        return super()._scaling(observations)

    def _learned(
        self,
        observations: Observations,
        model: LatentProcess,
        start: LatentParameters,
        seed: int,
    ) -> Learned:
        if _by_entries(observations):
            return learn_on_entries(observations, model, start, self.max_iter)
        tensor = observations.to_array()
        return learn_on_grid(tensor, model, start, self.max_iter, self.tol, seed)

    def _posterior(
        self,
        observations: Observations,
        model: LatentProcess,
        parameters: LatentParameters,
        seed: int,
    ) -> FittedInfTucker:
        grid = ((), ())
        entries = (np.empty((0, 0), dtype=np.int32), np.empty(0), np.empty((0, 0)))
        if _by_entries(observations):
            entries = (observations.indices, *entries_posterior(observations, model, parameters))
        else:
            tensor = observations.to_array()
            grid = grid_posterior(tensor, model, parameters, self.n_draws, seed)
        return self._fitted(parameters, grid, entries)

    def _posterior_behind(
        self,
        observations: Observations,
        model: LatentProcess,
        parameters: LatentParameters,
        seed: int,
    ) -> FittedInfTucker:
        """Infer the numbers behind yes and no, and the latent tensor, in turn."""
        numbers = mean_behind(observations.values, np.zeros(len(observations)))
        fitted = self._posterior(observations.with_values(numbers), model, parameters, seed)
        for _ in range(N_ROUNDS):
            latent, _ = fitted.latent_moments(observations.indices)
            numbers = mean_behind(observations.values, latent)
            fitted = self._posterior(observations.with_values(numbers), model, parameters, seed)
        return fitted

    def _result(self, learned: Learned, fitted: FittedInfTucker) -> FitResult:
        return FitResult(
            fitted,
            Diagnostics(
                {OBJECTIVE: np.array(learned.bounds)},
                converged=learned.converged,
                warning=""
                if learned.converged
                else f"stopped after max_iter={self.max_iter} rounds while its bound still rose: "
                "raise max_iter or tol.",
            ),
        )

    def _check(self) -> None:
        for name in ("rank", "max_iter", "n_draws"):
            check_at_least(name, getattr(self, name), 1)
        if not self.sparsity > 0:
            raise ValueError(f"sparsity is {self.sparsity}: use a positive number.")
        if self.likelihood not in ("auto", "gaussian", "probit"):
            raise ValueError(
                f"likelihood is {self.likelihood!r}: use 'auto', 'gaussian' or 'probit'."
            )
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel is {self.kernel!r}: use one of {', '.join(KERNELS)}.")

    def _fitted(
        self, parameters: LatentParameters, grid: Sequence[Any], entries: Sequence[np.ndarray]
    ) -> FittedInfTucker:
        return FittedInfTucker(
            tuple(np.pad(rows, ((0, 1), (0, 0))) for rows in parameters.rows),
            self.kernel,
            parameters.signal,
            parameters.noise,
            KERNELS[self.kernel].expected_variance(self.rank, 2 / self.sparsity**2),
            np.asarray(grid[0]),
            np.asarray(grid[1]),
            entries[0],
            entries[1],
            entries[2],
        )


def _by_entries(observations: Observations) -> bool:
    """Choose between the grid and the entries alone, or say that neither can be."""
    n_entries, n_cells = len(observations), observations.n_cells
    if n_cells > MAX_CELLS and n_entries > MAX_ENTRIES:
        raise ObservationError(
            f"the tensor has {n_cells:,} cells and {n_entries:,} observed entries: InfTucker takes "
            f"up to {MAX_CELLS:,} cells, or up to {MAX_ENTRIES:,} entries of a larger tensor; use "
            "FBCP or VAECP."
        )
    sparse = n_entries <= min(MAX_ENTRIES, SPARSE * n_cells)
    return n_entries <= FEW_ENTRIES or n_cells > MAX_CELLS or sparse
