"""CP (PARAFAC) by alternating least squares, and non-negative CP, over the observed entries."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
from sklearn.utils.validation import check_is_fitted

from vaecp.data.centring import NONE, ModeScaling, mode_scaling
from vaecp.data.observations import Observations
from vaecp.models.base import TensorEstimator, check_at_least
from vaecp.models.cp.constrained import constrained_sweep, feasible
from vaecp.models.cp.constraints import per_mode
from vaecp.models.cp.fitted import CPFitted, fitted_to
from vaecp.models.fitted import Diagnostics, FitResult
from vaecp.models.multilinear.equations import EntryLayout, Factors, float64, lay_out
from vaecp.models.multilinear.starts import random_start, singular_vectors
from vaecp.models.multilinear.sweeps import (
    Descended,
    Sweep,
    balance,
    best_descent,
    descend,
    least_squares_sweep,
    multiplicative_sweep,
    on_device,
)
from vaecp.runtime.blas import one_thread

OBJECTIVE = "sum of squares"

FAR = 1e-3
"""Stopping while the objective falls by more than this share a sweep deserves a warning."""


class StartEnd(NamedTuple):
    """Where one start ended: factors per mode, and the objective there."""

    factors: tuple[np.ndarray, ...]
    objective: float


class _CP(TensorEstimator):
    """What both CP methods share: starts, descent, and the record of how it went."""

    fitted_type = CPFitted
    non_negative: ClassVar[bool] = False
    rank: int
    center: str | int
    scale: str | int
    ridge: float
    n_starts: int
    max_iter: int
    tol: float

    def _scaling(self, observations: Observations) -> ModeScaling:
        return mode_scaling(observations, self.center, self.scale)

    @abstractmethod
    def _sweep(self, layout: EntryLayout, observations: Observations) -> Sweep:
        """Return the function that improves the rows of every mode once."""

    @property
    def history_(self) -> np.ndarray:
        """The penalised sum of squares after every sweep that was kept."""
        check_is_fitted(self)
        return self.diagnostics_.history[OBJECTIVE]

    def _offset(self, observations: Observations) -> float:
        """Return what is taken off scaled values before products are fitted to them."""
        return 0.0

    def _placed(self, observations: Observations) -> tuple[int, ...]:
        """Return the modes in which rows without entries have a place of their own."""
        return ()

    def _fit(self, observations: Observations, random: np.random.Generator) -> FitResult:
        offset, sweep, starts = self._problem(observations, random)
        with float64():
            descent = best_descent(sweep, starts, self.max_iter, self.tol)
        factors = list(_without_padding(descent.factors, observations.shape))
        return FitResult(
            replace(
                fitted_to(observations, factors, offset, self.ridge, self._placed(observations)),
                non_negative=self.non_negative,
            ),
            Diagnostics(
                {OBJECTIVE: np.array(descent.history)},
                converged=descent.converged,
                warning=self._warning(descent),
            ),
        )

    def every_start(self, observations: Observations) -> list[StartEnd]:
        """Run every start to its end: factors in the units of the scaling, best objective first.

        The model itself is not altered. Starts that end apart show that the rank, or the number
        of sweeps, is not what the data support.
        """
        _, scaled, random = self._prepared(observations)
        with one_thread(), float64():
            _, sweep, starts = self._problem(scaled, random)
            ends = [descend(sweep, start, self.max_iter, self.tol) for start in starts]
        shape = observations.shape
        found = [StartEnd(_without_padding(end.factors, shape), end.history[-1]) for end in ends]
        return sorted(found, key=lambda end: end.objective)

    def _problem(
        self, observations: Observations, random: np.random.Generator
    ) -> tuple[float, Sweep, list[Factors]]:
        offset = self._offset(observations)
        shifted = observations.with_values(observations.values - offset)
        starts = self._starts(observations, random)
        with float64():
            sweep = self._sweep(lay_out(shifted, self.rank), observations)
            return offset, sweep, [on_device(start) for start in starts]

    def _starts(
        self, observations: Observations, random: np.random.Generator
    ) -> list[list[np.ndarray]]:
        for name, least in (("rank", 1), ("n_starts", 1), ("max_iter", 1)):
            check_at_least(name, getattr(self, name), least)
        if not self.ridge >= 0:
            raise ValueError(f"ridge is {self.ridge}: use a number from 0.")
        return [_singular_start(observations, self.rank, random)] + [
            random_start(observations.shape, self.rank, random) for _ in range(self.n_starts - 1)
        ]

    def _warning(self, descent: Descended) -> str:
        last = descent.history[-2:]
        if descent.converged or last[0] - last[-1] <= max(FAR, self.tol) * last[0]:
            return ""
        return (
            f"stopped after max_iter={self.max_iter} sweeps while its objective still fell by "
            f"{1 - last[-1] / last[0]:.1%} a sweep: raise max_iter."
        )


class CPALS(_CP):
    """CP (PARAFAC) decomposition by alternating least squares over the observed entries.

    An entry is a sum of `rank` products, one number per mode: x_ijk = sum_r a_ir b_jr c_kr.
    The rows of one mode at a time solve their own small least-squares problem, with a
    penalty of `ridge` on the squared rows; unknown entries take no part. Values are neither
    centred nor scaled unless `center` or `scale` say so. Every sweep starts a little beyond the
    last step, which helps through the slow stretches that alternating least squares is known
    for, and is taken back where the objective would rise.

    A sweep costs about n R^2 multiplications per mode (n observed entries, rank R) plus R^3
    per row, in float64. Memory is the entries once per mode and R^2 numbers per row: 847,364 entries of
    a 265 x 571 x 7 tensor at rank 60 took 1.0 GB at the peak, and below a second a sweep on
    two cores. The predictive noise is the residual variance, corrected for the parameters;
    rows with few entries and unseen labels are wider by the delta method. The ridge bounds rows that
    few entries determine; a prediction far outside the observed values is drawn back to their mean.

    Parameters
    ----------
    rank : number of components.
    center : "none"; "values", which takes off the mean of all values; or a mode, by name or
        number from 0, across which to centre: every fibre along it loses its own mean. A tensor
        that is a sum of R products may need R + 1 components once the mean of all values is
        taken off, and `factors_` belong to the centred values.
    scale : "none", or a mode within which to scale: every slab of it is divided by its root
        mean square, after centring.
    constraints : what rows may be: "non-negative", "unimodal", "smooth", "orthogonal", or an object
        of `vaecp.constraints` such as `Fixed(spectra)`; for all modes, or for some as
        `{"emission": "non-negative"}`. Modes that are unimodal or smooth need labels in order. Fits
        with constraints take several times as long.
    ridge : penalty on the squared rows, in units of values whose root mean square is 1. The
        default suits a rank that the data support; with a larger rank a larger penalty can
        predict better. Choose it on held-out entries.
    n_starts : the first start takes singular vectors of the mean-filled unfoldings, the others
        are random. After a tenth of `max_iter` the one with the lowest objective goes on.
    max_iter : the most sweeps.
    tol : stop when a sweep lowers the objective by less than this share of it.
    random_state : seed of the starts.

    Attributes
    ----------
    history_ : the penalised sum of squares after every sweep that was kept; it never rises.
    n_iter_ : their number.
    converged_ : whether `tol` was reached.

    References
    ----------
    Carroll and Chang (1970); Harshman (1970). Missing values: Tomasi and Bro (2005), "PARAFAC
    and missing values". Constraints: Bro and Sidiropoulos (1998). Extrapolation: Ang, Cohen, Hien
    and Gillis (2020).

    Examples
    --------
    >>> import numpy as np
    >>> keys = [(i, j) for i in range(6) for j in range(5)]
    >>> values = [(1 + i) * (2 - j) for i, j in keys]
    >>> model = CPALS(rank=1, random_state=0).fit(keys[3:], values[3:])
    >>> bool(np.allclose(model.predict(keys[:3]), values[:3], atol=0.2))
    True
    """

    def __init__(
        self,
        rank: int = 10,
        *,
        center: str | int = NONE,
        scale: str | int = NONE,
        constraints: Any = None,
        ridge: float = 1e-3,
        n_starts: int = 3,
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.center = center
        self.scale = scale
        self.constraints = constraints
        self.ridge = ridge
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _sweep(self, layout: EntryLayout, observations: Observations) -> Sweep:
        constraints = per_mode(self.constraints, observations, self.rank)
        if constraints is not None:
            return constrained_sweep(layout, constraints, observations.shape, float(self.ridge))

        def sweep(factors: Factors) -> tuple[Factors, jax.Array]:
            improved, value = least_squares_sweep(layout, factors, float(self.ridge))
            balanced, gain = balance(improved, float(self.ridge))
            return balanced, value - gain

        return sweep

    def _placed(self, observations: Observations) -> tuple[int, ...]:
        constraints = per_mode(self.constraints, observations, self.rank) or ()
        return tuple(mode for mode, own in enumerate(constraints) if own.places_empty_rows)

    def _starts(
        self, observations: Observations, random: np.random.Generator
    ) -> list[list[np.ndarray]]:
        starts = super()._starts(observations, random)
        constraints = per_mode(self.constraints, observations, self.rank)
        return starts if constraints is None else [feasible(s, constraints) for s in starts]


class NCP(_CP):
    """Non-negative CP by multiplicative updates over the observed entries.

    The model is that of `CPALS` with all rows non-negative. Each row a is multiplied by
    b / (G a + ridge a), the ratio of the negative to the positive part of its gradient, which
    keeps it positive and never raises the objective; unknown entries take no part. The ridge
    is not in the reference: without it a component that is nearly zero wherever it is observed
    grows without bound elsewhere. Predictions are never negative, and one far above the observed
    values is drawn back to their mean. Centred values are negative in part, so where `center` is
    not "none" the least of them is subtracted before and added after.

    `n_inner` updates share one evaluation of G and b, and sweeps are extrapolated as in
    `CPALS`. Cost in time and memory: as `CPALS`, without the R^3 per row.

    Parameters
    ----------
    rank, center, scale, ridge, n_starts, max_iter, tol, random_state : as in `CPALS`; starts are
        made positive.
    n_inner : multiplicative updates of a mode per sweep.

    References
    ----------
    Shashua and Hazan (2005), "Non-negative tensor factorization with applications to
    statistics and computer vision", ICML.
    """

    non_negative = True

    def __init__(
        self,
        rank: int = 10,
        *,
        center: str | int = NONE,
        scale: str | int = NONE,
        ridge: float = 1e-3,
        n_starts: int = 3,
        max_iter: int = 500,
        tol: float = 1e-5,
        n_inner: int = 20,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.center = center
        self.scale = scale
        self.ridge = ridge
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.n_inner = n_inner
        self.random_state = random_state

    def _sweep(self, layout: EntryLayout, observations: Observations) -> Sweep:
        return lambda factors: multiplicative_sweep(
            layout, factors, float(self.ridge), self.n_inner
        )

    def _offset(self, observations: Observations) -> float:
        return 0.0 if self.center == NONE else float(observations.values.min())

    def _starts(
        self, observations: Observations, random: np.random.Generator
    ) -> list[list[np.ndarray]]:
        check_at_least("n_inner", self.n_inner, 1)
        return [[np.abs(rows) for rows in start] for start in super()._starts(observations, random)]


def _without_padding(factors: Factors, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(np.array(rows)[:size] for rows, size in zip(factors, shape, strict=True))


def _singular_start(
    observations: Observations, rank: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Take the leading singular vectors of the unfoldings; columns beyond these stay random."""
    factors = random_start(observations.shape, rank, random)
    for mode, rows in enumerate(factors):
        vectors, _ = singular_vectors(observations, mode, rank, random)
        scale = np.sqrt(len(rows)) * rank ** (-0.5 / observations.n_modes)
        rows[:, : vectors.shape[1]] = scale * vectors
    return factors
