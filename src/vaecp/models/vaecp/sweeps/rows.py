"""Gaussian posteriors of rows from their normal equations, compiled, row by row.

Values without noise make entries so precise that a prior is lost in rounding. Where they determine
fewer numbers than a row has, the diagonal is raised by as small a share as rounding takes away.
"""

from __future__ import annotations

import numpy as np

from vaecp.models.vaecp.sweeps.loops import LOOSE
from vaecp.runtime.machine_code import loop

ROUNDING = 1e-12
MOST_ROUNDING = 1e-4
LEAST, TINY = 1e-9, 1e-300


@loop(nogil=True, fastmath=LOOSE, error_model="numpy")
def solve_rows(
    first, last, gram, right, free, ones, prior_mean, prior_precision, full, mean, variance, second
):
    """Write the posteriors of the rows `first` to `last`; return whether all could be solved.

    Of the columns of `gram` and `right`, `free` are solved for, and `ones` stand for 1. Where
    `full`, `second` is the lower triangle of E[u u'], row by row, else E[u_r^2]. `prior_mean` has
    one line for all rows, or one each.
    """
    width, n_free, n_rows = gram.shape[1], free.shape[0], gram.shape[0]
    if last > n_rows or mean.shape[0] != n_rows or variance.shape[0] != n_rows:
        raise ValueError("there are fewer rows than are asked for")
    if prior_mean.shape[0] not in (1, n_rows) or prior_mean.shape[1] != n_free:
        raise ValueError("there is not one prior for all rows, or one each")
    if second.shape[0] != n_rows or right.shape[1] != width or mean.shape[1] != width:
        raise ValueError("the tables differ in size")
    place = np.full(width, -1)
    for r in range(n_free):
        place[free[r]] = r
    lower, covariance = np.empty((n_free, n_free)), np.empty((n_free, n_free))
    side, solved = np.empty(n_free), np.empty(n_free)
    for row in range(first, last):
        own, prior = gram[row], prior_mean[row if prior_mean.shape[0] > 1 else 0]
        for r in range(n_free):
            total = right[row, free[r]] + prior[r] * prior_precision[r]
            for one in ones:
                total -= own[free[r], one]
            side[r] = total
        if not _factored(own, free, prior_precision, lower):
            return False
        _solve(lower, side, solved)
        if full:
            _inverse(lower, covariance)
        for r in range(n_free):
            mean[row, free[r]] = solved[r]
            at = free[r]
            variance[row, at] = covariance[r, r] if full else 1 / (own[at, at] + prior_precision[r])
        if not full:
            for r in range(width):
                second[row, r] = mean[row, r] ** 2 + variance[row, r]
            continue
        at = 0
        for r in range(width):
            for s in range(r + 1):
                second[row, at] = mean[row, r] * mean[row, s]
                if place[r] >= 0 and place[s] >= 0:
                    second[row, at] += covariance[place[r], place[s]]
                at += 1
    return True


@loop(nogil=True, error_model="numpy")
def set_second(mean, variance, full, second):
    """Write E[u u'], or its diagonal, of rows whose numbers are independent."""
    n_rows, width = mean.shape
    if second.shape[0] != n_rows or variance.shape[0] != n_rows:
        raise ValueError("the tables differ in size")
    for row in range(n_rows):
        at = 0
        for r in range(width):
            if full:
                for s in range(r):
                    second[row, at] = mean[row, r] * mean[row, s]
                    at += 1
            second[row, at] = mean[row, r] ** 2 + variance[row, r]
            at += 1


def conditional_variance(mean: np.ndarray, second: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return the variance of each free component of rows, given their other ones: (rows, free)."""
    low, high = np.tril_indices(mean.shape[1])
    covariance = np.empty((len(mean), mean.shape[1], mean.shape[1]))
    covariance[:, low, high] = second - mean[:, low] * mean[:, high]
    covariance[:, high, low] = covariance[:, low, high]
    covariance = covariance[:, free[:, None], free]
    variance = np.einsum("jrr->jr", covariance)
    sizes = np.sqrt(np.maximum(variance, TINY))
    correlation = covariance / sizes[:, :, None] / sizes[:, None, :] + LEAST * np.eye(len(free))
    certain = np.einsum("jrr->jr", np.linalg.inv(correlation))
    return variance / np.maximum(certain, 1.0)


@loop(nogil=True, fastmath=LOOSE, error_model="numpy")
def _factored(gram, free, added, lower):
    """Write the Cholesky factor of the free part of a gram with something added to its diagonal."""
    n_free, size = free.shape[0], 0.0
    for r in range(n_free):
        size += (gram[free[r], free[r]] + added[r]) / n_free
    ridge = 0.0
    while not _cholesky(gram, free, added, ridge * size, lower):
        ridge = max(ROUNDING, 10 * ridge)
        if not ridge <= MOST_ROUNDING:
            return False
    return True


@loop(nogil=True, fastmath=LOOSE, error_model="numpy")
def _cholesky(gram, free, added, ridge, lower):
    for r in range(free.shape[0]):
        line, above = gram[free[r]], lower[r]
        for s in range(r):
            other, total = lower[s], line[free[s]]
            for t in range(s):
                total -= above[t] * other[t]
            above[s] = total / other[s]
        pivot = line[free[r]] + added[r] + ridge
        size = pivot
        for t in range(r):
            pivot -= above[t] * above[t]
        if not pivot > size * 1e-15:
            return False
        above[r] = np.sqrt(pivot)
    return True


@loop(nogil=True, fastmath=LOOSE, error_model="numpy")
def _solve(lower, side, solved):
    n = lower.shape[0]
    for r in range(n):
        total = side[r]
        for s in range(r):
            total -= lower[r, s] * solved[s]
        solved[r] = total / lower[r, r]
    for r in range(n - 1, -1, -1):
        solved[r] /= lower[r, r]
        for s in range(r):
            solved[s] -= lower[r, s] * solved[r]


@loop(nogil=True, fastmath=LOOSE, error_model="numpy")
def _inverse(lower, found):
    """Write the inverse of L L', by way of that of L."""
    n = lower.shape[0]
    for s in range(n):
        found[s, s] = 1 / lower[s, s]
        for r in range(s + 1, n):
            total = 0.0
            for t in range(s, r):
                total -= lower[r, t] * found[t, s]
            found[r, s] = total / lower[r, r]
    for r in range(n):
        for s in range(r + 1):
            total = 0.0
            for t in range(r, n):
                total += found[t, r] * found[t, s]
            found[r, s] = total
            found[s, r] = total
