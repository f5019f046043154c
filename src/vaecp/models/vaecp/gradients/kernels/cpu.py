"""The loops over entries on the CPU, compiled by Numba.

XLA's CPU backend turns gathers, their gradients and what lies between into many passes over
arrays of entries x hidden units. Here an entry is done with before the next one is looked at:
all that it needs stays in the first-level cache.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numba import float32, njit

from vaecp.models.vaecp.gradients.kernels.foreign import (
    FLOAT,
    INTEGER,
    answers_question,
    argument,
    compiled,
    dimension,
    fits,
    floats,
    has_buffers,
    integers,
    n_mapped,
    refuse,
    register,
    result,
)
from vaecp.models.vaecp.gradients.kernels.reference import RowTables, check

# Sums may be reordered, which vector instructions need. Infinities and NaN keep their meaning.
LOOSE = {"contract", "reassoc", "nsz", "arcp"}
LOG_2PI = float32(1.8378770664093453)
HALF, ONE = float32(0.5), float32(1.0)


@njit(fastmath=LOOSE, inline="always")
def _tanh(x):
    """A ratio of polynomials, right to a few units in the last place of a 32-bit float."""
    x = min(max(x, float32(-7.90531110763549805)), float32(7.90531110763549805))
    square = x * x
    top = float32(-2.76076847742355e-16)
    top = top * square + float32(2.00018790482477e-13)
    top = top * square + float32(-8.60467152213735e-11)
    top = top * square + float32(5.12229709037114e-08)
    top = top * square + float32(1.48572235717979e-05)
    top = top * square + float32(6.37261928875436e-04)
    top = top * square + float32(4.89352455891786e-03)
    bottom = float32(1.19825839466702e-06)
    bottom = bottom * square + float32(1.18534705686654e-04)
    bottom = bottom * square + float32(2.26843463243900e-03)
    bottom = bottom * square + float32(4.89352518554385e-03)
    return x * top / bottom


@njit(fastmath=LOOSE, error_model="numpy", inline="always")
def _forward(rows, projected, factors, heads, biases, hidden, products):
    """The mean and the log-variance of one entry.

    Leaves behind its hidden units, and the products of its factors before each mode but the first.
    """
    n_hidden, rank = projected.shape[1], factors.shape[1]
    last = len(rows) - 1
    own = projected[rows[0]]
    for k in range(n_hidden):
        hidden[k] = own[k]
    for mode in range(1, last):
        own = projected[rows[mode]]
        for k in range(n_hidden):
            hidden[k] += own[k]
    own = projected[rows[last]]
    mean, log_variance = biases[0], biases[1]
    of_mean, of_log_variance = heads[0], heads[1]
    for k in range(n_hidden):
        unit = _tanh(hidden[k] + own[k])
        hidden[k] = unit
        mean += of_mean[k] * unit
        log_variance += of_log_variance[k] * unit
    own, product = factors[rows[0]], products[1]
    for r in range(rank):
        product[r] = own[r]
    for mode in range(1, last):
        own, before, product = factors[rows[mode]], products[mode], products[mode + 1]
        for r in range(rank):
            product[r] = before[r] * own[r]
    own, product = factors[rows[last]], products[last]
    for r in range(rank):
        mean += product[r] * own[r]
    return mean, log_variance


@njit(fastmath=LOOSE, error_model="numpy", inline="always")
def _backward(
    rows, factors, heads, slopes, hidden, products, rest, d_projected, d_factors, d_heads
):
    """Add an entry's part of the gradients, given the slopes of its log-likelihood."""
    n_hidden, rank = d_projected.shape[1], factors.shape[1]
    last = len(rows) - 1
    slope_of_mean, slope_of_log_variance = slopes
    of_mean, of_log_variance = heads[0], heads[1]
    d_of_mean, d_of_log_variance = d_heads[0], d_heads[1]
    for k in range(n_hidden):
        unit = hidden[k]
        d_of_mean[k] += slope_of_mean * unit
        d_of_log_variance[k] += slope_of_log_variance * unit
        hidden[k] = (ONE - unit * unit) * (
            slope_of_mean * of_mean[k] + slope_of_log_variance * of_log_variance[k]
        )
    for mode in range(last + 1):
        own = d_projected[rows[mode]]
        for k in range(n_hidden):
            own[k] += hidden[k]
    for r in range(rank):
        rest[r] = slope_of_mean
    for mode in range(last, 0, -1):
        own, d_own, before = factors[rows[mode]], d_factors[rows[mode]], products[mode]
        for r in range(rank):
            d_own[r] += rest[r] * before[r]
            rest[r] *= own[r]
    d_own = d_factors[rows[0]]
    for r in range(rank):
        d_own[r] += rest[r]


