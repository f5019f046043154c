"""The rows of an ordered mode, all at once: each is coupled to the next two. Compiled."""

from __future__ import annotations

import numpy as np

from vaecp.models.vaecp.sweeps.rows import MOST_ROUNDING, ROUNDING
from vaecp.runtime.lapack import solve_band
from vaecp.runtime.machine_code import loop


@loop(nogil=True, error_model="numpy")
def solve_chain(
    gram,
    right,
    free,
    ones,
    diagonal,
    one_off,
    two_off,
    mean,
    variance,
    one_apart,
    two_apart,
):
    """Write the posterior means of all rows; return whether they could be solved.

    And the covariances of a row with itself and the next two, for every component on its own.

    Of the columns of `gram` and `right`, `free` are solved for, and `ones` stand for 1. The prior
    precision has a diagonal and what couples a row to the next and the one after, per free column.

    Entries that members of many numbers fit without error are so precise that the precision is no
    longer positive in floating point: its diagonal is raised by as small a share as makes it so. By a
    share of each number, since rows without entries are held by their prior alone.
    """
    n_rows, n_free = gram.shape[0], free.shape[0]
    if right.shape[0] != n_rows or mean.shape[0] != n_rows or diagonal.shape[0] != n_rows:
        raise ValueError("the tables differ in size")
    if diagonal.shape[1] != n_free or one_off.shape != diagonal.shape:
        raise ValueError("the prior has other columns than are solved for")
    if two_off.shape != diagonal.shape:
        raise ValueError("the prior has other columns than are solved for")
    for array in (variance, one_apart, two_apart):
        if array.shape != diagonal.shape:
            raise ValueError("the tables differ in size")
    band, solved = np.empty((n_rows * n_free, 2 * n_free + 1)), np.empty(n_rows * n_free)
    own, ridge = np.empty((n_rows, n_free)), 0.0
    while True:
        _fill(gram, right, free, ones, diagonal, one_off, two_off, ridge, band, solved)
        if solve_band(band, solved):
            break
        ridge = max(ROUNDING, 10 * ridge)
        if ridge > MOST_ROUNDING:
            return False
    for row in range(n_rows):
        for r in range(n_free):
            mean[row, free[r]] = solved[row * n_free + r]
            own[row, r] = gram[row, free[r], free[r]] + diagonal[row, r]
    invert_bands(own, one_off, two_off, variance, one_apart, two_apart)
    return True


@loop(nogil=True, error_model="numpy")
def _fill(gram, right, free, ones, diagonal, one_off, two_off, ridge, band, side):
    """Lay out the joint precision of all rows, column by column, and the right side."""
    n_rows, width = diagonal.shape
    band[:] = 0.0
    for row in range(n_rows):
        own = gram[row]
        for s in range(width):
            column = row * width + s
            line, low = band[column], own[free[s]]
            for r in range(s, width):
                line[r - s] = low[free[r]]
            line[0] = (line[0] + diagonal[row, s]) * (1 + ridge)
            if row + 1 < n_rows:
                line[width] = one_off[row, s]
            if row + 2 < n_rows:
                line[2 * width] = two_off[row, s]
            total = 0.0
            for one in ones:
                total += low[one]
            side[column] = right[row, free[s]] - total


@loop(nogil=True, error_model="numpy")
def invert_bands(diagonal, one_off, two_off, variance, one_apart, two_apart):
    """Covariances within two rows of each other, for every component on its own.

    The inverse of a pentadiagonal matrix inside its own band, from its LDL' factors (Takahashi).
    All arrays are (rows, components).
    """
    n_rows, width = diagonal.shape
    pivot, low, lower = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    for r in range(width):
        for j in range(n_rows):
            found = diagonal[j, r]
            if j >= 1:
                found -= low[j - 1] ** 2 * pivot[j - 1]
            if j >= 2:
                found -= lower[j - 2] ** 2 * pivot[j - 2]
            pivot[j] = found
            below = one_off[j, r]
            if j >= 1:
                below -= lower[j - 1] * low[j - 1] * pivot[j - 1]
            low[j] = below / found if j + 1 < n_rows else 0.0
            lower[j] = two_off[j, r] / found if j + 2 < n_rows else 0.0
        for j in range(n_rows - 1, -1, -1):
            one, two = 0.0, 0.0
            if j + 1 < n_rows:
                one = -low[j] * variance[j + 1, r]
            if j + 2 < n_rows:
                one -= lower[j] * one_apart[j + 1, r]
                two = -low[j] * one_apart[j + 1, r] - lower[j] * variance[j + 2, r]
            one_apart[j, r], two_apart[j, r] = one, two
            variance[j, r] = 1 / pivot[j] - low[j] * one - lower[j] * two
