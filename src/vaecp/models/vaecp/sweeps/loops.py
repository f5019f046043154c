"""The loops over entries, compiled by Numba once per machine, whatever the sizes."""

from __future__ import annotations

import numpy as np

from vaecp.runtime.lapack import add_squares
from vaecp.runtime.machine_code import loop

LOOSE = {"contract", "reassoc", "nsz", "arcp"}
BLOCK, ENOUGH = 128, 16
"""Entries of a row whose products are added up at once, and how many are worth it."""


@loop(nogil=True, fastmath=LOOSE, error_model="numpy")
def sum_over_rows(
    first, last, order, start, others, mean, second, values, weights, gram, right, full
):
    """Add up the normal equations of the rows `first` to `last` of one mode.

    With k the product of an entry's rows in the other modes, gram = sum of w E[k k'] and right =
    sum of w x E[k]. `others` has the rows in the other modes, in the order of the rows of this one.
    `second` holds E[u_r^2] of every row; or, where `full`, the lower triangle of E[u u'], row by row.
    """
    if last >= start.shape[0] or last > gram.shape[0] or last > right.shape[0]:
        raise ValueError("there are fewer rows than are asked for")
    n_entries = others.shape[0]
    if start[last] > order.shape[0] or order.shape[0] > n_entries:
        raise ValueError("there are fewer entries than rows refer to")
    if values.shape[0] != n_entries or weights.shape[0] != n_entries:
        raise ValueError("there are not as many values and weights as entries")
    if second.shape[0] != mean.shape[0] or gram.shape[2] != mean.shape[1]:
        raise ValueError("the tables differ in size")
    total, side = np.empty(second.shape[1]), np.empty(mean.shape[1])
    products, scratch = np.empty((BLOCK, mean.shape[1])), np.empty((1, second.shape[1]))
    for row in range(first, last):
        gram[row], total[:], side[:] = 0.0, 0.0, 0.0
        for begin in range(start[row], start[row + 1], BLOCK):
            n_here = min(BLOCK, start[row + 1] - begin)
            for place in range(n_here):
                entry = order[begin + place]
                weight = weights[entry]
                scale, pull = np.sqrt(weight), weight * values[entry]
                _multiply(mean, others, begin + place, products, place)
                _multiply(second, others, begin + place, scratch, 0)
                for r in range(mean.shape[1]):
                    side[r] += pull * products[place, r]
                    products[place, r] *= scale
                for r in range(second.shape[1]):
                    total[r] += weight * scratch[0, r]
            if not full:
                _add_gram(products, n_here, gram, row)
        for r in range(side.shape[0]):  # `right[row] = side` takes the compiler seconds more
            right[row, r] = side[r]
        _unpack(total, gram[row], full)


@loop(nogil=True, fastmath=LOOSE, error_model="numpy", inline="always")
def _multiply(table, ids, entry, products, place):
    """Write the product of the lines that an entry refers to; of the first two in one pass."""
    first, width = ids[entry, 0], table.shape[1]
    if ids.shape[1] == 1:
        for r in range(width):
            products[place, r] = table[first, r]
    else:
        other = ids[entry, 1]
        for r in range(width):
            products[place, r] = table[first, r] * table[other, r]
    for mode in range(2, ids.shape[1]):
        at = ids[entry, mode]
        for r in range(width):
            products[place, r] *= table[at, r]


@loop(nogil=True, fastmath=LOOSE, error_model="numpy")
def _add_gram(products, n_products, gram, row):
    """Add P'P to the lower triangle of a gram."""
    if n_products >= ENOUGH:
        add_squares(products[:n_products], gram[row])
        return
    for place in range(n_products):
        for r in range(products.shape[1]):
            scaled = products[place, r]
            for s in range(r):
                gram[row, r, s] += scaled * products[place, s]


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
    width, n_second = mean.shape[1], second.shape[1]
    product, scratch = np.empty((1, width)), np.empty((1, n_second))
    counts = np.full(
        n_second, 2.0 if full else 1.0
    )  # how often a number stands in the whole matrix
    if full:
        for r in range(width):
            counts[r * (r + 3) // 2] = 1.0
    for entry in range(first, last):
        _multiply(mean, ids, entry, product, 0)
        _multiply(second, ids, entry, scratch, 0)
        total = 0.0
        for r in range(n_second):
            total += counts[r] * scratch[0, r]
        centre, squares = 0.0, 0.0
        for r in range(width):
            centre += product[0, r]
            squares += product[0, r] * product[0, r]
        out_mean[entry] = centre
        out_variance[entry] = max(total - (centre * centre if full else squares), 0.0)


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
