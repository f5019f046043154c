"""Rows of a table, gathered per entry, with a backward pass that suits every backend.

The gradient of a gather is a scatter-add. Under `vmap` over members XLA's CPU backend adds one
number at a time; with the members side by side in the last axis it adds whole rows, which is
an order of magnitude faster there and no slower on a GPU.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap


@jax.custom_vjp
def take_rows(table: Array, indices: Array) -> Array:
    """Return table[indices]: (rows, width) and (n,) give (n, width). Indices are not checked."""
    return _gather(table, indices)


def _forward(table: Array, indices: Array):
    return _gather(table, indices), (indices, table.shape[0])


def _backward(residuals, gradient: Array):
    indices, n_rows = residuals
    return _scatter_add(n_rows)(gradient, indices), None


take_rows.defvjp(_forward, _backward)


def _plain_gather(table: Array, indices: Array) -> Array:
    return table.at[indices].get(mode="promise_in_bounds", wrap_negative_indices=False)


_gather = custom_vmap(_plain_gather)


@_gather.def_vmap
def _gather_for_members(axis_size: int, batched, table: Array, indices: Array):
    if batched[1] or not batched[0]:
        return jax.vmap(_plain_gather, _axes(batched))(table, indices), True
    # Through the rule again, for a further axis around this one.
    return _apart(_gather(_side_by_side(table), indices), axis_size), True


@functools.cache
def _scatter_add(n_rows: int):
    def plain(gradient: Array, indices: Array) -> Array:
        zeros = jnp.zeros((n_rows, gradient.shape[-1]), gradient.dtype)
        return zeros.at[indices].add(
            gradient, mode="promise_in_bounds", wrap_negative_indices=False
        )

    scatter = custom_vmap(plain)

    @scatter.def_vmap
    def for_members(axis_size: int, batched, gradient: Array, indices: Array):
        if batched[1] or not batched[0]:
            return jax.vmap(plain, _axes(batched))(gradient, indices), True
        return _apart(scatter(_side_by_side(gradient), indices), axis_size), True

    return scatter


def _axes(batched) -> tuple[int | None, ...]:
    return tuple(0 if each else None for each in batched)


def _side_by_side(members: Array) -> Array:
    """(members, n, width) to (n, members * width)."""
    return jnp.moveaxis(members, 0, 1).reshape(members.shape[1], -1)


def _apart(rows: Array, n_members: int) -> Array:
    """(n, members * width) to (members, n, width)."""
    return jnp.moveaxis(rows.reshape(rows.shape[0], n_members, -1), 1, 0)
