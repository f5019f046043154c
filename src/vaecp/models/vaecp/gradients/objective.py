"""The evidence lower bound, pure."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from vaecp.models.vaecp.gradients import rows as variational
from vaecp.models.vaecp.gradients.decoder import Decoder, look_up, project
from vaecp.models.vaecp.gradients.kernels import BlockPlan, RowTables, StoredBlocks, of_blocks
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.rows import Prior, Rows
from vaecp.models.vaecp.likelihoods import GAUSSIAN, Likelihood
from vaecp.runtime.placement import AXIS


class Parameters(NamedTuple):
    """All that is learned: Phi, Psi and Theta of the model."""

    rows: Rows
    prior: Prior
    decoder: Decoder


class Entries(NamedTuple):
    """Observed entries on the device; a weight of 0 marks padding.

    Arrays begin with the entries; of a whole tensor, with the parts that devices share.
    """

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


def elbo(sums: Array, n_in_batch: int, kl: Array | float, n_entries: Array | int) -> Elbo:
    """Estimate the ELBO of `n_entries` from the summed log-probabilities of a batch, per draw.

    The batch stands in for all entries, so its likelihood is scaled up. The rows are shared
    by every entry, so their KL is counted once.
    """
    return Elbo(n_entries / n_in_batch * sums.mean(), jnp.asarray(kl))


def batch_elbo(
    parameters: Parameters,
    batch: Entries,
    seeds: Array,
    n_entries: Array | int,
    layout: RowLayout,
    free: Array,
    likelihood: Likelihood = GAUSSIAN,
    mesh: jax.sharding.Mesh | None = None,
) -> Elbo:
    """Estimate the ELBO from one minibatch with a reparameterised draw of the rows for each seed.

    `free` is 1 for numbers of rows that are learned, 0 for padding and constants. The batch is
    (parts, entries in a part); with a `mesh`, devices share the parts.
    """

    def log_likelihood(seed: Array) -> Array:
        rows = variational.sample(parameters.rows, seed)
        if mesh is None:
            return _of_part(parameters.decoder, rows, _joined(batch), layout, likelihood)
        spec = jax.sharding.PartitionSpec
        shared = jax.shard_map(
            lambda decoder, rows, part: jax.lax.psum(
                _of_part(decoder, rows, _joined(part), layout, likelihood), AXIS
            ),
            mesh=mesh,
            in_specs=(spec(), spec(), spec(AXIS)),
            out_specs=spec(),
            check_vma=False,
        )
        return shared(parameters.decoder, rows, batch)

    sums = jax.vmap(log_likelihood)(seeds)
    kl = variational.kl(parameters.rows, parameters.prior, layout, free)
    return elbo(sums, batch.values.size, kl, n_entries)


def elbo_of_blocks(
    parameters: Parameters,
    stored: StoredBlocks,
    plan: BlockPlan,
    seeds: Array,
    n_entries: Array | int,
    layout: RowLayout,
    free: Array,
) -> Elbo:
    """Estimate the same, with Gaussian noise, from blocks of entries that are read where they lie."""

    def log_likelihood(seed: Array) -> Array:
        rows = variational.sample(parameters.rows, seed)
        return _of_blocks(parameters.decoder, rows, stored, plan, layout)

    sums = jax.vmap(log_likelihood)(seeds)
    kl = variational.kl(parameters.rows, parameters.prior, layout, free)
    return elbo(sums, stored.blocks.size * plan.block_size, kl, n_entries)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _of_blocks(
    decoder: Decoder, rows: Array, stored: StoredBlocks, plan: BlockPlan, layout: RowLayout
):
    return of_blocks(project(decoder, rows, layout), stored, plan)[0]


def _of_blocks_forward(
    decoder: Decoder, rows: Array, stored: StoredBlocks, plan: BlockPlan, layout: RowLayout
):
    floats, pull = jax.vjp(lambda decoder, rows: project(decoder, rows, layout), decoder, rows)
    value, gradients = of_blocks(floats, stored, plan)
    return value, pull(gradients)


def _of_blocks_backward(plan: BlockPlan, layout: RowLayout, gradients, cotangent: Array):
    # Scaled here, where gradients are small: those of projected rows are several times as many numbers.
    decoder, rows = jax.tree.map(lambda g: cotangent * g, gradients)
    return decoder, rows, None


_of_blocks.defvjp(_of_blocks_forward, _of_blocks_backward)


def _of_part(
    decoder: Decoder, rows: Array, part: Entries, layout: RowLayout, likelihood: Likelihood
) -> Array:
    tables: RowTables = look_up(decoder, rows, layout, part.indices)
    return likelihood.total(tables, part.values, part.weights)


def _joined(batch: Entries) -> Entries:
    """(parts, n, ...) -> (parts x n, ...)."""
    return Entries(
        batch.indices.reshape(-1, batch.indices.shape[-1]),
        batch.values.reshape(-1),
        batch.weights.reshape(-1),
    )


def weight_penalty(decoder: Decoder, precision: Array | float) -> Array:
    """Negative log of a Normal(0, 1/precision) prior on the weights of the mean head."""
    return 0.5 * precision * jnp.sum(decoder.mean_weights**2)
