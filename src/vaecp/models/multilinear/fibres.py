"""Sums over the observed entries of a tensor, one row of one mode at a time.

Alternating methods need, for every row j of a mode, sums over the entries of that row of a
product of something per row of the other modes: sum_i w_i * prod_k T_k[i_k]. Entries that
differ only in one further mode form a fibre; summing along fibres first is one matrix
product per mode (BLAS where the tensor is dense, sparse where it is not), and no array of
entries x width is ever built.

`equations` has such sums for the sweeps of CP, compiled for one rank and for Grams of point
estimates. Bayesian CP is better served by these: its rank falls as it prunes, which would compile
a program for every rank on the way, and its second moments are no products of two columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

from vaecp.data.observations import Observations

_DENSE_FROM = 0.1
"""Share of observed cells from which BLAS on a dense matrix beats a sparse product."""

_BLOCK = 2_000_000
"""Numbers in one block of fibres x width: 16 MB, small enough to stay near the cache."""


class FibreSums:
    """The observed entries, arranged for sums over the rows of one mode.

    Parameters
    ----------
    observations : the entries; repeated coordinates count as often as they are listed.
    mode : the mode whose rows get a sum each.
    """

    def __init__(self, observations: Observations, mode: int) -> None:
        shape, indices = observations.shape, observations.indices
        others = [other for other in range(len(shape)) if other != mode]
        self.along = max(others, key=lambda other: shape[other])
        self.rest = [other for other in others if other != self.along]
        self.n_rows = shape[mode]
        fibre, first = grouped(indices, [mode, *self.rest], shape)
        self.rows = indices[first, mode]
        self.rest_rows = [indices[first, other] for other in self.rest]
        size = (len(first), shape[self.along])
        dense = len(observations) > _DENSE_FROM * size[0] * size[1]
        place = (fibre, indices[:, self.along])

        def arranged(weights: np.ndarray) -> np.ndarray | sparse.csr_array:
            matrix = sparse.coo_array((weights, place), shape=size)
            return matrix.toarray() if dense else matrix.tocsr()

        self.counts = arranged(np.ones(len(observations)))
        self.totals = arranged(np.asarray(observations.values, dtype=np.float64))

    def count(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Return, per row, the sum over its entries of the product of the tables' rows."""
        return self._summed(self.counts, tables)

    def total(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Return the same sum with every entry weighted by its value."""
        return self._summed(self.totals, tables)

    def _summed(self, weights, tables: Sequence[np.ndarray]) -> np.ndarray:
        width = tables[self.along].shape[1]
        sums = np.zeros((self.n_rows, width))
        for piece in self._pieces(width):
            block = weights[piece] @ tables[self.along]
            for other, rows in zip(self.rest, self.rest_rows, strict=True):
                block *= tables[other][rows[piece]]
            rows = self.rows[piece]
            starts = np.flatnonzero(np.diff(rows, prepend=-1))
            sums[rows[starts]] += np.add.reduceat(block, starts, axis=0)
        return sums

    def _pieces(self, width: int) -> Iterator[slice]:
        step = max(_BLOCK // max(width, 1), 1)
        for start in range(0, len(self.rows), step):
            yield slice(start, min(start + step, len(self.rows)))


def grouped(
    indices: np.ndarray, modes: Sequence[int], shape: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct coordinates in these modes, sorted by the first mode.

    Returns the number of each entry, and for each number an entry that has it. Codes are
    renumbered after every mode, so that many modes never overflow an integer.
    """
    code = indices[:, modes[0]].astype(np.int64)
    for mode in modes[1:]:
        _, code = np.unique(code * shape[mode] + indices[:, mode], return_inverse=True)
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    return code, first
