"""Variational rows: a Gaussian posterior per row, and the Gaussian prior they share."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.noise import standard_normals


class Rows(NamedTuple):
    """Diagonal Gaussian posteriors of the rows of all modes: (rows, rank) arrays."""

    mean: Array
    log_variance: Array


class Prior(NamedTuple):
    """Learned Gaussian prior of the rows: (1, rank) for all modes alike, or (modes, rank)."""

    mean: Array
    log_variance: Array


def sample(rows: Rows, seed: Array) -> Array:
    """Draw every row once, u = m + sqrt(v) * eps."""
    noise = standard_normals(seed, rows.mean.shape)
    return rows.mean + jnp.exp(0.5 * rows.log_variance) * noise


def gaussian_kl(mean: Array, log_variance: Array, prior_mean: Array, prior_log_variance: Array):
    """KL(Normal(m, v) || Normal(m~, v~)) of every component."""
    log_ratio = log_variance - prior_log_variance
    distance = (mean - prior_mean) ** 2 * jnp.exp(-prior_log_variance)
    return 0.5 * (jnp.exp(log_ratio) + distance - 1.0 - log_ratio)


def kl(rows: Rows, prior: Prior, layout: RowLayout, free: Array) -> Array:
    """Sum the KL over modes, rows and components; numbers that are not `free` have none."""
    per_component = gaussian_kl(*rows, layout.spread(prior.mean), layout.spread(prior.log_variance))
    return jnp.sum(jnp.where(free > 0, per_component, 0.0))
