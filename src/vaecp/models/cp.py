"""CP (PARAFAC) by alternating least squares, and non-negative CP, over the observed entries."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vaecp.alternating import (
    Descent,
    Sweep,
    best_descent,
    least_squares_sweep,
    multiplicative_sweep,
    on_device,
    random_start,
    singular_start,
)
from vaecp.models.base import Fitted, TensorEstimator, check_at_least
from vaecp.models.cp_fitted import CPFitted, summarise
from vaecp.multilinear import EntryLayout, float64, lay_out
from vaecp.observations import Observations

FAR = 1e-3
"""Stopping while the objective falls by more than this share a sweep deserves a warning."""


class _CP(TensorEstimator):
    """What both CP methods share: starts, descent, and the record of how it went."""

    fitted_type = CPFitted
    rank: int
    ridge: float
    n_starts: int
    max_iter: int
    tol: float

    @abstractmethod
    def _sweep(self, layout: EntryLayout) -> Sweep:
        """Return the function that improves the rows of every mode once."""

    def _descend(
        self, observations: Observations, starts: list[list[np.ndarray]]
    ) -> list[np.ndarray]:
        with float64():
            sweep = self._sweep(lay_out(observations, self.rank))
            descent = best_descent(sweep, [on_device(s) for s in starts], self.max_iter, self.tol)
        self.history_ = np.array(descent.history)
        self.n_iter_ = len(descent.history)
        self.converged_ = descent.converged
        self._warn_if_far_from_converged(descent)
        sizes = observations.shape
        return [np.array(f)[:size] for f, size in zip(descent.factors, sizes, strict=True)]

    def _starts(
        self, observations: Observations, random: np.random.Generator
    ) -> list[list[np.ndarray]]:
        for name, least in (("rank", 1), ("n_starts", 1), ("max_iter", 1)):
            check_at_least(name, getattr(self, name), least)
        if not self.ridge >= 0:
            raise ValueError(f"ridge is {self.ridge}: use a number from 0.")
        return [singular_start(observations, self.rank, random)] + [
            random_start(observations.shape, self.rank, random) for _ in range(self.n_starts - 1)
        ]

    def _warn_if_far_from_converged(self, descent: Descent) -> None:
        last = descent.history[-2:]
        if not descent.converged and last[0] - last[-1] > max(FAR, self.tol) * last[0]:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} sweeps while its "
                f"objective still fell by {1 - last[-1] / last[0]:.1%} a sweep: raise max_iter.",
                ConvergenceWarning,
                stacklevel=5,
            )


class CPALS(_CP):
    """CP (PARAFAC) decomposition by alternating least squares over the observed entries.

    An entry is a sum of `rank` products, one number per mode: x_ijk = sum_r a_ir b_jr c_kr.
    The rows of one mode at a time solve their own small least-squares problem, with a
    penalty of `ridge` on the squared rows; unknown entries take no part. As in all methods here
    the mean of the values is taken off first: a tensor that is a sum of R products as it stands
    may need R + 1 components after that, and `factors_` belong to the centred values. Every sweep starts
    a little beyond the last step, which helps through the slow stretches that alternating
    least squares is known for, and is taken back where the objective would rise.

    A sweep costs about n R^2 multiplications per mode (n observed entries, rank R) plus R^3
    per row, in float64. Memory is the entries once per mode and R^2 numbers per row: 847,364 entries of
    a 265 x 571 x 7 tensor at rank 60 took 1.0 GB at the peak, and below a second a sweep on
    two cores. The predictive noise is the residual variance, corrected for the parameters;
    rows with few entries and unseen labels are wider by the delta method.

    Parameters
    ----------
    rank : number of components.
    ridge : penalty on the squared rows, in units of the standardised values. The default
        suits a rank that the data support; with a larger rank a larger penalty can predict
        better. Choose it on held-out entries.
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
    and missing values". Extrapolation: Ang, Cohen, Hien and Gillis (2020).

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
        ridge: float = 1e-3,
        n_starts: int = 3,
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.ridge = ridge
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _sweep(self, layout: EntryLayout) -> Sweep:
        return lambda factors: least_squares_sweep(layout, factors, float(self.ridge))

    def _fit_standardised(self, observations: Observations, random: np.random.Generator) -> Fitted:
        factors = self._descend(observations, self._starts(observations, random))
        return summarise(observations, factors, 0.0, self.ridge)


class NCP(_CP):
    """Non-negative CP by multiplicative updates over the observed entries.

    The model is that of `CPALS` with all rows non-negative. Each row a is multiplied by
    b / (G a + ridge a), the ratio of the negative to the positive part of its gradient, which
    keeps it positive and never raises the objective; unknown entries take no part. The ridge
    is not in the reference: without it a component that is nearly zero wherever it is observed
    grows without bound elsewhere. Standardised
    values are negative in part, so the least observed value is subtracted before and added
    after: predictions never fall below the least training value.

    `n_inner` updates share one evaluation of G and b, and sweeps are extrapolated as in
    `CPALS`. Cost in time and memory: as `CPALS`, without the R^3 per row.

    Parameters
    ----------
    rank, ridge, n_starts, max_iter, tol, random_state : as in `CPALS`; starts are made positive.
    n_inner : multiplicative updates of a mode per sweep.

    References
    ----------
    Shashua and Hazan (2005), "Non-negative tensor factorization with applications to
    statistics and computer vision", ICML.
    """

    def __init__(
        self,
        rank: int = 10,
        *,
        ridge: float = 1e-3,
        n_starts: int = 3,
        max_iter: int = 500,
        tol: float = 1e-5,
        n_inner: int = 20,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.ridge = ridge
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.n_inner = n_inner
        self.random_state = random_state

    def _sweep(self, layout: EntryLayout) -> Sweep:
        return lambda factors: multiplicative_sweep(
            layout, factors, float(self.ridge), self.n_inner
        )

    def _fit_standardised(self, observations: Observations, random: np.random.Generator) -> Fitted:
        check_at_least("n_inner", self.n_inner, 1)
        starts = [[np.abs(rows) for rows in start] for start in self._starts(observations, random)]
        offset = float(observations.values.min())
        shifted = observations.with_values(observations.values - offset)
        return summarise(observations, self._descend(shifted, starts), offset, self.ridge)
