"""Rows of a table, gathered per entry, with a backward pass that suits every backend.

The gradient of a gather is a scatter-add. Under `vmap` over members XLA's CPU backend adds one
number at a time; with the members side by side in the last axis it adds whole rows, which is
an order of magnitude faster, and no slower on a GPU.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap


@functools.partial(jax.custom_vjp, nondiff_argnums=())
def take_rows(table: Array, row_ids: Array) -> Array:
    """Return table[row_ids]: (rows, width) and (n,) give (n, width)."""
    return _gather(table, row_ids)


def _take_rows_forward(table: Array, row_ids: Array):
    return _gather(table, row_ids), (row_ids, table.shape[0])


def _take_rows_backward(residuals, gradient: Array):
    row_ids, n_rows = residuals
    return _scatter_add(n_rows)(gradient, row_ids), None


take_rows.defvjp(_take_rows_forward, _take_rows_backward)


@custom_vmap
def _gather(table: Array, row_ids: Array) -> Array:
    return table[row_ids]


@_gather.def_vmap
def _gather_for_members(axis_size, batched, table: Array, row_ids: Array):
    if batched[1] or not batched[0]:
        return jax.vmap(lambda t, i: t[i], [0 if b else None for b in batched])(
            table, row_ids
        ), True
    side_by_side = jnp.moveaxis(table, 0, 1).reshape(table.shape[1], -1)
    taken = side_by_side[row_ids].reshape(row_ids.shape[0], axis_size, -1)
    return jnp.moveaxis(taken, 1, 0), True


@functools.cache
def _scatter_add(n_rows: int):
    def plain(gradient: Array, row_ids: Array) -> Array:
        return jnp.zeros((n_rows, gradient.shape[-1]), gradient.dtype).at[row_ids].add(gradient)

    scatter = custom_vmap(plain)

    @scatter.def_vmap
    def for_members(axis_size, batched, gradient: Array, row_ids: Array):
        if batched[1] or not batched[0]:
            return jax.vmap(plain, [0 if b else None for b in batched])(gradient, row_ids), True
        side_by_side = jnp.moveaxis(gradient, 0, 1).reshape(gradient.shape[1], -1)
        summed = plain(side_by_side, row_ids).reshape(n_rows, axis_size, -1)
        return jnp.moveaxis(summed, 1, 0), True

    return scatter
