"""The loops over entries, compiled by Numba once per machine, whatever the sizes."""

from __future__ import annotations

import numpy as np

from vaecp.runtime.machine_code import loop

LOOSE = {"contract", "reassoc", "nsz", "arcp"}


@loop(nogil=True, fastmath=LOOSE, error_model="numpy")
def sum_over_rows(
    first, last, mode, order, start, ids, mean, second, values, weights, gram, right, full
):
    """Add up the normal equations of the rows `first` to `last` of one mode.

    With k the product of an entry's rows in the other modes, gram = sum of w E[k k'] and right =
    sum of w x E[k]. `second` holds E[u_r^2] of every row; or, where `full`, the lower triangle of
    E[u u'], row by row.
    """
    if last >= start.shape[0] or last > gram.shape[0] or last > right.shape[0]:
        raise ValueError("there are fewer rows than are asked for")
    n_entries = ids.shape[0]
    if start[last] > order.shape[0] or order.shape[0] > n_entries:
        raise ValueError("there are fewer entries than rows refer to")
    if values.shape[0] != n_entries or weights.shape[0] != n_entries:
        raise ValueError("there are not as many values and weights as entries")
    if second.shape[0] != mean.shape[0] or gram.shape[2] != mean.shape[1]:
        raise ValueError("the tables differ in size")
    n_modes, width, n_second = ids.shape[1], mean.shape[1], second.shape[1]
    product, squares, total = np.empty(width), np.empty(n_second), np.empty(n_second)
    for row in range(first, last):
        own, side = gram[row], right[row]
        own[:] = 0.0
        side[:] = 0.0
        total[:] = 0.0
        for place in range(start[row], start[row + 1]):
            entry = order[place]
            product[:] = 1.0
            squares[:] = 1.0
            for other in range(n_modes):
                if other != mode:
                    rows, moments = mean[ids[entry, other]], second[ids[entry, other]]
                    for r in range(width):
                        product[r] *= rows[r]
                    for r in range(n_second):
                        squares[r] *= moments[r]
            weight = weights[entry]
            pull = weight * values[entry]
            for r in range(width):
                side[r] += pull * product[r]
            for r in range(n_second):
                total[r] += weight * squares[r]
            if not full:
                for r in range(width):
                    scaled, line = weight * product[r], own[r]
                    for s in range(r):
                        line[s] += scaled * product[s]
        _unpack(total, own, full)


@loop(nogil=True, fastmath=LOOSE, error_model="numpy")
def sum_of_designs(start, design, spread, values, weights, gram, right):
    """Add up the normal equations of rows whose entries lie one after the other.

    Entries `start[row]` to `start[row + 1]` have means and variances of their designs; gram = sum
    of w E[k k'] and right = sum of w x E[k].
    """
    n_rows, n_entries, width = len(start) - 1, design.shape[0], design.shape[1]
    if n_rows > gram.shape[0] or n_rows > right.shape[0] or gram.shape[2] != width:
        raise ValueError("there are fewer rows than are asked for")
    if start[0] < 0 or start[n_rows] > n_entries or spread.shape[0] != n_entries:
        raise ValueError("there are fewer entries than rows refer to")
    if values.shape[0] != n_entries or weights.shape[0] != n_entries:
        raise ValueError("there are not as many values and weights as entries")
    for row in range(n_rows):
        own, side = gram[row], right[row]
        own[:] = 0.0
        side[:] = 0.0
        for entry in range(start[row], start[row + 1]):
            weight = weights[entry]
            for r in range(width):
                scaled = weight * design[entry, r]
                side[r] += scaled * values[entry]
                own[r, r] += weight * spread[entry, r]
                for s in range(r + 1):
                    own[r, s] += scaled * design[entry, s]
        for r in range(width):
            for s in range(r):
                own[s, r] = own[r, s]


@loop(nogil=True, error_model="numpy", inline="always")
def _unpack(total, own, full):
    """Write the second moments into a gram, and make it symmetric."""
    at = 0
    for r in range(own.shape[0]):
        for s in range(r):
            if full:
                own[r, s] = total[at]
                at += 1
            own[s, r] = own[r, s]
        own[r, r] = total[at] if full else total[r]
        at += 1


@loop(nogil=True, fastmath=LOOSE, error_model="numpy")
def moments_of_entries(first, last, ids, mean, second, full, out_mean, out_variance):
    """Mean and variance of the multilinear part at entries `first` to `last`."""
    _check(first, last, ids, mean, second, full)
    if last > out_mean.shape[0] or last > out_variance.shape[0]:
        raise ValueError("there are more entries than places for what is computed of them")
    n_modes, width, n_second = ids.shape[1], mean.shape[1], second.shape[1]
    product, squares = np.empty(width), np.empty(n_second)
    for entry in range(first, last):
        product[:] = 1.0
        squares[:] = 1.0
        for mode in range(n_modes):
            rows, moments = mean[ids[entry, mode]], second[ids[entry, mode]]
            for r in range(width):
                product[r] *= rows[r]
            for r in range(n_second):
                squares[r] *= moments[r]
        centre, spread, at = 0.0, 0.0, 0
        for r in range(width):
            centre += product[r]
            if full:
                for s in range(r):
                    spread += 2 * (squares[at] - product[r] * product[s])
                    at += 1
            spread += squares[at] - product[r] * product[r]
            at += 1
        out_mean[entry] = centre
        out_variance[entry] = max(spread, 0.0)


@loop(nogil=True)
def _check(first, last, ids, mean, second, full):
    """Refuse tables that do not fit each other, and rows that they do not have.

    Compiled loops do not look where they read; a pass of its own over the indices of entries takes
    a small part of the time of what follows.
    """
    n_rows, width = mean.shape
    n_second = width * (width + 1) // 2 if full else width
    if second.shape[0] != n_rows or second.shape[1] != n_second:
        raise ValueError("the tables of the rows and of their second moments differ in size")
    if first < 0 or last > ids.shape[0]:
        raise ValueError("there are fewer entries than are asked for")
    lowest, highest = np.int64(0), np.int64(0)
    for entry in range(first, last):
        for mode in range(ids.shape[1]):
            lowest, highest = min(lowest, ids[entry, mode]), max(highest, ids[entry, mode])
    if lowest < 0 or highest >= n_rows:
        raise ValueError("an entry has a row that is not in the tables")


@loop(error_model="numpy")
def fill_band(gram, diagonal, one_off, two_off, band):
    """Lay out the joint precision of all rows of a mode, rows coupled to the next two."""
    n_rows, width, _ = gram.shape
    band[:] = 0.0
    for row in range(n_rows):
        for s in range(width):
            column = row * width + s
            for r in range(s, width):
                band[r - s, column] = gram[row, r, s]
            band[0, column] += diagonal[row, s]
            if row + 1 < n_rows:
                band[width, column] = one_off[row, s]
            if row + 2 < n_rows:
                band[2 * width, column] = two_off[row, s]


@loop(error_model="numpy")
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
