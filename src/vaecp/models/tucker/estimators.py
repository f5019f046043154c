"""Tucker decompositions of a dense array whose gaps are filled by the model itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vaecp.data.cells import cell_sums, n_cells, row_counts
from vaecp.data.checks import times
from vaecp.data.fields import NOT_NEGATIVE, Rule, check_fields
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.errors import ObservationError
from vaecp.models.base import TensorEstimator, check_at_least
from vaecp.models.fitted import Components, Diagnostics, FitResult, Fitted
from vaecp.models.joining import Joining, most_probable_row
from vaecp.models.tucker.filling import (
    TuckerModel,
    fill_growing,
    higher_order_svd,
    orthogonal_iteration,
)
from vaecp.runtime.memory import available_memory

MAX_CELLS = 50_000_000
BYTES_OF_CELL = 12 * 8
"""Of the arrays of all cells that there are at once while gaps are filled."""
"""Above this many cells, observed or not, the dense array is refused."""

OBJECTIVE = "sum of squares"

FAR = 1e-3
"""Stopping while a filling changes by more than this (standardised) deserves a warning."""


@dataclass(frozen=True, eq=False)
class TuckerFitted(Fitted):
    """A core and rows per mode: an entry is the core contracted with its rows."""

    core: np.ndarray
    tables: tuple[np.ndarray, ...]
    spreads: tuple[np.ndarray, ...]
    known: tuple[np.ndarray, ...]
    noise_std: float

    @property
    def factors(self) -> tuple[np.ndarray, ...]:
        """Return the learned rows per mode, without the row for unseen labels."""
        return tuple(table[:-1] for table in self.tables)

    def validate(self, shape: tuple[int, ...]) -> None:
        rules = {
            "tables": Rule(("rows", "own rank")),
            "spreads": Rule(("own rank", "own rank")),
            "known": Rule(("rows",), kinds="b"),
            "noise_std": NOT_NEGATIVE,
        }
        check_fields(self, shape, rules)
        ranks = tuple(table.shape[1] for table in self.tables)
        if self.core.shape != ranks:
            raise ValueError(f"core has shape {self.core.shape}, where the tables have {ranks}")

    def predict(self, indices: np.ndarray) -> Prediction:
        """Predict entries at (n, D) coordinates; -1 is a label not seen in training."""
        size = max(1, 2**22 // max(self.core.size // self.core.shape[0], 1))
        parts = np.array_split(indices, max(1, -(-len(indices) // size)))
        mean, variance = zip(*(self._moments(part) for part in parts), strict=True)
        noise = np.full(len(indices), self.noise_std)
        return Prediction(np.concatenate(mean), noise, np.sqrt(np.concatenate(variance)))

    def components(self, indices: np.ndarray) -> tuple[Components, ...]:
        """Return the effects of the components of each mode; an entry is linear in its row."""
        rows = [table[column] for table, column in zip(self.tables, indices.T, strict=True)]
        found = []
        for mode, table in enumerate(self.tables):
            others = [None if other == mode else row for other, row in enumerate(rows)]
            moved = table[:-1].mean(axis=0) - rows[mode]
            found.append(Components(mode, moved * contract(self.core, others, len(indices))))
        return tuple(found)

    def fold_in(self, joining: Joining) -> TuckerFitted:
        """Solve for the rows with the covariance of the mode's rows as prior."""
        tables = tuple(joining.grown(table, mode) for mode, table in enumerate(self.tables))
        known = tuple(joining.grown(each, mode) for mode, each in enumerate(self.known))
        for mode, row, entries in joining.visits():
            at = joining.indices[entries]
            rows = [None if m == mode else tables[m][at[:, m]] for m in range(len(tables))]
            tables[mode][row] = most_probable_row(
                contract(self.core, rows, len(entries)),
                joining.values[entries],
                self.noise_std**2,
                (self.tables[mode][-1], self.spreads[mode]),
            )
            known[mode][row] = True
        return replace(self, tables=tables, known=known)

    def _moments(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        columns = indices.T
        rows = [table[column] for table, column in zip(self.tables, columns, strict=True)]
        mean = contract(self.core, rows)
        variance = np.zeros(len(indices))
        known = np.stack([k[c] for k, c in zip(self.known, columns, strict=True)], axis=1)
        for pattern in np.unique(known[~known.all(axis=1)], axis=0):
            which = (known == pattern).all(axis=1)
            variance[which] = self._spread([row[which] for row in rows], pattern)
        return mean, variance

    def _spread(self, rows: list[np.ndarray], known: np.ndarray) -> np.ndarray:
        """Return E[x^2] - E[x]^2 over independent rows of the modes that are not known.

        Along a root of an unknown row's second moment the expectation is a plain sum of
        squares, so each such mode is contracted with the root and kept as an axis.
        """
        core = self.core
        for mode in np.flatnonzero(~known):
            mean, spread = self.tables[mode][-1], self.spreads[mode]
            core = np.moveaxis(np.tensordot(np.vstack([mean, spread]), core, (1, mode)), 0, mode)
        kept = [None if not k else row for k, row in zip(known, rows, strict=True)]
        squares = contract(core, kept, len(rows[0])) ** 2
        flat = squares.reshape(len(squares), -1)
        return flat[:, 1:].sum(axis=1)  # the first is the product of the means: E[x]^2


def contract(core: np.ndarray, rows: Sequence[np.ndarray | None], n: int = 0) -> np.ndarray:
    """Contract the core with one row per mode and entry; modes with no rows stay as axes."""
    n = n or len(next(row for row in rows if row is not None))
    result, axis = np.broadcast_to(core, (1, *core.shape)), 1
    for row in rows:
        if row is None:
            axis += 1
            continue
        moved = np.moveaxis(result, axis, -1)
        if len(moved) == 1:
            result = np.tensordot(row, moved[0], (1, moved.ndim - 2))
        else:
            result = np.einsum("n...r,nr->n...", moved, row)
    return np.broadcast_to(result, (n, *result.shape[1:]))


class _Tucker(TensorEstimator):
    """What both Tucker methods share: fill the gaps, fit the full array, and repeat."""

    fitted_type = TuckerFitted
    rank: int | Sequence[int]
    ridge: float
    max_iter: int
    tol: float

    @staticmethod
    @abstractmethod
    def _improve(
        array: np.ndarray, ranks: Sequence[int], before: TuckerModel | None, ridge: float
    ) -> TuckerModel:
        """Fit the full array, starting from the model of the last filling."""

    @property
    def history_(self) -> np.ndarray:
        """The penalised sum of squares over the observed cells, per filling at the full rank."""
        check_is_fitted(self)
        return self.diagnostics_.history[OBJECTIVE]

    def _fit(self, observations: Observations, random: np.random.Generator) -> FitResult:
        check_at_least("max_iter", self.max_iter, 1)
        if not self.ridge >= 0:
            raise ValueError(f"ridge is {self.ridge}: use a number from 0.")
        counts = row_counts(observations.indices, observations.shape)
        shared = [count.max() > 1 for count in counts]
        shape = tuple(
            size if keep else 1 for size, keep in zip(observations.shape, shared, strict=True)
        )
        ranks = _clipped(self.rank, shape)
        totals, counted = _dense(observations, shape)
        array = np.divide(totals, counted, out=np.zeros(shape), where=counted > 0)
        filling = fill_growing(
            self._improve, array, counted > 0, ranks, self.max_iter, self.tol, float(self.ridge)
        )
        model = filling.model
        residual = observations.values - model.array()[tuple(_fold(observations.indices, shape).T)]
        noise = _noise_std(residual, shape, ranks)
        return FitResult(
            _fitted_to(model, counts, shared, noise),
            Diagnostics(
                {OBJECTIVE: np.array(filling.history)},
                converged=filling.change <= self.tol,
                warning=self._warning(filling.change),
            ),
        )

    def _warning(self, change: float) -> str:
        if self.max_iter == 1 or change <= max(FAR, self.tol):
            return ""
        return (
            f"stopped after max_iter={self.max_iter} fillings that still changed by {change:.2g} "
            "standard deviations: raise max_iter or lower the rank."
        )


def _clipped(rank: int | Sequence[int], shape: tuple[int, ...]) -> list[int]:
    """Return one rank per mode, each no larger than the mode."""
    ranks: list = list(rank) if np.iterable(rank) else [rank] * len(shape)
    if len(ranks) != len(shape):
        raise ValueError(
            f"rank has {len(ranks)} items, but the tensor has {len(shape)} modes: give one number, "
            "or one per mode."
        )
    for value in ranks:
        check_at_least("rank", value, 1)
    return [min(int(value), size) for value, size in zip(ranks, shape, strict=True)]


def _dense(observations: Observations, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum and the number of the observations of every cell."""
    cells = n_cells(shape)
    if cells > MAX_CELLS:
        raise ObservationError(
            f"the {times(shape)} tensor has {cells:,} cells, more than the "
            f"{MAX_CELLS:,} of a dense method: use CPALS or VAECP, which keep observed entries only."
        )
    if BYTES_OF_CELL * cells > available_memory():
        raise ObservationError(
            f"the {times(shape)} tensor has {cells:,} cells, for which a dense method "
            f"needs {BYTES_OF_CELL * cells / 1e9:.2g} GB of memory, more than is free: use CPALS or "
            "VAECP, which keep observed entries only."
        )
    return cell_sums(_fold(observations.indices, shape), observations.values, shape)


def _fold(indices: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Send every label of a mode that is one row to that row."""
    return np.where(np.array(shape) > 1, indices, 0)


def _noise_std(residual: np.ndarray, shape: Sequence[int], ranks: Sequence[int]) -> float:
    """Return the residual deviation, corrected for core and bases without their rotations."""
    bases = sum(size * rank - rank**2 for size, rank in zip(shape, ranks, strict=True))
    free = len(residual) - int(np.prod(ranks)) - bases
    squares = float(residual @ residual)
    # With as many parameters as entries the residuals say nothing of the noise.
    return float(np.sqrt(squares / free if free >= 1 else max(1.0, squares / len(residual))))


def _fitted_to(
    model: TuckerModel, counts: Sequence[np.ndarray], shared: list[bool], noise: float
) -> Fitted:
    """Add a row for unseen labels, and the spread of the rows around it."""
    tables, spreads, known = [], [], []
    for basis, count, keep in zip(model.bases, counts, shared, strict=True):
        rows = basis if keep else np.repeat(basis, len(count), axis=0)
        seen = rows[count > 0] if keep else basis
        mean = seen.mean(axis=0)
        # A mode with one row shows no spread: then a row is as uncertain as it is large.
        centred = (seen - mean) / np.sqrt(len(seen) - 1) if len(seen) > 1 else mean[None]
        values, vectors = np.linalg.eigh(centred.T @ centred * (1 + 1 / len(seen)))
        spreads.append(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
        tables.append(np.vstack([np.where(count[:, None] > 0, rows, mean), mean]))
        known.append(np.append(count > 0, False))
    return TuckerFitted(model.core, tuple(tables), tuple(spreads), tuple(known), noise)


class HOSVD(_Tucker):
    """Truncated higher-order singular value decomposition, gaps filled by itself.

    An entry is a small core contracted with one row per mode; the rows of a mode are the
    leading left singular vectors of that unfolding of the array. The decomposition needs a
    full array: unknown entries start at the mean and are then replaced by the model's own
    reconstruction (expectation maximisation), first with small ranks that grow to the full
    one, and then until it stops changing. Repeated coordinates are averaged. A mode in which
    no label is seen twice has nothing to share between entries, and is one row.

    The larger the rank, the more slowly the filling converges, and the more it overfits: with
    ranks as large as the modes any filling is reproduced, so choose the rank on held-out
    entries. One filling costs a product of every unfolding with itself, cells * sum of the
    mode sizes; memory is about six dense arrays. More than 50 million cells are refused.
    The predictive noise is the residual variance, corrected for the parameters, and equal for
    all entries; unseen labels are wider by the spread of the mode's rows. Where whole fibres are
    missing, fillings of a large rank can drift: a prediction far outside the observed values is
    drawn back to their mean.

    Parameters
    ----------
    rank : one number, or one per mode; clipped to the size of the mode.
    ridge : penalty on the squared core, in units of values whose variance is 1. It is not in the
        reference, which has no gaps: it keeps parts of the core small that gaps leave open.
    max_iter : the most fillings at the full rank.
    tol : stop when the reconstruction changes by less (root mean square, standardised units).
    random_state : not used; the method has no randomness.

    Attributes
    ----------
    history_ : the sum of squares over the observed cells, and the penalty, after every filling at the
        full rank; it may rise, since truncation is not the best fit (`TuckerALS` is).
    n_iter_, converged_ : the number of those fillings, and whether `tol` was reached.

    References
    ----------
    De Lathauwer, De Moor and Vandewalle (2000), "A multilinear singular value decomposition".
    """

    def __init__(
        self,
        rank: int | Sequence[int] = 10,
        *,
        ridge: float = 0.0,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    _improve = staticmethod(higher_order_svd)


class TuckerALS(HOSVD):
    """Tucker decomposition by alternating least squares (HOOI), gaps filled by itself.

    The model and the treatment of gaps are those of `HOSVD`, which is the start. Then the
    basis of one mode at a time is the best for the others, once per filling, so that the penalised
    sum of squares over the observed cells (`history_`) never rises.

    A sweep costs about cells * rank multiplications per mode; memory is about six dense
    arrays. More than 50 million cells are refused. The warning of `HOSVD` holds: a large rank
    converges slowly and overfits. What lies far outside the observed values is drawn back, too.

    Parameters
    ----------
    rank, ridge, max_iter, tol, random_state : as in `HOSVD`.

    References
    ----------
    De Lathauwer, De Moor and Vandewalle (2000), "On the best rank-1 and rank-(R1, ..., RN)
    approximation of higher-order tensors". Filling: Walczak and Massart (2001).
    """

    _improve = staticmethod(orthogonal_iteration)
