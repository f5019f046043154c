"""CP (PARAFAC) by alternating least squares, and non-negative CP, over the observed entries."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vaecp.alternating import (
    FLOOR,
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
from vaecp.multilinear import Layout, float64, lay_out, product
from vaecp.observations import Observations
from vaecp.prediction import Prediction

FAR = 1e-3
"""Stopping while the objective falls by more than this share a sweep deserves a warning."""


# ---- what was learned ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CPFitted(Fitted):
    """Rows per mode whose products sum to an entry, and how well each row is determined.

    A row of mode d is taken as Gaussian around its estimate, with the covariance of the rows
    of its mode as prior: precision = inverse(spread) + count * gram / noise variance. `gram`
    is the mode's mean over entries, so one pair of `axes` and `information` serves all rows.
    """

    tables: tuple[np.ndarray, ...]
    counts: tuple[np.ndarray, ...]
    axes: tuple[np.ndarray, ...]
    information: tuple[np.ndarray, ...]
    offset: float
    noise_std: float

    @property
    def factors(self) -> tuple[np.ndarray, ...]:
        """Return the learned rows per mode, without the row for unseen labels."""
        return tuple(table[:-1] for table in self.tables)

    def predict(self, indices: np.ndarray) -> Prediction:
        """Predict entries at (n, D) coordinates; -1 is a label not seen in training."""
        parts = np.array_split(indices, max(1, len(indices) * self.tables[0].shape[1] // 2**22))
        mean, variance = zip(*(self._moments(part) for part in parts), strict=True)
        ignorance = np.sqrt(np.concatenate(variance))
        return Prediction(np.concatenate(mean), np.full(len(indices), self.noise_std), ignorance)

    def _moments(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        columns = indices.T
        rows = [table[column] for table, column in zip(self.tables, columns, strict=True)]
        mean = self.offset + product(rows).sum(axis=1)
        counts = [count[column] for count, column in zip(self.counts, columns, strict=True)]
        variance = self._variance_of_unknown_rows(rows, np.stack(counts, axis=1) == 0)
        for mode, count in enumerate(counts):  # delta method, one mode at a time
            others = product(rows[:mode] + rows[mode + 1 :]) @ self.axes[mode].T
            shrunk = (others**2 / (1 + count[:, None] * self.information[mode])).sum(axis=1)
            variance += np.where(count > 0, shrunk, 0.0)
        return mean, variance

    def _variance_of_unknown_rows(self, rows: list[np.ndarray], unknown: np.ndarray) -> np.ndarray:
        """Return the exact variance of a product of known rows and independent unknown ones.

        With two unknown rows of mean zero a first-order estimate would be zero.
        """
        variance = np.zeros(len(unknown))
        for pattern in np.unique(unknown[unknown.any(axis=1)], axis=0):
            which = (unknown == pattern).all(axis=1)
            known = [row[which] for row, absent in zip(rows, pattern, strict=True) if not absent]
            rank = self.tables[0].shape[1]
            scale = product(known) if known else np.ones((which.sum(), rank))
            second, first = np.ones((rank, rank)), np.ones(rank)
            for mode in np.flatnonzero(pattern):
                mean = self.tables[mode][-1]
                second *= np.outer(mean, mean) + self.axes[mode].T @ self.axes[mode]
                first *= mean
            spread = ((scale @ (second - np.outer(first, first))) * scale).sum(axis=1)
            variance[which] = np.maximum(spread, 0.0)
        return variance


def summarise(
    observations: Observations, factors: list[np.ndarray], offset: float, ridge: float
) -> CPFitted:
    """Measure the noise and the rows' uncertainty, and add a row for unseen labels."""
    rank, shape = factors[0].shape[1], observations.shape
    counts = [
        np.bincount(column, minlength=size)
        for column, size in zip(observations.indices.T, shape, strict=True)
    ]
    grams, squares = np.zeros((len(shape), rank, rank)), 0.0
    for part in np.array_split(np.arange(len(observations)), 1 + len(observations) * rank // 2**22):
        rows = [f[c] for f, c in zip(factors, observations.indices[part].T, strict=True)]
        residual = observations.values[part] - offset - product(rows).sum(axis=1)
        squares += float(residual @ residual)
        for mode in range(len(shape)):
            others = product(rows[:mode] + rows[mode + 1 :])
            grams[mode] += others.T @ others
    grams /= len(observations)
    variance = squares / len(observations)
    free = len(observations) - _n_parameters(grams, counts, ridge)
    # With as many parameters as entries the residuals say nothing, and the noise is unknown:
    # then an entry is as uncertain as the (standardised) values are.
    variance = squares / free if free >= 1 else max(1.0, variance)
    tables, axes, information = zip(
        *(
            _row_uncertainty(factor, count, gram / max(variance, FLOOR))
            for factor, count, gram in zip(factors, counts, grams, strict=True)
        ),
        strict=True,
    )
    counts = tuple(np.append(count, 0) for count in counts)
    return CPFitted(tables, counts, axes, information, offset, float(np.sqrt(variance)))


def _n_parameters(grams: np.ndarray, counts: list[np.ndarray], ridge: float) -> float:
    """Count the parameters that the entries determine, less the freedom to rescale."""
    used = []
    for gram, count in zip(grams, counts, strict=True):
        strengths = np.outer(count, np.maximum(np.linalg.eigvalsh(gram), 0.0))
        determined = (strengths / (strengths + ridge + FLOOR)).sum(axis=1)
        used.append(np.minimum(determined, count).sum())
    rank = grams.shape[1]
    free_scales = (
        rank * min(rank, *map(len, counts)) if len(counts) == 2 else rank * (len(counts) - 1)
    )
    return max(max(used), sum(used) - free_scales)


def _row_uncertainty(
    factor: np.ndarray, count: np.ndarray, precision: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the table with its mean row, and the axes in which prior and data are diagonal."""
    seen = factor[count > 0]
    mean = seen.mean(axis=0)
    # A mode with one row shows no spread: then a row is as uncertain as it is large.
    centred = (seen - mean) / np.sqrt(len(seen) - 1) if len(seen) > 1 else mean[None]
    table = np.vstack([np.where(count[:, None] > 0, factor, mean), mean])
    values, vectors = np.linalg.eigh(centred.T @ centred * (1 + 1 / len(seen)))
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    strengths, turn = np.linalg.eigh(root @ precision @ root.T)
    return table, turn.T @ root, np.maximum(strengths, 0.0)


# ---- the estimators --------------------------------------------------------------------


class _CP(TensorEstimator):
    """What both CP methods share: starts, descent, and the record of how it went."""

    fitted_type = CPFitted
    rank: int
    n_starts: int
    max_iter: int
    tol: float

    @abstractmethod
    def _sweep(self, layout: Layout) -> Sweep:
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
    penalty of `ridge` on the squared rows; unknown entries take no part. Every sweep starts
    a little beyond the last step, which helps through the slow stretches that alternating
    least squares is known for, and is taken back where the objective would rise.

    A sweep costs about n R^2 multiplications per mode (n observed entries, rank R) plus R^3
    per row, in float64. Memory is the entries once per mode and R^2 numbers per row. An
    850,000-entry tensor of 265 x 571 x 7 at rank 60 stays below 2 GB. The predictive noise is
    the residual variance, corrected for the parameters; rows with few entries and unseen
    labels are wider by the delta method.

    Parameters
    ----------
    rank : number of components.
    ridge : penalty on the squared rows, in units of the standardised values.
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

    def _sweep(self, layout: Layout) -> Sweep:
        return lambda factors: least_squares_sweep(layout, factors, float(self.ridge))

    def _fit_standardised(self, observations: Observations, random: np.random.Generator) -> Fitted:
        if not self.ridge >= 0:
            raise ValueError(f"ridge is {self.ridge}: use a number from 0.")
        factors = self._descend(observations, self._starts(observations, random))
        return summarise(observations, factors, 0.0, self.ridge)


class NCP(_CP):
    """Non-negative CP by multiplicative updates over the observed entries.

    The model is that of `CPALS` with all rows non-negative. Each row a is multiplied by
    b / (G a), the ratio of the negative to the positive part of its gradient, which keeps it
    positive and never raises the sum of squares; unknown entries take no part. Standardised
    values are negative in part, so the least observed value is subtracted before and added
    after: predictions never fall below the least training value.

    `n_inner` updates share one evaluation of G and b, and sweeps are extrapolated as in
    `CPALS`. Cost in time and memory: as `CPALS`, without the R^3 per row.

    Parameters
    ----------
    rank, n_starts, max_iter, tol, random_state : as in `CPALS`; starts are made positive.
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
        n_starts: int = 3,
        max_iter: int = 500,
        tol: float = 1e-5,
        n_inner: int = 20,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.n_inner = n_inner
        self.random_state = random_state

    def _sweep(self, layout: Layout) -> Sweep:
        return lambda factors: multiplicative_sweep(layout, factors, self.n_inner)

    def _fit_standardised(self, observations: Observations, random: np.random.Generator) -> Fitted:
        check_at_least("n_inner", self.n_inner, 1)
        starts = [[np.abs(rows) for rows in start] for start in self._starts(observations, random)]
        offset = float(observations.values.min())
        shifted = observations.with_values(observations.values - offset)
        return summarise(observations, self._descend(shifted, starts), offset, 0.0)
