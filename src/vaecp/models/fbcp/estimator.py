"""FBCP: Bayesian CP that finds its own rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vaecp.data.error_shapes import StudentT
from vaecp.data.fields import NOT_NEGATIVE, Rule, check_fields
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.models.base import TensorEstimator, check_at_least
from vaecp.models.fbcp.posterior import Posterior, gaussian_rows
from vaecp.models.fbcp.search import Ascent, search
from vaecp.models.fitted import Components, Diagnostics, FitResult, Fitted, SumOfProducts
from vaecp.models.joining import Joining
from vaecp.models.multilinear.products import effects_of_components, products_at

OBJECTIVE = "evidence bound"

_BLOCK = 2_000_000
_LEAST_DEGREES_OF_FREEDOM = 3.0


@dataclass(frozen=True, eq=False)
class FittedFBCP(Fitted):
    """Gaussian rows with full covariances, and a Student t noise.

    Attributes
    ----------
    means, covariances : per mode; the last row is the prior.
    noise_scale, degrees_of_freedom : of the Student t.
    """

    means: tuple[np.ndarray, ...]
    covariances: tuple[np.ndarray, ...]
    noise_scale: float
    degrees_of_freedom: float

    @classmethod
    def of(cls, posterior: Posterior) -> FittedFBCP:
        prior = np.diag(1 / posterior.component_precision.mean)[None]
        noise = posterior.noise_precision
        return cls(
            tuple(np.pad(rows.means, ((0, 1), (0, 0))) for rows in posterior.rows),
            tuple(np.concatenate([rows.covariances, prior]) for rows in posterior.rows),
            float(noise.mean**-0.5),
            max(2 * noise.shape, _LEAST_DEGREES_OF_FREEDOM),
        )

    @property
    def factors(self) -> tuple[np.ndarray, ...]:
        return tuple(mode[:-1] for mode in self.means)

    def validate(self, shape: tuple[int, ...]) -> None:
        rules = {
            "means": Rule(("rows", "rank")),
            "covariances": Rule(("rows", "rank", "rank")),
            "noise_scale": NOT_NEGATIVE,
            "degrees_of_freedom": Rule((), least=_LEAST_DEGREES_OF_FREEDOM, kinds="iuf"),
        }
        check_fields(self, shape, rules)

    def predict(self, indices: np.ndarray) -> Prediction:
        """Return exact first and second moments of the product of independent rows."""
        mean, variance = np.empty(len(indices)), np.empty(len(indices))
        upper = np.triu_indices(self.means[0].shape[1])
        # A symmetric matrix sums to its upper triangle, counted twice off the diagonal.
        twice = np.where(upper[0] == upper[1], 1.0, 2.0)
        squares = [mode[:, upper[0]] * mode[:, upper[1]] for mode in self.means]
        seconds = [
            square + mode[:, upper[0], upper[1]]
            for square, mode in zip(squares, self.covariances, strict=True)
        ]
        for piece in _pieces(len(indices), len(twice)):
            mean[piece] = products_at(self.means, indices[piece]).sum(1)
            variance[piece] = products_at(seconds, indices[piece]) @ twice
        variance = np.maximum(variance - mean**2, 0.0)
        noise = self.noise_scale * self._t_std()
        return Prediction(
            mean, np.full(len(mean), noise), np.sqrt(variance), StudentT(self.degrees_of_freedom)
        )

    def sample(self, indices: np.ndarray, n: int, random: np.random.Generator) -> np.ndarray:
        """Draw all rows n times: entries that share a row vary together."""
        roots = [_root(mode) for mode in self.covariances]
        draws = np.empty((n, len(indices)))
        for draw in range(n):
            rows = [
                mean + np.einsum("jrs,js->jr", root, random.normal(size=mean.shape))
                for mean, root in zip(self.means, roots, strict=True)
            ]
            precision = random.chisquare(self.degrees_of_freedom) / self.degrees_of_freedom
            noise = self.noise_scale * precision**-0.5 * random.normal(size=len(indices))
            draws[draw] = products_at(rows, indices).sum(1) + noise
        return draws

    def fold_in(self, joining: Joining) -> FittedFBCP:
        """Update the posteriors of new rows (equations 8 and 9 of the reference)."""
        means = tuple(joining.grown(table, mode) for mode, table in enumerate(self.means))
        covariances = tuple(joining.grown(each, m) for m, each in enumerate(self.covariances))
        noise = self.noise_scale**-2
        for mode, row, entries in joining.visits():
            design, gram = 1.0, 1.0
            for other in (m for m in range(len(means)) if m != mode):
                at = joining.indices[entries, other]
                design = design * means[other][at]
                squares = means[other][at][:, :, None] * means[other][at][:, None, :]
                gram = gram * (squares + covariances[other][at])
            precision = np.linalg.inv(self.covariances[mode][-1]) + noise * np.sum(gram, axis=0)
            found = gaussian_rows(precision[None], noise * (joining.values[entries] @ design)[None])
            means[mode][row], covariances[mode][row] = found.means[0], found.covariances[0]
        return replace(self, means=means, covariances=covariances)

    def row_std(self) -> tuple[np.ndarray, ...]:
        return tuple(np.sqrt(np.diagonal(c[:-1], axis1=1, axis2=2)) for c in self.covariances)

    def components(self, indices: np.ndarray) -> tuple[Components, ...]:
        return (Components(None, effects_of_components(self.means, indices)),)

    def as_cp(self) -> SumOfProducts:
        return SumOfProducts(np.ones(self.means[0].shape[1]), self.factors)

    def _t_std(self) -> float:
        return float(np.sqrt(self.degrees_of_freedom / (self.degrees_of_freedom - 2)))


class FBCP(TensorEstimator):
    """Fully Bayesian CP with automatic rank determination.

    A value is a sum over components of products of one number per mode, plus Gaussian noise.
    Rows have Gaussian priors with one precision per component, shared by all modes and
    learned: the precision of a superfluous component grows until it is nothing. All
    unknowns have posteriors (mean field, full covariance within a row), found by climbing
    the evidence bound. Several starts are tried, and a component is removed only when the
    bound without it is at least as high.

    Only observed entries enter; gaps cost nothing, and repeated coordinates are repeated
    measurements. The predictive distribution is a Student t around the posterior mean. The prior
    bounds rows that the data leave open; a prediction far outside the observed values, where few
    entries overrule it, is drawn back to their mean.

    A sweep costs about cells x rank^2 multiplications per mode where the tensor is dense,
    observed entries x rank^2 where it is sparse, and rows x rank^3; memory is rows x rank^2.

    Parameters
    ----------
    rank : the number of components to start with; the rank found is at most this.
    n_starts : how many starts are tried for 50 sweeps before the best one goes on.
    max_iter : the largest number of sweeps of the best start.
    tol : stop when the bound rises by less than this per observed entry and sweep.
    random_state : seed of the random starts.

    Attributes
    ----------
    rank_ : the number of components that are left; at least one.
    bound_ : the evidence bound after every sweep since the warm-up; it never decreases.
    n_iter_ : the number of those sweeps.
    converged_ : whether `tol` was reached within `max_iter` sweeps.

    References
    ----------
    Zhao, Zhang, Cichocki (2015), "Bayesian CP Factorization of Incomplete Tensors with
    Automatic Rank Determination", IEEE TPAMI 37(9).
    """

    fitted_type = FittedFBCP

    def __init__(
        self,
        rank: int = 20,
        *,
        n_starts: int = 4,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @property
    def rank_(self) -> int:
        """The number of components that are left."""
        check_is_fitted(self)
        return self.diagnostics_.found["rank"]

    @property
    def bound_(self) -> np.ndarray:
        """The evidence bound after every sweep since the warm-up."""
        check_is_fitted(self)
        return self.diagnostics_.history[OBJECTIVE]

    def _fit(self, observations: Observations, random: np.random.Generator) -> FitResult:
        for name in ("rank", "n_starts", "max_iter"):
            check_at_least(name, getattr(self, name), 1)
        found = search(observations, self.rank, self.n_starts, self.max_iter, self.tol, random)
        return FitResult(
            FittedFBCP.of(found.posterior),
            Diagnostics(
                {OBJECTIVE: np.array(found.bounds)},
                converged=found.converged,
                found={"rank": found.posterior.rank},
                warning=self._warning(found),
            ),
        )

    def _warning(self, found: Ascent) -> str:
        if found.converged:
            return ""
        last = np.diff(found.bounds[-2:])
        return (
            f"stopped after max_iter={self.max_iter} sweeps while its bound still rose"
            f"{f' by {last[0]:.3g} a sweep' if len(last) else ''}: raise max_iter or tol."
        )


def _pieces(n_entries: int, width: int) -> Iterator[slice]:
    step = max(_BLOCK // width, 1)
    for start in range(0, n_entries, step):
        yield slice(start, start + step)


def _root(covariances: np.ndarray) -> np.ndarray:
    """Return a square root of each covariance, also where rounding made one indefinite."""
    values, vectors = np.linalg.eigh(covariances)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
