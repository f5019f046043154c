"""Rows of an ordered mode vary smoothly along it: a learned low-pass filter makes them so.

The rows of such a mode are u = m + C (s * z): cosines C along the mode, and latent rows z, one
per frequency, whose posteriors and prior are those of the model. The filter s of component r,

    s_k = 1 / (1 + t_r (2 - 2 cos(pi k / n)))   with mean square 1,

has a smoothness t_r that is learned with everything else. At t_r = 0 the cosines only turn the
rows, and their prior is what it was; where the data are smooth, t_r grows, and rough rows,
which noise alone asks for, become improbable.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from vaecp.factors import Prior, Rows
from vaecp.layout import Layout

INITIAL_SMOOTHNESS = 10.0
MAX_ROWS = 2048  # the cosines of a mode are a dense matrix
CANDIDATES = np.geomspace(0.05, 1e4, 60)


class Smoother(NamedTuple):
    """Cosines along one ordered mode, padded with zeros to the size of its table."""

    basis: Array  # (size, size): rows x frequencies
    roughness: Array  # (size,): eigenvalue of the path's Laplacian at every frequency
    share: Array  # (size,): one over the number of rows, 0 for padding


Smoothers = tuple[Smoother | None, ...]
"""One per mode, None for modes without an order; empty where nothing is smoothed."""


def smoothers_for(ordered: tuple[bool, ...], shape: tuple[int, ...], layout: Layout) -> Smoothers:
    """Lay out cosines for the ordered modes."""
    smoothed = [is_ordered and n <= MAX_ROWS for is_ordered, n in zip(ordered, shape, strict=True)]
    if not any(smoothed):
        return ()
    return tuple(
        _cosines(n_rows, size) if is_smoothed else None
        for is_smoothed, n_rows, size in zip(smoothed, shape, layout.sizes, strict=True)
    )


def to_rows(latent: Array, smoothness: Array, prior: Prior, smoothers: Smoothers, layout: Layout):
    """Turn the table of latent rows into the rows that the decoder sees."""
    if not smoothers:
        return latent
    tables = []
    for mode, (table, smoother) in enumerate(zip(layout.split(latent), smoothers, strict=True)):
        if smoother is not None:
            filtered = low_pass(smoother, smoothness[mode]) * table
            table = _of_mode(prior.mean, mode) + smoother.basis @ filtered
        tables.append(table)
    return jnp.concatenate(tables)


def prior_of_latent(prior: Prior, smoothers: Smoothers) -> Prior:
    """Return the prior of the latent rows: the mean of a smoothed mode is added after them."""
    if not smoothers:
        return prior
    keeps_mean = jnp.array([[smoother is None] for smoother in smoothers], dtype=jnp.float32)
    n_modes = len(smoothers)
    mean, log_variance = (jnp.broadcast_to(a, (n_modes, a.shape[1])) for a in prior)
    return Prior(keeps_mean * mean, log_variance)


def posterior_of_rows(
    rows: Rows, smoothness: Array, prior: Prior, smoothers: Smoothers, layout: Layout
) -> Rows:
    """Mean and marginal log-variance of the rows that the decoder sees."""
    if not smoothers:
        return rows
    tables = []
    for mode, (table, smoother) in enumerate(
        zip(layout.split(rows.log_variance), smoothers, strict=True)
    ):
        if smoother is not None:
            variance = low_pass(smoother, smoothness[mode]) ** 2 * jnp.exp(table)
            table = jnp.log(smoother.basis**2 @ variance + 1e-30)
        tables.append(table)
    mean = to_rows(rows.mean, smoothness, prior, smoothers, layout)
    return Rows(mean, jnp.concatenate(tables))


def low_pass(smoother: Smoother, smoothness: Array) -> Array:
    """The filter of every component, (frequencies, rank), from the log of its smoothness."""
    response = 1.0 / (1.0 + jnp.exp(smoothness) * smoother.roughness[:, None])
    return response / jnp.sqrt(smoother.share @ response**2)


class Latent(NamedTuple):
    """Latent rows that give known rows of one mode."""

    mean: np.ndarray
    log_variance: np.ndarray
    prior_log_variance: np.ndarray
    smoothness: np.ndarray


def latent_of(smoother: Smoother, mean: np.ndarray, precision: np.ndarray) -> Latent:
    """Find the smoothness that makes known rows most probable, and the latent rows behind them.

    `precision` is what the data say about each component of a row.
    """
    n_rows, rank = mean.shape
    basis = np.asarray(smoother.basis, dtype=np.float64)[:n_rows, :n_rows]
    roughness = np.asarray(smoother.roughness)[:n_rows]
    spectrum = basis.T @ mean
    responses = 1.0 / (1.0 + CANDIDATES[:, None] * roughness)
    responses /= np.sqrt(np.mean(responses**2, axis=1, keepdims=True))
    variances = np.stack([np.mean((spectrum / s[:, None]) ** 2, axis=0) for s in responses]) + 1e-12
    cost = np.log(responses).sum(axis=1)[:, None] + 0.5 * n_rows * np.log(variances)
    best = np.argmin(cost, axis=0)
    response, variance = responses[best].T, variances[best, np.arange(rank)]
    return Latent(
        spectrum / response,
        -np.log(1 / variance + response**2 * precision),
        np.log(variance),
        np.log(CANDIDATES[best]),
    )


def _cosines(n_rows: int, size: int) -> Smoother:
    """The orthonormal cosine transform (type II) of a mode."""
    frequency = np.arange(n_rows)
    basis = np.cos(np.pi * (np.arange(n_rows)[:, None] + 0.5) * frequency / n_rows)
    basis *= np.sqrt(np.where(frequency == 0, 1, 2) / n_rows)
    roughness = 2 - 2 * np.cos(np.pi * frequency / n_rows)
    parts = (basis, roughness, np.full(n_rows, 1 / n_rows))
    return Smoother(*(jnp.asarray(np.pad(a, (0, size - n_rows)), jnp.float32) for a in parts))


def _of_mode(prior: Array, mode: int) -> Array:
    return prior[mode % prior.shape[0]]
