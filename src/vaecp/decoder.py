"""From the latent rows of an entry to the mean and the log-variance of its value."""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from vaecp.layout import Layout


class Decoder(NamedTuple):
    """A shared tanh layer with two linear heads, and optionally a multilinear path.

        h       = tanh(sum over modes d of W_d' u^d + b)
        mean    = w_mu . h + b_mu  [+ c . (u^1 * u^2 * ... * u^D)]
        log s^2 = w_s . h + b_s

    `product_weights` is None for the network alone, which is the published decoder.
    """

    input_weights: Array  # (D, R, K)
    bias: Array  # (K,)
    mean_weights: Array  # (K,)
    mean_bias: Array  # ()
    scale_weights: Array  # (K,)
    scale_bias: Array  # ()
    product_weights: Array | None = None  # (R,)


def decode(decoder: Decoder, rows: Array, layout: Layout, row_ids: Array) -> tuple[Array, Array]:
    """Return the mean and the log-variance of entries, given the (n, D) rows they lie in."""
    projected, own = _rows_of_entries(decoder, rows, layout, row_ids)
    hidden = jnp.tanh(functools.reduce(operator.add, projected) + decoder.bias)
    mean = hidden @ decoder.mean_weights + decoder.mean_bias
    if decoder.product_weights is not None:
        mean += functools.reduce(operator.mul, own) @ decoder.product_weights
    return mean, hidden @ decoder.scale_weights + decoder.scale_bias


def _rows_of_entries(decoder: Decoder, rows: Array, layout: Layout, row_ids: Array):
    """Per mode, W_d' u^d and u^d of every entry.

    W'u is a sum over modes, so rows are projected once and gathered after, unless there are
    fewer entries than rows.
    """
    n_hidden = decoder.bias.shape[0]
    if layout.n_rows <= row_ids.size:
        projected = jnp.concatenate(
            [
                table @ weights
                for table, weights in zip(layout.split(rows), decoder.input_weights, strict=True)
            ]
        )
        both = jnp.concatenate([projected, rows], axis=1)
        gathered = [both[row_ids[:, mode]] for mode in range(layout.n_modes)]
        return [g[:, :n_hidden] for g in gathered], [g[:, n_hidden:] for g in gathered]
    own = [rows[row_ids[:, mode]] for mode in range(layout.n_modes)]
    return [u @ w for u, w in zip(own, decoder.input_weights, strict=True)], own


def initial_decoder(
    key: Array, n_modes: int, rank: int, hidden: int, *, multilinear: bool, quiet: bool
) -> Decoder:
    """Draw starting weights.

    `quiet` starts both heads near zero: the multilinear path explains what it can before the
    network adds to it, and the noise starts as one shared level.
    """
    key_input, key_mean, key_scale = jax.random.split(key, 3)
    head = 1.0 / jnp.sqrt(hidden)
    return Decoder(
        input_weights=jax.random.normal(key_input, (n_modes, rank, hidden))
        / jnp.sqrt(n_modes * rank),
        bias=jnp.zeros(hidden),
        mean_weights=(0.1 if quiet else 1.0) * head * jax.random.normal(key_mean, (hidden,)),
        mean_bias=jnp.zeros(()),
        scale_weights=(0.0 if quiet else 1.0) * head * jax.random.normal(key_scale, (hidden,)),
        scale_bias=jnp.zeros(()),
        product_weights=jnp.ones(rank) if multilinear else None,
    )
