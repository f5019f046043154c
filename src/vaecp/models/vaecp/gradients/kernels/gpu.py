"""The loop over the entries of a training step on an NVIDIA GPU: one Pallas kernel.

A program takes a few blocks of entries. Rows are read from, and their gradients added to,
tables that fit into the second-level cache; nothing per entry is written to memory.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from vaecp.models.vaecp.gradients.kernels.additions import add
from vaecp.models.vaecp.gradients.kernels.reference import Tables, blame, check
from vaecp.models.vaecp.likelihoods.gaussian import LOG_2PI

UNITS_PER_BLOCK = 512
PROGRAMS = 2112
"""A program is one warp, so that sums over the entries of a block stay within a thread. A thread
holds 16 numbers of each array, and each of a Hopper card's 132 multiprocessors runs 16 programs."""


def value_and_gradients(tables: Tables, values: Array, weights: Array) -> tuple[Array, Tables]:
    """Return the log-likelihood and its gradients; that of `ids` is None."""
    check(tables, values, weights)
    ids = jnp.clip(tables.ids, 0, tables.projected.shape[0] - 1)
    value, gradients = _launch(tables._replace(ids=ids), values, weights)
    return value + blame(tables), gradients


def _launch(tables: Tables, values: Array, weights: Array) -> tuple[Array, Tables]:
    width = pl.next_power_of_2(max(table.shape[1] for table in tables[1:3]))
    block_size = max(UNITS_PER_BLOCK // width, 1)
    n_blocks = pl.cdiv(tables.ids.shape[0], block_size)
    blocks_per_program = pl.cdiv(n_blocks, PROGRAMS)
    zeros = [jnp.zeros(3), *(jnp.zeros_like(t) for t in tables[1:4])]
    n_inputs = len(tables) + 2
    call = pl.pallas_call(
        functools.partial(_kernel, block_size=block_size, n_blocks=blocks_per_program),
        out_shape=[jax.ShapeDtypeStruct(z.shape, z.dtype) for z in zeros],
        grid=(pl.cdiv(n_blocks, blocks_per_program),),
        input_output_aliases={n_inputs + number: number for number in range(len(zeros))},
        compiler_params=triton.CompilerParams(num_warps=1, num_stages=1),
        name="vaecp_log_likelihood",
    )
    totals, *gradients = call(*tables, values, weights, *zeros)
    return totals[0], Tables(None, *gradients, totals[1:])  # type: ignore[arg-type]


def _kernel(
    ids, projected, factors, heads, biases, values, weights, *rest, block_size: int, n_blocks: int
):
    totals, d_projected, d_factors, d_heads = rest[4:]  # aliases of the zeros before them
    n_entries, n_modes = ids.shape
    units, is_unit = _columns(projected.shape[1])
    rank = factors.shape[1]
    components, is_component = _columns(max(rank, 1))
    # (block, units): a block of rows, one per entry.
    of_mean, of_log_variance = (
        triton.load(heads.at[head, units], mask=is_unit, other=0.0)[None] for head in (0, 1)
    )

    def block(number, sums):
        entries = (pl.program_id(0) * n_blocks + number) * block_size + jnp.arange(block_size)
        inside = entries < n_entries
        rows = [
            triton.load(ids.at[entries, jnp.full_like(entries, mode)], mask=inside, other=0)
            for mode in range(n_modes)
        ]
        weight, value = (
            triton.load(each.at[entries], mask=inside, other=0.0) for each in (weights, values)
        )
        hidden = _tanh(_sum([_rows_of(projected, row, units, is_unit) for row in rows]))
        mean = jnp.sum(hidden * of_mean, axis=1) + biases[0]
        log_variance = jnp.sum(hidden * of_log_variance, axis=1) + biases[1]
        own = [_rows_of(factors, row, components, is_component) for row in rows] if rank else []
        if rank:
            mean += jnp.sum(_product(own), axis=1)
        log_likelihood, *slopes = _gaussian(value - mean, log_variance, weight)
        counts = (weight != 0)[:, None]
        slope = slopes[0][:, None] * of_mean + slopes[1][:, None] * of_log_variance
        slope *= 1 - hidden * hidden
        for row in rows:
            _add_rows(d_projected, row, units, slope, counts & is_unit[None])
        for mode, row in enumerate(rows if rank else []):
            others = _product(own[:mode] + own[mode + 1 :])
            mask = counts & is_component[None]
            _add_rows(d_factors, row, components, slopes[0][:, None] * others, mask)
        terms = [jnp.sum(each) for each in (log_likelihood, *slopes)]
        terms += [jnp.sum(each[:, None] * hidden, axis=0) for each in slopes]
        return tuple(total + term for total, term in zip(sums, terms, strict=True))

    zero, nothing = jnp.zeros((), jnp.float32), jnp.zeros(units.shape, jnp.float32)
    sums = jax.lax.fori_loop(0, n_blocks, block, (zero, zero, zero, nothing, nothing))
    for number, total in enumerate(sums[:3]):
        add(totals, (number,), total)
    for head, total in enumerate(sums[3:]):
        add(d_heads, (jnp.full_like(units, head), units), total, is_unit)


def _gaussian(error: Array, log_variance: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Weighted log-densities, and their slopes in the mean and in the log-variance."""
    precision = jnp.exp(-log_variance)
    surprise = error * error * precision
    log_density = -0.5 * weight * (LOG_2PI + log_variance + surprise)
    return log_density, weight * error * precision, 0.5 * weight * (surprise - 1)


def _columns(n_columns: int) -> tuple[Array, Array]:
    """Indices of columns, as many as a power of two, and which of them exist."""
    columns = jnp.arange(pl.next_power_of_2(n_columns))
    return columns, columns < n_columns


def _rows_of(table, rows: Array, columns: Array, exists: Array) -> Array:
    shape = (rows.shape[0], columns.shape[0])
    place = (jnp.broadcast_to(rows[:, None], shape), jnp.broadcast_to(columns[None], shape))
    return triton.load(table.at[place], mask=jnp.broadcast_to(exists[None], shape), other=0.0)


def _add_rows(table, rows: Array, columns: Array, terms: Array, mask: Array) -> None:
    place = (
        jnp.broadcast_to(rows[:, None], terms.shape),
        jnp.broadcast_to(columns[None], terms.shape),
    )
    add(table, place, terms, mask)


def _sum(arrays: list[Array]) -> Array:
    return functools.reduce(jnp.add, arrays)


def _product(arrays: list[Array]) -> Array:
    return functools.reduce(jnp.multiply, arrays)


def _tanh(x: Array) -> Array:
    return 1 - 2 / (1 + jnp.exp(2 * x))
