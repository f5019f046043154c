"""Sums over the path through the rows of an ordered mode, compiled: of few rows arrays cost more than numbers.

The diagonals of the path's Laplacian L are `diagonal` and `off`, those of its square `square`, `square_off`
and `square_two`. What couples a row to the next, or to the one after, stands at the first of the two.
"""

from __future__ import annotations

from vaecp.runtime.machine_code import loop


@loop(nogil=True, error_model="numpy")
def fill_precision(t, size, diagonal, off, square, square_off, square_two, own, one_off, two_off):
    """Write size * (I + t L)^2 of every component, (rows, components)."""
    for row in range(own.shape[0]):
        for r in range(own.shape[1]):
            own[row, r] = size[r] * (1 + 2 * t[r] * diagonal[row] + t[r] ** 2 * square[row])
            one_off[row, r] = size[r] * (2 * t[r] * off[row] + t[r] ** 2 * square_off[row])
            two_off[row, r] = size[r] * t[r] ** 2 * square_two[row]


@loop(nogil=True, error_model="numpy")
def add_up_squares(
    mean,
    variance,
    one_apart,
    two_apart,
    diagonal,
    off,
    square,
    square_off,
    square_two,
    strengths,
    norms,
    squares,
):
    """Write E[u' n(t) (I + t L)^2 u] of every candidate t and component.

    The rows u of a component have these means, and covariances with the next two rows.
    """
    n_rows, width = mean.shape
    for r in range(width):
        total, rough, rougher = 0.0, 0.0, 0.0
        for row in range(n_rows):
            here = mean[row, r] ** 2 + variance[row, r]
            total += here
            rough += diagonal[row] * here
            rougher += square[row] * here
            if row + 1 < n_rows:
                there = mean[row, r] * mean[row + 1, r] + one_apart[row, r]
                rough += 2 * off[row] * there
                rougher += 2 * square_off[row] * there
            if row + 2 < n_rows:
                there = mean[row, r] * mean[row + 2, r] + two_apart[row, r]
                rougher += 2 * square_two[row] * there
        rough, rougher = max(rough, 0.0), max(rougher, 0.0)
        for place in range(len(strengths)):
            t = strengths[place]
            squares[place, r] = norms[place] * (total + 2 * t * rough + t**2 * rougher)
