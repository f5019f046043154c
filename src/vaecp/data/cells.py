"""Numbers of cells: one integer per cell sorts and compares much faster than a row of integers.

Cells are numbered in row-major order, the last mode running fastest, as `reshape` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MAX_NUMBER = 2.0**62


def keys_fit(shape: tuple[int, ...]) -> bool:
    """Whether every cell of the tensor can have a 64-bit number of its own."""
    return float(np.prod(np.array(shape, dtype=float))) < MAX_NUMBER


def n_cells(shape: Sequence[int]) -> int:
    """Count the cells of a tensor, of however many modes."""
    return int(np.prod([float(size) for size in shape]))


def cell_keys(indices: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Number entries by their cell, from 0.

    Examples
    --------
    >>> cell_keys(np.array([[0, 2], [1, 0]]), (2, 3))
    array([2, 3])
    """
    return fibre_keys(indices, shape, len(shape) - 1)


def fibre_keys(indices: np.ndarray, shape: Sequence[int], mode: int) -> np.ndarray:
    """Number entries by their cell so that those of one fibre along `mode` are consecutive."""
    keys = np.zeros(len(indices), dtype=np.int64)
    for other, n_rows in enumerate(shape):
        if other != mode:
            keys = keys * n_rows + indices[:, other]
    return keys * shape[mode] + indices[:, mode]


def coordinates(keys: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the (n, D) coordinates of cells by their numbers: the inverse of `cell_keys`."""
    return np.stack(np.unravel_index(keys, shape), axis=1)


def distinct_cells(indices: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Find entries that share a cell.

    Returns
    -------
    first : the position of the first entry of every distinct cell, in row-major order of cells.
    group : for every entry, the place of its cell in `first`.
    """
    keys, axis = (cell_keys(indices, shape), None) if keys_fit(shape) else (indices, 0)
    _, first, group = np.unique(keys, axis=axis, return_index=True, return_inverse=True)
    return first, group.ravel()


def unlisted_cells(indices: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the numbers of all cells that none of the entries lies in, in row-major order."""
    unknown = np.ones(int(np.prod(shape, dtype=np.int64)), dtype=bool)
    unknown[cell_keys(indices, shape)] = False
    return np.flatnonzero(unknown)


def row_counts(indices: np.ndarray, shape: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Return per mode how many entries each row has."""
    modes = zip(indices.T, shape, strict=True)
    return tuple(np.bincount(column, minlength=size) for column, size in modes)


def cell_sums(
    indices: np.ndarray, values: np.ndarray, shape: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum and the number of the values of every cell, as arrays of this shape.

    Examples
    --------
    >>> cell_sums(np.array([[0, 1], [0, 1]]), np.array([2.0, 3.0]), (1, 2))
    (array([[0., 5.]]), array([[0, 2]]))
    """
    size = n_cells(shape)
    flat = cell_keys(indices, shape)
    totals, counts = np.bincount(flat, values, size), np.bincount(flat, minlength=size)
    return totals.reshape(shape), counts.reshape(shape)
