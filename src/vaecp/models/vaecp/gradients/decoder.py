"""From the latent rows of an entry to the mean and the log-variance of its value."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from vaecp.models.vaecp.gradients import kernels as fused
from vaecp.models.vaecp.gradients.gather import take_rows
from vaecp.models.vaecp.gradients.layout import RowLayout


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


def decode(decoder: Decoder, rows: Array, layout: RowLayout, indices: Array) -> tuple[Array, Array]:
    """Return the mean and the log-variance of the entries at (n, D) indices."""
    return fused.decode(look_up(decoder, rows, layout, indices))


def look_up(decoder: Decoder, rows: Array, layout: RowLayout, indices: Array) -> fused.RowTables:
    """Lay out what the loops over entries read.

    W'u + b is a sum over modes, so rows are projected once, not once per entry.
    """
    ids, projected, factors = [], [], []
    n_rows, n_entries = 0, indices.shape[0]
    weights = decoder.product_weights
    for mode, table in enumerate(layout.split(rows)):
        own = indices[:, mode]
        if table.shape[0] > n_entries:  # project only the rows that are asked for
            table, own = take_rows(table, own), jnp.arange(n_entries, dtype=own.dtype)
        first = mode == 0
        projected.append(table @ decoder.input_weights[mode] + (decoder.bias if first else 0))
        if weights is not None:
            factors.append(table * weights if first else table)
        ids.append(own + n_rows)
        n_rows += table.shape[0]
    return fused.RowTables(
        jnp.stack(ids, axis=1),
        jnp.concatenate(projected),
        jnp.concatenate(factors) if factors else jnp.zeros((n_rows, 0)),
        jnp.stack([decoder.mean_weights, decoder.scale_weights]),
        jnp.stack([decoder.mean_bias, decoder.scale_bias]),
    )


def project(decoder: Decoder, rows: Array, layout: RowLayout) -> fused.Floats:
    """Lay out the same for all rows, in one matrix product: a GPU makes one faster than one per mode.

    Every mode has columns of its own, which are 0 in the rows of other modes; so has the bias.
    """
    number = jnp.arange(layout.n_rows)[:, None]
    ends = zip(layout.offsets, layout.sizes, strict=True)
    own = [((number >= first) & (number < first + size)).astype(rows.dtype) for first, size in ends]
    rank, hidden = decoder.input_weights.shape[1:]
    n_unused = -(layout.n_modes * rank + 1) % 8
    wide = [*(rows * each for each in own), own[0], jnp.zeros((layout.n_rows, n_unused))]
    weights = [
        decoder.input_weights.reshape(-1, hidden),
        decoder.bias[None],
        jnp.zeros((n_unused, hidden)),
    ]
    factors = jnp.zeros((layout.n_rows, 0))
    if decoder.product_weights is not None:
        factors = rows * jnp.where(own[0] > 0, decoder.product_weights, 1.0)
    return fused.Floats(
        jnp.concatenate(wide, axis=1) @ jnp.concatenate(weights),
        factors,
        jnp.stack([decoder.mean_weights, decoder.scale_weights]),
        jnp.stack([decoder.mean_bias, decoder.scale_bias]),
    )


def initial_decoder(
    random: np.random.Generator,
    n_modes: int,
    rank: int,
    hidden: int,
    *,
    multilinear: bool,
    near_zero: bool,
) -> Decoder:
    """Draw starting weights.

    `near_zero` starts both heads near zero: the multilinear path explains what it can before the
    network adds to it, and the noise starts as one shared level.
    """
    head = 1.0 / np.sqrt(hidden)

    def draw(scale: float, *shape: int) -> Array:
        return jnp.asarray(scale * random.standard_normal(shape, dtype=np.float32))

    return Decoder(
        input_weights=draw((n_modes * rank) ** -0.5, n_modes, rank, hidden),
        bias=jnp.zeros(hidden),
        mean_weights=draw((0.1 if near_zero else 1.0) * head, hidden),
        mean_bias=jnp.zeros(()),
        scale_weights=draw((0.0 if near_zero else 1.0) * head, hidden),
        scale_bias=jnp.zeros(()),
        product_weights=jnp.ones(rank) if multilinear else None,
    )
