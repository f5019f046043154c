"""What a CP method learned: rows per mode, and how well the entries determine them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vaecp.data.cells import row_counts
from vaecp.data.fields import NOT_NEGATIVE, NUMBER, Rule, check_fields, check_modes
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.models.fitted import Components, Fitted, SumOfProducts
from vaecp.models.joining import Joining, most_probable_row
from vaecp.models.multilinear.products import effects_of_components, product

TINY = 1e-12
MIN_FREE_SHARE = 0.2
"""Of the entries, that must be left after the parameters for residuals to show the noise."""


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
    non_negative: bool = False
    placed: tuple[int, ...] = ()
    """Modes in which a constraint says where rows without entries lie."""

    @property
    def factors(self) -> tuple[np.ndarray, ...]:
        """Return the learned rows per mode, without the row for unseen labels."""
        return tuple(table[:-1] for table in self.tables)

    def validate(self, shape: tuple[int, ...]) -> None:
        rules = {
            "tables": Rule(("rows", "rank")),
            "counts": Rule(("rows",), least=0, kinds="iu"),
            "axes": Rule(("rank", "rank")),
            "information": Rule(("rank",), least=0),
            "offset": NUMBER,
            "noise_std": NOT_NEGATIVE,
        }
        check_fields(self, shape, rules)
        check_modes("placed", self.placed, len(shape))

    def knows_empty_rows(self, mode: int) -> bool:
        return mode in self.placed

    def predict(self, indices: np.ndarray) -> Prediction:
        """Predict entries at (n, D) coordinates; -1 is a label not seen in training."""
        parts = np.array_split(indices, max(1, len(indices) * self.tables[0].shape[1] // 2**22))
        mean, variance = zip(*(self._moments(part) for part in parts), strict=True)
        ignorance = np.sqrt(np.concatenate(variance))
        return Prediction(np.concatenate(mean), np.full(len(indices), self.noise_std), ignorance)

    def row_std(self) -> tuple[np.ndarray, ...]:
        modes = zip(self.counts, self.axes, self.information, strict=True)
        return tuple(
            np.sqrt((1 / (1 + np.outer(count[:-1], information))) @ axes**2)
            for count, axes, information in modes
        )

    def components(self, indices: np.ndarray) -> tuple[Components, ...]:
        return (Components(None, effects_of_components(self.tables, indices)),)

    def as_cp(self) -> SumOfProducts:
        return SumOfProducts(np.ones(self.tables[0].shape[1]), self.factors, self.offset)

    def fold_in(self, joining: Joining) -> CPFitted:
        """Solve for the rows with the covariance of the mode's rows as prior."""
        tables = tuple(joining.grown(table, mode) for mode, table in enumerate(self.tables))
        counts = tuple(joining.grown(count, mode) for mode, count in enumerate(self.counts))
        for mode, row, entries in joining.visits():
            at = joining.indices[entries]
            design = product([tables[m][at[:, m]] for m in range(len(tables)) if m != mode])
            tables[mode][row] = most_probable_row(
                design,
                joining.values[entries] - self.offset,
                self.noise_std**2,
                (self.tables[mode][-1], self.axes[mode]),
                non_negative=self.non_negative,
            )
            counts[mode][row] = len(entries)
        return replace(self, tables=tables, counts=counts)

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


def fitted_to(
    observations: Observations,
    factors: list[np.ndarray],
    offset: float,
    ridge: float,
    placed: tuple[int, ...] = (),
) -> CPFitted:
    """Measure the noise and the rows' uncertainty, and add a row for unseen labels.

    A row without entries is the mean row of its mode, unless the mode is one of the `placed`: a
    constraint says then where it lies.
    """
    rank, shape = factors[0].shape[1], observations.shape
    counts = row_counts(observations.indices, shape)
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
    # With nearly as many parameters as entries the residuals say nothing, and the noise is
    # unknown: then an entry is as uncertain as the (standardised) values are.
    known = free >= max(1.0, MIN_FREE_SHARE * len(observations))
    variance = squares / free if known else max(1.0, variance)
    tables, axes, information = zip(
        *(
            _row_uncertainty(factor, count, gram / max(variance, TINY), own)
            for factor, count, gram, own in zip(
                factors, counts, grams, np.isin(range(len(shape)), placed), strict=True
            )
        ),
        strict=True,
    )
    counts = tuple(np.append(count, 0) for count in counts)
    noise = float(np.sqrt(variance))
    return CPFitted(tables, counts, axes, information, offset, noise, placed=placed)


def _n_parameters(grams: np.ndarray, counts: Sequence[np.ndarray], ridge: float) -> float:
    """Count the parameters that the entries determine, less the freedom to rescale."""
    used = []
    for gram, count in zip(grams, counts, strict=True):
        strengths = np.outer(count, np.maximum(np.linalg.eigvalsh(gram), 0.0))
        determined = (strengths / (strengths + ridge + TINY)).sum(axis=1)
        used.append(np.minimum(determined, count).sum())
    rank = grams.shape[1]
    free_scales = (
        rank * min(rank, *map(len, counts)) if len(counts) == 2 else rank * (len(counts) - 1)
    )
    return max(max(used), sum(used) - free_scales)


def _row_uncertainty(
    factor: np.ndarray, count: np.ndarray, precision: np.ndarray, placed: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the table with its mean row, and the axes in which prior and data are diagonal."""
    seen = factor[count > 0]
    mean = seen.mean(axis=0)
    # A mode with one row shows no spread: then a row is as uncertain as it is large.
    centred = (seen - mean) / np.sqrt(len(seen) - 1) if len(seen) > 1 else mean[None]
    table = np.vstack([np.where((count[:, None] > 0) | placed, factor, mean), mean])
    values, vectors = np.linalg.eigh(centred.T @ centred * (1 + 1 / len(seen)))
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    strengths, turn = np.linalg.eigh(root @ precision @ root.T)
    return table, turn.T @ root, np.maximum(strengths, 0.0)
