"""Where multilinear methods start: random rows, and singular vectors of the unfoldings."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from sklearn.utils.extmath import randomized_svd

from vaecp.data.observations import Observations

MAX_DENSE_UNFOLDING = 1 << 24
"""Up to this many cells BLAS on a dense matrix beats a sparse product."""

MANY = 1_000
"""From so many rows and columns on, all vectors would take too long: a start need not be exact."""


def random_start(
    shape: tuple[int, ...], rank: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Draw rows whose products have about the variance of standardised values."""
    scale = rank ** (-0.5 / len(shape))
    return [scale * random.normal(size=(size, rank)) for size in shape]


def singular_vectors(
    observations: Observations, mode: int, rank: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return up to `rank` left singular vectors of an unfolding, and their singular values.

    The unfolding has the rows of one mode as rows, and 0, the mean of the values, in the gaps.
    """
    matrix = _unfolding(observations, mode)
    width = min(rank, *matrix.shape)
    rows, columns = matrix.shape
    if rows <= MANY or (columns <= MANY and not sparse.issparse(matrix)):
        return leading_vectors(matrix, width)
    seed = int(random.integers(2**31))
    return randomized_svd(matrix, width, random_state=seed)[:2]


def leading_vectors(matrix: Any, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the leading left singular vectors, as many as `width`, and the singular values.

    There may be more vectors than columns: then the further ones complete a basis.
    """
    rows, columns = matrix.shape
    if rows > columns and not sparse.issparse(matrix):
        left, strengths, _ = np.linalg.svd(matrix, full_matrices=width > columns)
        return left[:, :width], strengths[:width]
    gram = matrix @ matrix.T
    gram = gram.toarray() if sparse.issparse(gram) else gram
    squares, vectors = eigh(gram, subset_by_index=[rows - width, rows - 1])
    return vectors[:, ::-1], np.sqrt(np.maximum(squares[::-1], 0.0))


def _unfolding(observations: Observations, mode: int) -> Any:
    """Return the entries as a matrix with the rows of one mode, 0 where unknown."""
    columns = np.zeros(len(observations), dtype=np.int64)
    width = 1
    for other, size in enumerate(observations.shape):
        if other == mode:
            continue
        columns, width = columns * size + observations.indices[:, other], width * size
        if width > MAX_DENSE_UNFOLDING:  # many modes would overflow: number what is there
            columns = np.unique(columns, return_inverse=True)[1].ravel()
            width = int(columns.max()) + 1
    rows, size = observations.indices[:, mode], observations.shape[mode]
    values = np.asarray(observations.values, dtype=np.float64)
    matrix = sparse.coo_array((values, (rows, columns)), shape=(size, width))
    return matrix.toarray() if size * width <= MAX_DENSE_UNFOLDING else matrix.tocsr()
