"""What the fused loops compute, in plain JAX."""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from vaecp.models.vaecp.gradients.gather import take_rows
from vaecp.models.vaecp.likelihoods import Gaussian

GAUSSIAN = Gaussian()


class RowTables(NamedTuple):
    """Entries as rows of tables.

    With `a` the rows of an entry in `projected`, and `u` those in `factors`, one per mode:

        h       = tanh(sum of a)
        mean    = heads[0] . h + biases[0] + sum over r of the product of u
        log s^2 = heads[1] . h + biases[1]

    Where ids lie outside of the tables, all that is computed is NaN.
    """

    ids: Array  # (n, D), two modes or more
    projected: Array  # (rows, K)
    factors: Array  # (rows, R); R = 0 for the network alone
    heads: Array  # (2, K)
    biases: Array  # (2,)


class Floats(NamedTuple):
    """What a step computes before it reads entries: `RowTables` without ids."""

    projected: Array
    factors: Array
    heads: Array
    biases: Array


class StoredBlocks(NamedTuple):
    """Entries where they lie, in blocks, and which blocks make up a batch."""

    indices: Array  # (n, D)
    values: Array  # (n,)
    weights: Array  # (n,)
    blocks: Array  # of the batch


class BlockPlan(NamedTuple):
    """What is known of stored entries when a program is compiled."""

    block_size: int
    offsets: tuple[int, ...]  # where each mode's rows begin in the tables
    sorted_mode: int | None = None  # by whose rows the entries of a block are sorted


def check(tables: RowTables, *per_entry: Array) -> None:
    """Refuse arrays whose sizes or types do not fit each other.

    Both are known when a program is traced, so that looking at them costs nothing when it runs.
    """
    n_entries, n_modes = tables.ids.shape if tables.ids.ndim == 2 else (0, 0)
    n_rows, n_hidden = tables.projected.shape if tables.projected.ndim == 2 else (0, 0)
    rank = tables.factors.shape[-1] if tables.factors.ndim else 0
    found = [array.shape for array in (*tables, *per_entry)]
    wanted = [(n_entries, n_modes), (n_rows, n_hidden), (n_rows, rank), (2, n_hidden), (2,)]
    wanted += [(n_entries,)] * len(per_entry)
    if found != wanted or n_modes < 2:
        raise ValueError(f"arrays of {found} do not fit each other: they would have to be {wanted}")
    types = [array.dtype for array in (*tables, *per_entry)]
    if types != [jnp.int32] + [jnp.float32] * (len(types) - 1):
        raise TypeError(f"arrays of {types} are not 32-bit integers, and 32-bit floats after them")


def blame(tables: RowTables) -> Array:
    """Return what is added to results: 0, or NaN if ids lie outside of the tables."""
    ids, n_rows = tables.ids, tables.projected.shape[0]
    return jnp.where(jnp.all((ids >= 0) & (ids < n_rows)), 0.0, jnp.nan)


def decode(tables: RowTables) -> tuple[Array, Array]:
    """Return the mean and the log-variance of every entry."""
    modes = [tables.ids[:, mode] for mode in range(tables.ids.shape[1])]
    hidden = jnp.tanh(sum(take_rows(tables.projected, ids) for ids in modes))
    mean, log_variance = (hidden @ tables.heads.T + tables.biases + blame(tables)).T
    if tables.factors.shape[1]:
        own = [take_rows(tables.factors, ids) for ids in modes]
        mean = mean + functools.reduce(operator.mul, own).sum(axis=-1)
    return mean, log_variance


def log_likelihood(tables: RowTables, values: Array, weights: Array) -> Array:
    """Return the sum of the entries' weighted log-densities."""
    return weights @ GAUSSIAN.log_prob(decode(tables), values)


def value_and_gradients(
    tables: RowTables, values: Array, weights: Array
) -> tuple[Array, RowTables]:
    """Return the log-likelihood and its gradients; that of `ids` is None."""
    value, pull = _pullback(lambda t: log_likelihood(t, values, weights), tables)
    return value, pull(jnp.ones(()))


def decode_gradients(tables: RowTables, cotangents: tuple[Array, Array]) -> RowTables:
    """Return the gradients of `decode`."""
    return _pullback(decode, tables)[1](cotangents)


def of_blocks(floats: Floats, stored: StoredBlocks, plan: BlockPlan) -> tuple[Array, Floats]:
    """Return the log-likelihood of blocks of entries, and its gradients."""
    tables, values, weights = take_blocks(floats, stored, plan)
    value, gradients = value_and_gradients(tables, values, weights)
    return value, Floats(*gradients[1:])


def take_blocks(
    floats: Floats, stored: StoredBlocks, plan: BlockPlan
) -> tuple[RowTables, Array, Array]:
    """Gather the entries of a batch."""
    indices, values, weights = (
        array.reshape(-1, plan.block_size, *array.shape[1:])[stored.blocks].reshape(
            -1, *array.shape[1:]
        )
        for array in stored[:3]
    )
    return RowTables(indices + jnp.asarray(plan.offsets, jnp.int32), *floats), values, weights


def _pullback(function, tables: RowTables):
    def of_floats(floats: RowTables):
        return function(floats._replace(ids=tables.ids))

    value, pull = jax.vjp(of_floats, tables._replace(ids=None))  # type: ignore[arg-type]
    return value, lambda cotangents: pull(cotangents)[0]
