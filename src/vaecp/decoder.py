"""From the latent rows of an entry to the mean and the log-variance of its value."""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from vaecp.gather import take_rows
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


def decode(decoder: Decoder, rows: Array, layout: Layout, indices: Array) -> tuple[Array, Array]:
    """Return the mean and the log-variance of the entries at (n, D) indices."""
    tables = layout.split(rows)
    hidden = jnp.tanh(_pre_activation(decoder, tables, indices))
    mean = hidden @ decoder.mean_weights + decoder.mean_bias
    if decoder.product_weights is not None:
        own = [take_rows(table, indices[:, mode]) for mode, table in enumerate(tables)]
        mean += functools.reduce(operator.mul, own) @ decoder.product_weights
    return mean, hidden @ decoder.scale_weights + decoder.scale_bias


def _pre_activation(decoder: Decoder, tables: tuple[Array, ...], indices: Array) -> Array:
    """W'u + b. It is a sum over modes, so rows are projected once, not once per entry."""
    total = decoder.bias
    for mode, table in enumerate(tables):
        weights = decoder.input_weights[mode]
        if table.shape[0] <= indices.shape[0]:
            total = total + take_rows(table @ weights, indices[:, mode])
        else:  # more rows than entries: project only the rows that are asked for
            total = total + take_rows(table, indices[:, mode]) @ weights
    return total


def initial_decoder(
    random: np.random.Generator,
    n_modes: int,
    rank: int,
    hidden: int,
    *,
    multilinear: bool,
    quiet: bool,
) -> Decoder:
    """Draw starting weights.

    `quiet` starts both heads near zero: the multilinear path explains what it can before the
    network adds to it, and the noise starts as one shared level.
    """
    head = 1.0 / np.sqrt(hidden)

    def draw(scale: float, *shape: int) -> Array:
        return jnp.asarray(scale * random.standard_normal(shape, dtype=np.float32))

    return Decoder(
        input_weights=draw((n_modes * rank) ** -0.5, n_modes, rank, hidden),
        bias=jnp.zeros(hidden),
        mean_weights=draw((0.1 if quiet else 1.0) * head, hidden),
        mean_bias=jnp.zeros(()),
        scale_weights=draw((0.0 if quiet else 1.0) * head, hidden),
        scale_bias=jnp.zeros(()),
        product_weights=jnp.ones(rank) if multilinear else None,
    )
