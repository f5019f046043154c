"""The two loops over entries that cost the time, each as one operation.

`decode` gives the mean and the log-variance of entries, `log_likelihood` the sum of their
weighted Gaussian log-densities together with its gradients. `reference` says in plain JAX what
they compute, and serves where no kernel of ours does.
"""

from __future__ import annotations

import functools
import os

import jax
from jax import Array

from vaecp.models.vaecp.gradients.kernels import reference
from vaecp.models.vaecp.gradients.kernels.reference import (
    BlockPlan,
    Floats,
    RowTables,
    StoredBlocks,
)
from vaecp.runtime.warning import warn_user

__all__ = [
    "BlockPlan",
    "Floats",
    "RowTables",
    "StoredBlocks",
    "decode",
    "log_likelihood",
    "of_blocks",
    "reads_blocks",
]

DETERMINISTIC = "--xla_gpu_deterministic_ops=true"


@jax.custom_vjp
def decode(tables: RowTables) -> tuple[Array, Array]:
    """Return the mean and the log-variance of every entry."""
    cpu = _cpu()
    kernels = {"cpu": cpu.decode} if cpu else {}
    return jax.lax.platform_dependent(tables, **kernels, default=reference.decode)


decode.defvjp(
    lambda tables: (decode(tables), tables),
    lambda tables, cotangents: (reference.decode_gradients(tables, cotangents),),
)


@jax.custom_vjp
def log_likelihood(tables: RowTables, values: Array, weights: Array) -> Array:
    """Return the sum of the entries' weighted log-densities.

    It has gradients with respect to the tables; values and weights are data.
    """
    return reference.log_likelihood(tables, values, weights)


def _value_and_gradients(
    tables: RowTables, values: Array, weights: Array
) -> tuple[Array, RowTables]:
    homes = {"cpu": _cpu(), "cuda": _gpu()}
    kernels = {name: home.value_and_gradients for name, home in homes.items() if home}
    return jax.lax.platform_dependent(
        tables, values, weights, **kernels, default=reference.value_and_gradients
    )


def _scaled(gradients: RowTables, cotangent: Array):
    return jax.tree.map(lambda g: cotangent * g, gradients), None, None


log_likelihood.defvjp(_value_and_gradients, _scaled)


def of_blocks(floats: Floats, stored: StoredBlocks, plan: BlockPlan) -> tuple[Array, Floats]:
    """Return the log-likelihood of a batch that is made of blocks, and its gradients.

    The kernel of a GPU reads the blocks where they lie; elsewhere they are gathered.
    """
    gpu = _gpu()
    kernels = {"cuda": functools.partial(gpu.of_blocks, plan=plan)} if gpu else {}
    return jax.lax.platform_dependent(
        floats, stored, **kernels, default=functools.partial(reference.of_blocks, plan=plan)
    )


def reads_blocks() -> bool:
    """Whether there is a kernel that reads blocks of entries where they lie."""
    return _gpu() is not None


@functools.cache
def _cpu():
    """The compiled loops of the CPU, or None where Numba is missing or XLA refuses them."""
    try:
        from vaecp.models.vaecp.gradients.kernels import cpu
    except (ImportError, RuntimeError) as error:
        if jax.default_backend() == "cpu":
            warn_user(
                f"fits take several times as long, for the compiled loops cannot be used ({error}): "
                "install numba.",
                UserWarning,
            )
        return None
    return cpu


@functools.cache
def _gpu():
    """The kernel of NVIDIA's GPUs, or None where there is none to run it, or sums need an order.

    The kernel adds in any order, which XLA's own programs do not where its flag asks for that.
    """
    if jax.default_backend() != "gpu" or DETERMINISTIC in os.environ.get("XLA_FLAGS", ""):
        return None
    try:
        from vaecp.models.vaecp.gradients.kernels import gpu
    except ImportError:  # a version of JAX without Triton's part of Pallas
        return None
    return gpu
