"""The loop over the entries of a training step on an NVIDIA GPU: one Pallas kernel.

A program takes a stretch of the batch, a few entries at a time. It reads entries where they lie,
and rows from, and adds their gradients to, tables that fit into the second-level cache; nothing per
entry is written to memory. That cache is the limit, so the next entries are read while these are computed,
and what successive entries add to one row is summed before it is added.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from vaecp.models.vaecp.gradients.kernels import reference
from vaecp.models.vaecp.gradients.kernels.additions import add
from vaecp.models.vaecp.gradients.kernels.reference import (
    BlockPlan,
    Floats,
    RowTables,
    StoredBlocks,
)
from vaecp.models.vaecp.likelihoods.gaussian import LOG_2PI


class KernelSettings(NamedTuple):
    """How the kernel computes.

    Attributes
    ----------
    fast_tanh : whether the tangent of sorted blocks is the card's own, whose relative error is 2^-11, like
        that of a product on a GPU.
    fused : whether a product and a sum are one instruction.
    runs : whether terms of one row in succession are summed before they are added, where entries lie
        in the order of these rows.
    ahead : whether the next entries are read before these are computed.
    tile : numbers of each array in a block of entries.
    programs : of one warp each, so that sums over the entries of a block stay within a thread. With 512
        numbers a thread holds 16 of each array, and each of a Hopper card's 132 multiprocessors runs
        16 programs.
    """

    fast_tanh: bool = True
    fused: bool = True
    runs: bool = True
    ahead: bool = True
    tile: int = 512
    programs: int = 2112


SETTINGS = KernelSettings()
INTERPRET = False
"""Whether the kernel is carried out by JAX, operation by operation, for tests without a GPU."""


def value_and_gradients(
    tables: RowTables, values: Array, weights: Array
) -> tuple[Array, RowTables]:
    """Return the log-likelihood and its gradients; that of `ids` is None."""
    reference.check(tables, values, weights)
    n_entries, n_modes = tables.ids.shape
    plan = BlockPlan(n_entries, (0,) * n_modes)
    stored = StoredBlocks(tables.ids, values, weights, jnp.zeros(1, jnp.int32))
    value, gradients = _launch(Floats(*tables[1:]), stored, plan)
    return value, RowTables(None, *gradients)  # type: ignore[arg-type]


def of_blocks(floats: Floats, stored: StoredBlocks, plan: BlockPlan) -> tuple[Array, Floats]:
    """Return the log-likelihood of blocks of entries, and its gradients."""
    reference.check(RowTables(stored.indices, *floats), stored.values, stored.weights)
    return _launch(floats, stored, plan)


def _launch(floats: Floats, stored: StoredBlocks, plan: BlockPlan) -> tuple[Array, Floats]:
    settings = SETTINGS
    if plan.sorted_mode is None:  # no large batch, where speed counts
        settings = settings._replace(fast_tanh=False)
    settings = settings._replace(fast_tanh=settings.fast_tanh and _has_tanh())
    width = pl.next_power_of_2(max(table.shape[1] for table in floats[:2]))
    tile = max(settings.tile // width, 1)
    n_tiles = pl.cdiv(stored.blocks.shape[0] * plan.block_size, tile)
    tiles_per_program = pl.cdiv(n_tiles, settings.programs)
    zeros = [jnp.zeros(3), *(jnp.zeros_like(table) for table in floats[:3])]
    inputs = (*floats, *stored)
    call = pl.pallas_call(
        functools.partial(
            _kernel, plan=plan, settings=settings, tile=tile, n_tiles=tiles_per_program
        ),
        out_shape=[jax.ShapeDtypeStruct(z.shape, z.dtype) for z in zeros],
        grid=(pl.cdiv(n_tiles, tiles_per_program),),
        input_output_aliases={len(inputs) + number: number for number in range(len(zeros))},
        compiler_params=triton.CompilerParams(num_warps=1, num_stages=1),
        interpret=INTERPRET,
        name="vaecp_log_likelihood",
    )
    totals, projected, factors, heads = call(*inputs, *zeros)
    return totals[0], Floats(projected, factors, heads, totals[1:])


def _kernel(*refs, plan: BlockPlan, settings: KernelSettings, tile: int, n_tiles: int):
    floats, stored = cast(Any, Floats(*refs[:4])), StoredBlocks(*refs[4:8])
    totals, d_projected, d_factors, d_heads = refs[12:]  # aliases of the zeros before them
    units, is_unit = _columns(floats.projected.shape[1])
    has_factors = floats.factors.shape[1] > 0
    run_mode = plan.sorted_mode if settings.runs else None
    heads = [
        triton.load(floats.heads.at[head, units], mask=is_unit, other=0.0)[None] for head in (0, 1)
    ]
    first = pl.program_id(0) * n_tiles

    def read(number):
        position = (first + number) * tile + jnp.arange(tile)
        return _entries_at(position, stored, plan, floats.projected.shape[0])

    def block(number, carry):
        sums, run, (rows, value, weight, exists) = carry
        following = read(number + 1) if settings.ahead else None
        hidden = _hidden(floats.projected, rows, settings)
        mean, log_variance = (
            jnp.sum(hidden * head, axis=1) + floats.biases[n] for n, head in enumerate(heads)
        )
        own = _own_factors(floats.factors, rows) if has_factors else []
        if has_factors:
            mean += jnp.sum(_product(own), axis=1)
        log_likelihood, *slopes = _gaussian(value - mean, log_variance, weight)
        log_likelihood = jnp.where(exists, log_likelihood, jnp.nan)
        counts = weight != 0
        slope = _slope(hidden, slopes, heads, settings)
        for mode, row in enumerate(rows):
            if mode == run_mode:
                run = _add_runs(d_projected, row, units, slope, counts, is_unit, run)
            else:
                _add_rows(d_projected, row, units, slope, counts[:, None] & is_unit[None])
        if has_factors:
            _add_factors(d_factors, rows, own, slopes[0], counts)
        terms = [jnp.sum(each) for each in (log_likelihood, *slopes)]
        terms += [jnp.sum(each[:, None] * hidden, axis=0) for each in slopes]
        sums = tuple(total + term for total, term in zip(sums, terms, strict=True))
        return sums, run, following or read(number + 1)

    zero, nothing = jnp.zeros((), jnp.float32), jnp.zeros(units.shape, jnp.float32)
    start = (zero, zero, zero, nothing, nothing), (jnp.int32(0), nothing), read(0)
    sums, (row, terms), _ = jax.lax.fori_loop(0, n_tiles, block, start)
    if run_mode is not None:
        add(d_projected, (jnp.full_like(units, row), units), terms, is_unit)
    for number, total in enumerate(sums[:3]):
        add(totals, (number,), total)
    for head, total in enumerate(sums[3:]):
        add(d_heads, (jnp.full_like(units, head), units), total, is_unit)


def _hidden(projected, rows: tuple[Array, ...], settings: KernelSettings) -> Array:
    units, is_unit = _columns(projected.shape[1])
    own = [_rows_of(projected, row, units, is_unit) for row in rows]
    return _tanh(functools.reduce(jnp.add, own), settings.fast_tanh)


def _slope(
    hidden: Array, slopes: list[Array], heads: list[Array], settings: KernelSettings
) -> Array:
    """Return the slopes of the log-likelihood in what the tangent is taken of."""
    fma = _fma if settings.fused else _multiply_add
    in_hidden = fma(slopes[0][:, None], heads[0], slopes[1][:, None] * heads[1])
    return in_hidden * fma(-hidden, hidden, 1.0)


def _own_factors(factors, rows: tuple[Array, ...]) -> list[Array]:
    components, exists = _columns(factors.shape[1])
    return [_rows_of(factors, row, components, exists) for row in rows]


def _add_factors(
    table, rows: tuple[Array, ...], own: list[Array], slope: Array, counts: Array
) -> None:
    components, exists = _columns(table.shape[1])
    for mode, row in enumerate(rows):
        others = _product(own[:mode] + own[mode + 1 :])
        mask = counts[:, None] & exists[None]
        _add_rows(table, row, components, slope[:, None] * others, mask)


def _entries_at(position: Array, stored: Any, plan: BlockPlan, n_rows: int):
    """Rows, value and weight of the entries at these positions of a batch, and whether all rows exist."""
    inside = position < stored.blocks.shape[0] * plan.block_size
    block = triton.load(stored.blocks.at[position // plan.block_size], mask=inside, other=0)
    entries = block * plan.block_size + position % plan.block_size
    rows = [
        triton.load(stored.indices.at[entries, jnp.full_like(entries, mode)], mask=inside, other=0)
        + offset
        for mode, offset in enumerate(plan.offsets)
    ]
    value, weight = (
        triton.load(each.at[entries], mask=inside, other=0.0)
        for each in (stored.values, stored.weights)
    )
    exists = functools.reduce(jnp.logical_and, [(row >= 0) & (row < n_rows) for row in rows])
    return tuple(jnp.clip(row, 0, n_rows - 1) for row in rows), value, weight, exists


def _add_runs(table, rows: Array, units: Array, terms: Array, counts: Array, is_unit: Array, run):
    """Add terms to rows of a table, those of one row in succession as one sum.

    The sum that `run` holds is of the row that came last. Here it goes on, or it ends and the last
    row of the tile begins another; terms of rows between these are added by themselves. What comes
    out is right in any order of the entries.
    """
    current, total = run
    last = jnp.max(rows)
    goes_on, begins = rows == current, (rows == last) & (last != current)

    def sum_of(chosen: Array) -> Array:
        return jnp.sum(jnp.where((chosen & counts)[:, None], terms, 0.0), axis=0)

    def change(total: Array) -> Array:
        add(table, (jnp.full_like(units, current), units), total, is_unit)
        alone = counts & ~goes_on & ~begins
        _add_rows(table, rows, units, terms, alone[:, None] & is_unit[None])
        return sum_of(begins)

    total += sum_of(goes_on)
    same = (last == current) & (jnp.min(rows) == current)
    return last, jax.lax.cond(same, lambda total: total, change, total)


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


def _product(arrays: list[Array]) -> Array:
    return functools.reduce(jnp.multiply, arrays)


def _has_tanh() -> bool:
    """Whether the card has an instruction for the tangent, as cards since 2018 have."""
    capability = getattr(jax.devices()[0], "compute_capability", "9.0")
    return not INTERPRET and float(capability) >= 7.5


def _tanh(x: Array, fast: bool) -> Array:
    if fast:
        return triton.approx_tanh(x)
    return 1 - 2 / (1 + jnp.exp(2 * x))


def _multiply_add(a, b, c) -> Array:
    return a * b + c


def _fma(a, b, c) -> Array:
    """a * b + c in one instruction."""
    if INTERPRET:
        return _multiply_add(a, b, c)
    shape = jnp.broadcast_shapes(*(jnp.shape(each) for each in (a, b, c)))
    [result] = triton.elementwise_inline_asm(
        "fma.rn.f32 $0, $1, $2, $3;",
        args=[jnp.broadcast_to(jnp.asarray(each, jnp.float32), shape) for each in (a, b, c)],
        constraints="=f,f,f,f",
        pack=1,
        result_shape_dtypes=[jax.ShapeDtypeStruct(shape, jnp.float32)],
    )
    return result