@njit
def _inside(ids, n_rows):
    """Whether all rows are in the tables.

    A pass of its own: a look at every entry within the loops would cost a quarter of their time.
    """
    lowest, highest = np.int32(0), np.int32(0)
    for row in ids.ravel():
        lowest, highest = min(lowest, row), max(highest, row)
    return lowest >= 0 and highest < n_rows


@njit(fastmath=LOOSE, error_model="numpy")
def _log_likelihood(
    ids, values, weights, projected, factors, heads, biases, totals, d_projected, d_factors, d_heads
):
    """Weighted log-likelihood of entries (totals[0]) and its gradients (totals[1:]: biases)."""
    n_entries, n_modes = ids.shape
    n_hidden, rank = projected.shape[1], factors.shape[1]
    hidden, rest = np.empty(n_hidden, np.float32), np.empty(rank, np.float32)
    products = np.ones((n_modes + 1, rank), np.float32)
    d_projected[:], d_factors[:], d_heads[:] = 0.0, 0.0, 0.0
    total, d_mean_bias, d_scale_bias = 0.0, 0.0, 0.0
    for n in range(n_entries):
        weight = weights[n]
        if weight == 0:
            continue
        mean, log_variance = _forward(ids[n], projected, factors, heads, biases, hidden, products)
        error = values[n] - mean
        precision = np.exp(-log_variance)
        surprise = error * error * precision
        total -= weight * HALF * (LOG_2PI + log_variance + surprise)
        slopes = weight * error * precision, weight * HALF * (surprise - ONE)
        d_mean_bias += slopes[0]
        d_scale_bias += slopes[1]
        _backward(
            ids[n], factors, heads, slopes, hidden, products, rest, d_projected, d_factors, d_heads
        )
    totals[0], totals[1], totals[2] = total, d_mean_bias, d_scale_bias


@njit
def _fit_each_other(frame, ids, projected, rank):
    """Whether all buffers of a call have the sizes that those of two arrays ask for."""
    (n_entries, n_modes), (n_rows, n_hidden), whole = ids, projected, result(frame, 0)
    return (
        n_modes > 1
        and fits(argument(frame, 0), INTEGER, ids, whole, 1)
        and fits(argument(frame, 1), FLOAT, (n_entries,), whole, 1)
        and fits(argument(frame, 2), FLOAT, (n_entries,), whole, 1)
        and fits(argument(frame, 3), FLOAT, projected, whole, 1)
        and fits(argument(frame, 4), FLOAT, (n_rows, rank), whole, 1)
        and fits(argument(frame, 5), FLOAT, (2, n_hidden), whole, 1)
        and fits(argument(frame, 6), FLOAT, (2,), whole, 1)
        and fits(whole, FLOAT, (3,), whole, 1)
        and fits(result(frame, 1), FLOAT, projected, whole, 1)
        and fits(result(frame, 2), FLOAT, (n_rows, rank), whole, 1)
        and fits(result(frame, 3), FLOAT, (2, n_hidden), whole, 1)
    )


