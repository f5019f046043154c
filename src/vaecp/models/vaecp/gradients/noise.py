"""Standard normal numbers for draws of rows, an order cheaper than JAX's own.

Every step draws as many as there are numbers in the rows. JAX's generator is fit for
cryptography and costs more than the rest of a small step; an integer hash of a counter, mixed
twice with a key of JAX's, is as random as stochastic gradients need.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import Array


def seeds(key: Array, n_draws: int) -> Array:
    """Return the seeds of draws, (n_draws, 2); those of many steps at once cost as much as of one."""
    keys = jax.random.split(key, n_draws)
    return jax.vmap(lambda key: jax.random.bits(key, (2,), jnp.uint32))(keys)


def standard_normals(seed: Array, shape: tuple[int, ...]) -> Array:
    """Draw independent standard normal numbers."""
    first, second = seed
    counter = jax.lax.iota(jnp.uint32, math.prod(shape))
    bits = _mixed(_mixed(counter ^ first) + second)
    uniform = ((bits >> 9).astype(jnp.float32) + 0.5) * 2.0**-22 - 1.0  # exact, inside (-1, 1)
    normals = (math.sqrt(2) * jax.lax.erf_inv(uniform)).reshape(shape)
    return jax.lax.optimization_barrier(normals)  # or XLA would compute them anew for every use


def _mixed(bits: Array) -> Array:
    """A bijection of 32-bit integers in which every bit depends on every other."""
    bits = (bits ^ (bits >> 16)) * jnp.uint32(0x21F0AAAD)
    bits = (bits ^ (bits >> 15)) * jnp.uint32(0x735A2D97)
    return bits ^ (bits >> 15)
