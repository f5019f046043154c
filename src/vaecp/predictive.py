"""The posterior predictive distribution of entries under several trained members."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from vaecp import factors
from vaecp.cores import first_then_in_threads
from vaecp.decoder import decode
from vaecp.layout import Layout
from vaecp.objective import Parameters

CHUNK, LARGE_CHUNK, MANY = 2048, 32768, 131_072
"""Entries are predicted in chunks of one size, the last one padded: one compiled program (and
one more, of large chunks, for many entries), whatever their number."""


class Ensemble(NamedTuple):
    """Trained members (the leading axis) and how much each counts; weights sum to 1."""

    parameters: Parameters
    weights: Array


class Moments(NamedTuple):
    """Per entry: the mean, the noise variance and the variance of the mean."""

    mean: np.ndarray
    noise_variance: np.ndarray
    ignorance_variance: np.ndarray


def means(ensemble: Ensemble, layout: Layout, indices: np.ndarray) -> np.ndarray:
    """Average the members' means at the posterior means of the rows."""
    return _in_chunks(lambda chunk: _means(ensemble, layout, chunk), indices)


def member_means(parameters: Parameters, layout: Layout, indices: np.ndarray) -> np.ndarray:
    """Return each member's mean of each entry: (n, members)."""
    return _in_chunks(lambda chunk: _member_means(parameters, layout, chunk).T, indices)


def moments(
    ensemble: Ensemble, layout: Layout, indices: np.ndarray, seed: int, n_draws: int
) -> Moments:
    """Mean, noise and ignorance of every entry.

    Ignorance is the variance of the decoder's mean over draws of the rows and over members.
    All rows of a mode share their standard normal numbers: an entry has one row per mode, so
    its variance is the same as with numbers of their own, and rows with equal posteriors get
    equal variances.
    """
    n_members, _, rank = ensemble.parameters.rows.mean.shape
    normals = jnp.asarray(_balanced_normals(seed, n_draws, (n_members, layout.n_modes, rank)))
    noise, ignorance = _in_chunks(
        lambda chunk: _variances(ensemble, layout, chunk, normals), indices
    )
    return Moments(means(ensemble, layout, indices), noise, ignorance)


def draws(ensemble: Ensemble, layout: Layout, indices: np.ndarray, seed: int, n_draws: int):
    """Joint draws: (n_draws, n) means and noise standard deviations of whole tensors.

    Each draw picks a member by its weight, and draws every row once.
    """
    weights = np.asarray(ensemble.weights, dtype=np.float64)
    members = np.random.default_rng(seed).choice(
        len(weights), size=n_draws, p=weights / weights.sum()
    )
    keys = jax.random.split(jax.random.key(seed), n_draws)
    pairs = []
    for draw in range(n_draws):
        member = jax.tree.map(lambda a, m=int(members[draw]): a[m], ensemble.parameters)
        pairs.append(
            _in_chunks(
                lambda chunk, m=member, k=keys[draw]: _one_draw(m, layout, chunk, k), indices
            )
        )
    mean, log_variance = (np.stack(parts) for parts in zip(*pairs, strict=True))
    return mean, np.exp(0.5 * log_variance)


@functools.partial(jax.jit, static_argnums=1)
def _member_means(parameters: Parameters, layout: Layout, indices: Array) -> Array:
    return jax.vmap(lambda p: decode(p.decoder, p.rows.mean, layout, indices)[0])(parameters)


@functools.partial(jax.jit, static_argnums=1)
def _means(ensemble: Ensemble, layout: Layout, indices: Array) -> Array:
    return ensemble.weights @ _member_means(ensemble.parameters, layout, indices)


@functools.partial(jax.jit, static_argnums=1)
def _one_draw(parameters: Parameters, layout: Layout, indices: Array, key: Array):
    return decode(parameters.decoder, factors.sample(parameters.rows, key), layout, indices)


@functools.partial(jax.jit, static_argnums=1)
def _variances(ensemble: Ensemble, layout: Layout, indices: Array, normals: Array):
    def of_member(p: Parameters, normals: Array):
        rows = p.rows.mean + jnp.exp(0.5 * p.rows.log_variance) * layout.spread(normals)
        return decode(p.decoder, rows, layout, indices)

    def add_draw(totals, normals):
        mean, log_variance = jax.vmap(of_member)(ensemble.parameters, normals)
        terms = ((mean - centre) ** 2, jnp.exp(log_variance))
        return tuple(
            total + ensemble.weights @ term for total, term in zip(totals, terms, strict=True)
        ), None

    # Around the mean that is reported; and in float32 a variance far smaller than the squared
    # mean would otherwise drown in rounding.
    centre = _means(ensemble, layout, indices)
    zeros = jnp.zeros(indices.shape[0])
    (squares, noise), _ = jax.lax.scan(add_draw, (zeros, zeros), normals)
    return noise / normals.shape[0], squares / normals.shape[0]


def _balanced_normals(seed: int, n_draws: int, shape: tuple[int, ...]) -> np.ndarray:
    """Draw standard normals in pairs of opposite sign, with a mean square of exactly 1."""
    half = np.random.default_rng(seed).standard_normal((max(n_draws // 2, 1), *shape))
    half /= np.sqrt(np.mean(half**2, axis=0))
    return np.concatenate([half, -half]).astype(np.float32)


def _in_chunks(function: Callable[[np.ndarray], Array | tuple], indices: np.ndarray):
    """Apply a function of (chunk, D) indices to any number of them, on all cores."""
    n_entries = len(indices)
    size = LARGE_CHUNK if n_entries >= MANY else CHUNK
    padded = np.zeros((-(-max(n_entries, 1) // size) * size, indices.shape[1]), dtype=np.int32)
    padded[:n_entries] = indices

    def of_chunk(first: int):
        return jax.tree.map(np.asarray, function(padded[first : first + size]))

    parts = first_then_in_threads(of_chunk, range(0, len(padded), size))
    return jax.tree.map(lambda *pieces: np.concatenate(pieces)[:n_entries], *parts)