@compiled
def _log_likelihood_call(frame):
    if answers_question(frame):
        return 0
    if not has_buffers(frame, 7, 4):
        return refuse(frame)
    ids, values, weights = argument(frame, 0), argument(frame, 1), argument(frame, 2)
    projected, factors = argument(frame, 3), argument(frame, 4)
    heads, biases = argument(frame, 5), argument(frame, 6)
    totals, d_projected = result(frame, 0), result(frame, 1)
    d_factors, d_heads = result(frame, 2), result(frame, 3)
    n_entries, n_modes = dimension(ids, -2), dimension(ids, -1)
    n_rows, n_hidden, rank = (
        dimension(projected, -2),
        dimension(projected, -1),
        dimension(factors, -1),
    )
    if not _fit_each_other(frame, (n_entries, n_modes), (n_rows, n_hidden), rank):
        return refuse(frame)
    for number in range(n_mapped(totals, 1)):
        own_ids = integers(ids, (n_entries, n_modes), number, totals, 1)
        if not _inside(own_ids, n_rows):
            return refuse(frame)
        _log_likelihood(
            own_ids,
            floats(values, (n_entries,), number, totals, 1),
            floats(weights, (n_entries,), number, totals, 1),
            floats(projected, (n_rows, n_hidden), number, totals, 1),
            floats(factors, (n_rows, rank), number, totals, 1),
            floats(heads, (2, n_hidden), number, totals, 1),
            floats(biases, (2,), number, totals, 1),
            floats(totals, (3,), number, totals, 1),
            floats(d_projected, (n_rows, n_hidden), number, totals, 1),
            floats(d_factors, (n_rows, rank), number, totals, 1),
            floats(d_heads, (2, n_hidden), number, totals, 1),
        )
    return 0


@njit(fastmath=LOOSE, error_model="numpy")
def _decode(ids, projected, factors, heads, biases, outputs):
    n_entries, n_modes = ids.shape
    hidden = np.empty(projected.shape[1], np.float32)
    products = np.ones((n_modes + 1, factors.shape[1]), np.float32)
    for n in range(n_entries):
        outputs[0, n], outputs[1, n] = _forward(
            ids[n], projected, factors, heads, biases, hidden, products
        )


@compiled
def _decode_call(frame):
    if answers_question(frame):
        return 0
    if not has_buffers(frame, 5, 1):
        return refuse(frame)
    ids, projected, factors = argument(frame, 0), argument(frame, 1), argument(frame, 2)
    heads, biases, outputs = argument(frame, 3), argument(frame, 4), result(frame, 0)
    n_entries, n_modes = dimension(ids, -2), dimension(ids, -1)
    n_rows, n_hidden, rank = (
        dimension(projected, -2),
        dimension(projected, -1),
        dimension(factors, -1),
    )
    if not (
        n_modes > 1
        and fits(ids, INTEGER, (n_entries, n_modes), outputs, 2)
        and fits(projected, FLOAT, (n_rows, n_hidden), outputs, 2)
        and fits(factors, FLOAT, (n_rows, rank), outputs, 2)
        and fits(heads, FLOAT, (2, n_hidden), outputs, 2)
        and fits(biases, FLOAT, (2,), outputs, 2)
        and fits(outputs, FLOAT, (2, n_entries), outputs, 2)
    ):
        return refuse(frame)
    for number in range(n_mapped(outputs, 2)):
        own_ids = integers(ids, (n_entries, n_modes), number, outputs, 2)
        if not _inside(own_ids, n_rows):
            return refuse(frame)
        _decode(
            own_ids,
            floats(projected, (n_rows, n_hidden), number, outputs, 2),
            floats(factors, (n_rows, rank), number, outputs, 2),
            floats(heads, (2, n_hidden), number, outputs, 2),
            floats(biases, (2,), number, outputs, 2),
            floats(outputs, (2, n_entries), number, outputs, 2),
        )
    return 0


LOG_LIKELIHOOD, DECODE = "vaecp_log_likelihood", "vaecp_decode"
register(LOG_LIKELIHOOD, _log_likelihood_call)
register(DECODE, _decode_call)


def decode(tables: RowTables) -> tuple[Array, Array]:
    """Return the mean and the log-variance of every entry."""
    check(tables)
    (outputs,) = _call(DECODE, (2, tables.ids.shape[0]))(*tables)
    return outputs[0], outputs[1]


def value_and_gradients(
    tables: RowTables, values: Array, weights: Array
) -> tuple[Array, RowTables]:
    """Return the log-likelihood and its gradients."""
    check(tables, values, weights)
    call = _call(
        LOG_LIKELIHOOD, (3,), tables.projected.shape, tables.factors.shape, tables.heads.shape
    )
    totals, *gradients = call(tables.ids, values, weights, *tables[1:])
    return totals[0], RowTables(None, *gradients, totals[1:])  # type: ignore[arg-type]


def _call(name: str, *shapes: tuple[int, ...]):
    results = tuple(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes)
    return jax.ffi.ffi_call(name, results, vmap_method="expand_dims")
