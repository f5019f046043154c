"""Sums over the observed entries of a tensor that multilinear methods share, in float64.

With k the elementwise product of an entry's rows in all modes but one, alternating methods
need for every row of that mode the normal equations: G = sum of w k k', b = sum of x k. Two
layouts give them. `Dense` holds weights in an array and contracts it with pairs of columns,
one large matrix product per mode; `Sparse` sorts the entries by row and multiplies blocks of
them. Neither ever holds an R x R matrix per entry. Sizes are padded with entries of weight 0,
so that tensors of nearly the same shape share one compiled program.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import NamedTuple

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np

from vaecp.data.cells import cell_sums, n_cells
from vaecp.data.observations import Observations
from vaecp.models.multilinear.products import product
from vaecp.runtime.compilation import keep_compiled_programs
from vaecp.runtime.padding import round_up

CHUNK = 1 << 22
"""Numbers in the largest temporary array: 32 MiB."""

MAX_DENSE_CELLS = 1 << 25
"""The dense layout takes 12 bytes per cell and mode: 1.2 GB for three modes of this many."""

Factors = tuple[jax.Array, ...]


def float64() -> AbstractContextManager:
    """Switch JAX to float64 inside a `with` block, and leave the rest of the program alone."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    # Before JAX 0.8.
    return jax.experimental.enable_x64()  # pyright: ignore[reportAttributeAccessIssue]


