"""The evidence lower bound, pure."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from vaecp import factors, fused, smoothing
from vaecp.decoder import Decoder, look_up
from vaecp.factors import Prior, Rows
from vaecp.layout import Layout
from vaecp.likelihoods import Gaussian, Likelihood
from vaecp.smoothing import Smoothers

GAUSSIAN = Gaussian()


class Parameters(NamedTuple):
    """All that is learned: Phi, Psi and Theta of the model, and how smooth rows are.

    The rows of modes that are smoothed are latent: `decoder_rows` turns them into rows.
    """

    rows: Rows
    prior: Prior
    decoder: Decoder
    smoothness: Array | None = None  # (modes, R), logarithms; None where no mode is smoothed


class Entries(NamedTuple):
    """Observed entries on the device; a weight of 0 marks padding."""

    indices: Array  # (n, D)
    values: Array  # (n,)
    weights: Array  # (n,)


class Elbo(NamedTuple):
    """The bound and its named terms."""

    log_likelihood: Array
    kl: Array

    @property
    def value(self) -> Array:
        return self.log_likelihood - self.kl


def elbo(log_probs: Array, kl: Array | float, n_entries: Array | int) -> Elbo:
    """Estimate the ELBO of `n_entries` observations from (draws, batch) log-probabilities.

    The batch stands in for all entries, so its likelihood is scaled up. The rows are shared
    by every entry, so their KL is counted once.
    """
    return _scaled_up(log_probs.sum(axis=-1), log_probs.shape[-1], kl, n_entries)


def _scaled_up(sums: Array, n_in_batch: int, kl: Array | float, n_entries: Array | int) -> Elbo:
    return Elbo(n_entries / n_in_batch * sums.mean(), jnp.asarray(kl))


def decoder_rows(
    parameters: Parameters, latent: Array, smoothers: Smoothers, layout: Layout
) -> Array:
    """The rows that the decoder sees, from a table of latent ones."""
    if parameters.smoothness is None:
        return latent
    return smoothing.to_rows(latent, parameters.smoothness, parameters.prior, smoothers, layout)


def batch_elbo(
    parameters: Parameters,
    batch: Entries,
    key: Array,
    n_entries: Array | int,
    layout: Layout,
    row_weights: Array,
    n_draws: int = 1,
    likelihood: Likelihood = GAUSSIAN,
    smoothers: Smoothers = (),
) -> Elbo:
    """Estimate the ELBO from one minibatch with `n_draws` reparameterised draws of the rows."""

    def log_likelihood(draw_key: Array) -> Array:
        latent = factors.sample(parameters.rows, draw_key)
        rows = decoder_rows(parameters, latent, smoothers, layout)
        tables = look_up(parameters.decoder, rows, layout, batch.indices)
        if likelihood == GAUSSIAN:
            return fused.log_likelihood(tables, batch.values, batch.weights)
        return batch.weights @ likelihood.log_prob(fused.decode(tables), batch.values)

    sums = jax.vmap(log_likelihood)(jax.random.split(key, n_draws))
    prior = smoothing.prior_of_latent(parameters.prior, smoothers)
    kl = factors.kl(parameters.rows, prior, layout, row_weights)
    return _scaled_up(sums, batch.values.shape[0], kl, n_entries)


def weight_penalty(decoder: Decoder, precision: Array | float) -> Array:
    """Negative log of a Normal(0, 1/precision) prior on the weights of the mean head."""
    return 0.5 * precision * jnp.sum(decoder.mean_weights**2)
