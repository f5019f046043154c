"""Variational rows: a Gaussian posterior per row, and the Gaussian prior they share."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Rows(NamedTuple):
    """Diagonal Gaussian posteriors of the latent rows: per mode, (rows, rank) arrays."""

    mean: tuple[Array, ...]
    log_variance: tuple[Array, ...]


class Prior(NamedTuple):
    """Learned Gaussian prior of the rows: (1, rank) for all modes alike, or (modes, rank)."""

    mean: Array
    log_variance: Array

    def of_mode(self, mode: int) -> tuple[Array, Array]:
        row = mode % self.mean.shape[0]
        return self.mean[row], self.log_variance[row]


def sample(rows: Rows, key: Array) -> tuple[Array, ...]:
    """Draw every row once, u = m + sqrt(v) * eps."""
    keys = jax.random.split(key, len(rows.mean))
    return tuple(
        mean + jnp.exp(0.5 * log_variance) * jax.random.normal(mode_key, mean.shape, mean.dtype)
        for mean, log_variance, mode_key in zip(rows.mean, rows.log_variance, keys, strict=True)
    )


def gaussian_kl(mean: Array, log_variance: Array, prior_mean: Array, prior_log_variance: Array):
    """KL(Normal(m, v) || Normal(m~, v~)) of every component."""
    log_ratio = log_variance - prior_log_variance
    distance = (mean - prior_mean) ** 2 * jnp.exp(-prior_log_variance)
    return 0.5 * (jnp.exp(log_ratio) + distance - 1.0 - log_ratio)


def kl(rows: Rows, prior: Prior, n_rows: tuple[Array | int, ...]) -> Array:
    """Sum the KL over modes, rows and components.

    Tables may be padded so that tensors of similar size share a compiled program: only the
    first `n_rows` rows of each mode count.
    """
    total = jnp.zeros(())
    for mode, (mean, log_variance) in enumerate(zip(rows.mean, rows.log_variance, strict=True)):
        per_row = gaussian_kl(mean, log_variance, *prior.of_mode(mode)).sum(axis=-1)
        total += jnp.where(jnp.arange(mean.shape[0]) < n_rows[mode], per_row, 0.0).sum()
    return total