def padded_size(size: int) -> int:
    """Round up by at most a sixteenth, to even numbers: modes are cut in halves."""
    return 2 * round_up(-(-size // 2), significant_bits=4)


class Dense(NamedTuple):
    """Per mode, weights and weighted values as (rows, other modes, largest other mode)."""

    weights: tuple[jax.Array, ...]
    totals: tuple[jax.Array, ...]
    square: jax.Array


class Sparse(NamedTuple):
    """Per mode, blocks of entries that share a row: (blocks, entries in a block)."""

    rows: tuple[jax.Array, ...]
    indices: tuple[jax.Array, ...]
    weights: tuple[jax.Array, ...]
    values: tuple[jax.Array, ...]
    square: jax.Array


EntryLayout = Dense | Sparse


def lay_out(observations: Observations, rank: int) -> EntryLayout:
    """Choose the layout that is faster and put the entries on the device."""
    keep_compiled_programs()
    sizes = [padded_size(size) for size in observations.shape]
    cells = n_cells(sizes)
    pairs = rank * (rank + 1) / 2
    widest = max(cells / size / max(_others(sizes, mode)) for mode, size in enumerate(sizes))
    fits = widest * pairs <= CHUNK and cells <= MAX_DENSE_CELLS
    with float64():
        # A matrix product without gathers is about six times as fast per entry.
        return (
            _dense(observations)
            if fits and cells <= 6 * len(observations)
            else _sparse(observations)
        )


def _others(items: Sequence, mode: int) -> list:
    return [*items[:mode], *items[mode + 1 :]]


def _order(sizes: Sequence[int], mode: int) -> list[int]:
    """The other modes, the largest last."""
    others = _others(range(len(sizes)), mode)
    return sorted(others, key=lambda other: sizes[other])


def _dense(observations: Observations) -> Dense:
    sizes = [padded_size(size) for size in observations.shape]

    def unfold(array: np.ndarray, dtype: type) -> tuple[jax.Array, ...]:
        array = array.astype(dtype)
        orders = ([mode, *_order(sizes, mode)] for mode in range(len(sizes)))
        return tuple(
            jnp.asarray(array.transpose(order).reshape(sizes[order[0]], -1, sizes[order[-1]]))
            for order in orders
        )

    totals, weights = cell_sums(observations.indices, observations.values, sizes)
    square = jnp.asarray(np.sum(observations.values**2))
    # Weights are small counts, which float32 holds exactly in half the memory.
    return Dense(unfold(weights, np.float32), unfold(totals, np.float64), square)


def _sparse(observations: Observations) -> Sparse:
    parts = []
    for mode, size in enumerate(observations.shape):
        row = observations.indices[:, mode]
        counts = np.bincount(row, minlength=size)
        block = int(np.clip(1 << (len(row) // size).bit_length(), 4, 256))
        blocks = -(-counts // block)
        first = np.cumsum(blocks) - blocks
        order = np.argsort(row, kind="stable")
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        slots = np.repeat(first * block, counts) + within
        total = padded_size(max(int(blocks.sum()), 1))
        owner = np.zeros(total, dtype=np.int32)
        owner[: blocks.sum()] = np.repeat(np.arange(size), blocks)
        indices = np.zeros((total * block, observations.n_modes), dtype=np.int32)
        weights, values = np.zeros(total * block), np.zeros(total * block)
        indices[slots], weights[slots] = observations.indices[order], 1.0
        values[slots] = observations.values[order]
        shape = (total, block)
        parts.append(
            (owner, indices.reshape(*shape, -1), weights.reshape(shape), values.reshape(shape))
        )
    rows, indices, weights, values = (
        tuple(jnp.asarray(part) for part in column) for column in zip(*parts, strict=True)
    )
    return Sparse(rows, indices, weights, values, jnp.asarray(np.sum(observations.values**2)))


def normal_equations(
    layout: EntryLayout, factors: Factors, mode: int
) -> tuple[jax.Array, jax.Array]:
    """Return G (rows, R, R) and b (rows, R) of every row of one mode."""
    if isinstance(layout, Dense):
        return _dense_equations(layout, factors, mode)
    return _sparse_equations(layout, factors, mode)


def _dense_equations(layout: Dense, factors: Factors, mode: int) -> tuple[jax.Array, jax.Array]:
    rank = factors[0].shape[1]
    left, right = np.triu_indices(rank)
    *rest, last = _order([len(factor) for factor in factors], mode)
    spread = _khatri_rao([factors[other] for other in rest], rank)
    first = factors[last]

    first_pairs = first[:, left] * first[:, right]
    spread_pairs = spread[:, left] * spread[:, right]

    # Multiply and sum: XLA turns the equivalent einsum into slow products of single columns.
    def gram(weights: jax.Array) -> jax.Array:
        counts = weights.astype(first.dtype)
        return ((counts @ first_pairs) * spread_pairs).sum(axis=0)

    def right_hand(totals: jax.Array) -> jax.Array:
        return ((totals @ first) * spread).sum(axis=0)

    weights, totals = layout.weights[mode], layout.totals[mode]
    at_once = max(1, min(len(weights), CHUNK // (weights.shape[1] * len(left))))
    pairs = jax.lax.map(gram, weights, batch_size=at_once)
    position = np.zeros((rank, rank), dtype=np.int32)
    position[left, right] = position[right, left] = np.arange(len(left))
    return pairs[:, position], jax.vmap(right_hand)(totals)


def _khatri_rao(factors: Sequence[jax.Array], rank: int) -> jax.Array:
    result = jnp.ones((1, rank))
    for factor in factors:
        result = (result[:, None, :] * factor[None, :, :]).reshape(-1, rank)
    return result


def _sparse_equations(layout: Sparse, factors: Factors, mode: int) -> tuple[jax.Array, jax.Array]:
    size, rank = factors[mode].shape

    def block_sums(block: tuple) -> tuple[jax.Array, jax.Array]:
        indices, weights, values = block
        others = [factors[other][indices[:, other]] for other in _others(range(len(factors)), mode)]
        entries = product(others)
        return (entries * weights[:, None]).T @ entries, values @ entries

    blocks = (layout.indices[mode], layout.weights[mode], layout.values[mode])
    n_blocks, length = layout.weights[mode].shape
    at_once = min(n_blocks, max(1, CHUNK // (rank * max(rank, length))))
    starts = jnp.arange(0, n_blocks, at_once)
    gram = jnp.zeros((size, rank, rank))
    right_hand = jnp.zeros((size, rank))

    def add(sums: tuple, start: jax.Array) -> tuple[tuple, None]:
        # The last slice is moved back to fit; the blocks it repeats get weight 0.
        at = jnp.minimum(start, n_blocks - at_once)
        cut = partial(jax.lax.dynamic_slice_in_dim, start_index=at, slice_size=at_once)
        fresh = (jnp.arange(at_once) + at >= start)[:, None]
        indices, weights, values = (cut(part) for part in blocks)
        grams, sides = jax.vmap(block_sums)((indices, weights * fresh, values * fresh))
        owner = cut(layout.rows[mode])
        return (sums[0].at[owner].add(grams), sums[1].at[owner].add(sides)), None

    (gram, right_hand), _ = jax.lax.scan(add, (gram, right_hand), starts)
    return gram, right_hand
