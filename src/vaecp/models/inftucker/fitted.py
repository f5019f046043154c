"""What InfTucker learned, and how entries and further rows follow from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vaecp.data.families import Probit
from vaecp.data.fields import NOT_NEGATIVE, Rule, check_fields, check_indices
from vaecp.data.prediction import LatentPrediction, Prediction
from vaecp.models.fitted import Fitted
from vaecp.models.inftucker.covariances import KERNELS
from vaecp.models.inftucker.growing import (
    MOST_ENTRIES,
    ByEntries,
    OnGrid,
    latent_row,
    some_of,
    usable,
)
from vaecp.models.inftucker.learning import entries_covariance
from vaecp.models.inftucker.probit import mean_behind
from vaecp.models.joining import Joining

_BLOCK = 2_000_000
MOST_ROUNDS, SETTLED = 30, 0.02
"""Of a row that is folded in: rounds, and the change of the numbers behind values that ends them."""


@dataclass(frozen=True, eq=False)
class FittedInfTucker(Fitted):
    """Latent rows, and the posterior of the latent tensor on the grid or by its entries.

    Attributes
    ----------
    rows : per mode; the last row stands for unseen labels and is 0.
    kernel, signal, noise : the kernel's name, and the variances of signal and noise.
    unseen_variance : the kernel's variance of a row drawn from the prior.
    grid_mean, grid_variance : the latent tensor's moments; empty when done by entries.
    entries, weights, inverse_root : the observed coordinates, C^-1 y and the inverse of the
        Cholesky root of C; empty when done on the grid.
    probit : whether values are yes or no, and the latent tensor is what lies behind them.
    """

    rows: tuple[np.ndarray, ...]
    kernel: str
    signal: float
    noise: float
    unseen_variance: float
    grid_mean: np.ndarray
    grid_variance: np.ndarray
    entries: np.ndarray
    weights: np.ndarray
    inverse_root: np.ndarray
    probit: bool = False

    @property
    def classes(self) -> np.ndarray | None:
        return np.array([0.0, 1.0]) if self.probit else None

    @property
    def factors(self) -> tuple[np.ndarray, ...]:
        return tuple(mode[:-1] for mode in self.rows)

    def validate(self, shape: tuple[int, ...]) -> None:
        rules = {
            "rows": Rule(("rows", "rank")),
            "signal": NOT_NEGATIVE,
            "noise": NOT_NEGATIVE,
            "unseen_variance": NOT_NEGATIVE,
        }
        by_entries = not np.size(self.grid_mean)
        if not by_entries:
            rules |= {"grid_mean": Rule(shape), "grid_variance": Rule(shape)}
        else:
            rules |= {
                "entries": Rule(("entries", "modes"), kinds="iu"),
                "weights": Rule(("entries",)),
                "inverse_root": Rule(("entries", "entries")),
            }
        check_fields(self, shape, rules)
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel is {self.kernel!r}, none of {', '.join(KERNELS)}")
        if by_entries:
            check_indices("entries", self.entries, shape)

    def predict(self, indices: np.ndarray) -> Prediction:
        """Return the values with their noise; or the probabilities of yes and no."""
        mean, variance = self.latent_moments(indices)
        if self.probit:
            return LatentPrediction.of(mean, np.sqrt(variance), Probit())
        return Prediction(mean, np.full(len(mean), np.sqrt(self.noise)), np.sqrt(variance))

    def latent_moments(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Look the moments up on the grid, or compute them from the observed entries."""
        mean, variance = np.zeros(len(indices)), self._prior_variance(indices)
        seen = (indices >= 0).all(axis=1)
        if self.grid_mean.size:
            places = tuple(indices[seen].T)
            mean[seen], variance[seen] = self.grid_mean[places], self.grid_variance[places]
        else:
            self._from_entries(indices, np.flatnonzero(seen), mean, variance)
        return mean, np.maximum(variance, 0.0)

    def fold_in(self, joining: Joining) -> FittedInfTucker:
        """Seek the latent vectors of rows that joined, one after the other, and condition on them."""
        fitted, known = self._grown(joining), [source >= 0 for source in joining.sources]
        for mode, row, found in joining.visits(n_sweeps=1):
            found = some_of(found[usable(joining.indices[found], mode, known)], MOST_ENTRIES)
            if len(found):
                cells, values = joining.indices[found], joining.values[found]
                learn = fitted._with_row_behind if self.probit else fitted._with_row
                fitted = learn(mode, row, cells, values, known)
                known[mode][row] = True
        return fitted

    def _grown(self, joining: Joining) -> FittedInfTucker:
        """Make room for rows; they are independent of all others until they are learned."""
        rows = tuple(joining.grown(table, mode) for mode, table in enumerate(self.rows))
        grown = replace(self, rows=rows)
        if not self.grid_mean.size:
            return replace(grown, entries=joining.moved(self.entries))
        every = np.indices(joining.shape).reshape(len(rows), -1)
        unseen = [np.where(s[c] < 0, -1, c) for s, c in zip(joining.sources, every, strict=True)]
        mean = np.zeros(joining.shape)
        variance = grown._prior_variance(np.stack(unseen, axis=1)).reshape(joining.shape)
        places = np.ix_(*joining.places)
        mean[places], variance[places] = self.grid_mean, self.grid_variance
        return replace(grown, grid_mean=mean, grid_variance=variance)

    def _with_row(
        self,
        mode: int,
        row: int,
        cells: np.ndarray,
        values: np.ndarray,
        known: list[np.ndarray],
    ) -> FittedInfTucker:
        """Return the same with one row learned from entries whose other rows are known."""
        kernel, old = KERNELS[self.kernel], np.flatnonzero(known[mode])
        factors, sparsity = self.factors, self._sparsity
        if not self.grid_mean.size:
            given = (self.entries, self.weights, self.inverse_root)
            new = ByEntries(kernel, factors, mode, *given, cells, self.signal, self.noise)
            latent = latent_row(factors[mode][old], values, new, sparsity)
            weights, root = new.extended(latent, values)
            entries = np.concatenate([self.entries, cells.astype(self.entries.dtype)])
            changed = {"entries": entries, "weights": weights, "inverse_root": root}
        else:
            mean, variance = (
                np.moveaxis(grid, mode, 0) for grid in (self.grid_mean, self.grid_variance)
            )
            others = tuple(rows for m, rows in enumerate(factors) if m != mode)
            at = np.delete(cells, mode, axis=1)
            grids = (mean[old], variance[old], at, self.signal, self.noise)
            new = OnGrid(kernel, factors[mode][old], others, *grids)
            latent = latent_row(factors[mode][old], values, new, sparsity)
            mean, variance = mean.copy(), variance.copy()
            mean[row], variance[row] = new.slab(latent, values)
            changed = {
                "grid_mean": np.moveaxis(mean, 0, mode),
                "grid_variance": np.moveaxis(variance, 0, mode),
            }
        rows = tuple(table.copy() for table in self.rows)
        rows[mode][row] = latent
        return replace(self, rows=rows, **changed)

    def _with_row_behind(
        self, mode: int, row: int, cells: np.ndarray, values: np.ndarray, known: list[np.ndarray]
    ) -> FittedInfTucker:
        """Learn a row and the numbers behind its yes-or-no values, in turn, until they settle."""
        numbers = mean_behind(values, np.zeros_like(values))
        fitted = self._with_row(mode, row, cells, numbers, known)
        for _ in range(MOST_ROUNDS):
            before, numbers = numbers, mean_behind(values, fitted.latent_moments(cells)[0])
            if np.abs(numbers - before).max() < SETTLED:
                break
            fitted = self._with_row(mode, row, cells, numbers, known)
        return fitted

    @property
    def _sparsity(self) -> float:
        """The rate of the Laplace prior that the known latent vectors show."""
        sizes = [np.abs(rows).ravel() for rows in self.factors]
        return 1 / max(float(np.mean(np.concatenate(sizes))), 1e-6)

    def _from_entries(
        self, indices: np.ndarray, seen: np.ndarray, mean: np.ndarray, variance: np.ndarray
    ) -> None:
        """Condition on the observed entries, a block of predicted entries at a time."""
        kernels = [KERNELS[self.kernel].matrix(rows) for rows in self.factors]
        step = max(_BLOCK // len(self.entries), 1)
        for start in range(0, len(seen), step):
            piece = seen[start : start + step]
            covariance = self.signal * entries_covariance(kernels, indices[piece], self.entries)
            mean[piece] = covariance @ self.weights
            variance[piece] -= np.sum((covariance @ self.inverse_root.T) ** 2, axis=1)

    def _prior_variance(self, indices: np.ndarray) -> np.ndarray:
        variance = np.full(len(indices), self.signal)
        for mode, rows in enumerate(self.factors):
            diagonal = KERNELS[self.kernel].variances(rows)
            variance *= np.append(diagonal, self.unseen_variance)[indices[:, mode]]
        return variance
