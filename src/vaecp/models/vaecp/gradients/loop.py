"""The one compiled loop: minibatches inside epochs, members side by side.

A chunk of epochs is one compiled program, a scan over epochs of a scan over minibatches, mapped
over independent members.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.flatten_util import ravel_pytree

from vaecp.models.vaecp.gradients import kernels as fused
from vaecp.models.vaecp.gradients.decoder import decode
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.noise import seeds
from vaecp.models.vaecp.gradients.objective import (
    Elbo,
    Entries,
    Parameters,
    batch_elbo,
    elbo_of_blocks,
    weight_penalty,
)
from vaecp.models.vaecp.likelihoods import GAUSSIAN, Gaussian, Likelihood
from vaecp.runtime.placement import N_SHARDS

ADAM = optax.scale_by_adam(b1=0.9, b2=0.999, eps=1e-8)


@dataclass(frozen=True)
class Loop:
    """What the compiled program is specialised to."""

    layout: RowLayout
    batch_size: int
    block_size: int  # entries that are shuffled as one
    n_draws: int = 1
    epochs_per_chunk: int = 10
    log_variance_rate: float = 1.0  # steps of log-variances, relative to the others
    likelihood: Likelihood = GAUSSIAN
    mesh: jax.sharding.Mesh | None = None  # devices that share the entries, where there are several
    sorted_mode: int | None = None  # by whose rows the entries of a block are sorted

    @property
    def n_parts(self) -> int:
        """Into how many parts the entries are cut: one where batches cannot be cut evenly."""
        n_parts = max(N_SHARDS, self.mesh.size if self.mesh is not None else 1)
        return 1 if self.batch_size % (n_parts * self.block_size) else n_parts

    @property
    def plan(self) -> fused.BlockPlan:
        return fused.BlockPlan(self.block_size, self.layout.offsets, self.sorted_mode)

    def reads_blocks(self, problem: Problem) -> bool:
        """Whether batches are read where they lie, rather than gathered first."""
        return (
            fused.reads_blocks()
            and self.mesh is None
            and type(self.likelihood).total is Gaussian.total
            and max(self.layout.sizes) <= self.batch_size  # else few rows are asked for
            and problem.training.values.size < 2**31
        )


class Phase(NamedTuple):
    """Per-epoch settings, (epochs,) arrays, of one stretch of training."""

    learning_rate: np.ndarray
    scale_learning_rate: np.ndarray  # of the variance head
    kl_weight: np.ndarray
    by_likelihood: np.ndarray  # 1: the best state has the lowest validation NLL; 0: RMSE
    with_held_out: (
        np.ndarray
    )  # 1: held-out entries are learned from too, and the last state is kept


class Problem(NamedTuple):
    """The data of one fit, or a piece of them, on the device.

    The first axis of entries goes over their parts.
    """

    training: Entries  # held-out ones are among them, with a weight of 0
    held_out: Array  # (parts, n): 1 for those
    n_entries: Array  # of all pieces; padding counts, as its terms are zero
    validation: Entries  # (n, ...)
    free: Array  # (rows, width): 1 for numbers that are learned, 0 for padding and constants


class MemberSettings(NamedTuple):
    """What sets one member apart from the others, apart from its start."""

    weight_precision: Array
    rate_scale: Array


class State(NamedTuple):
    """Where one member stands."""

    parameters: Parameters
    moments: optax.OptState
    member: MemberSettings
    best: Parameters
    best_loss: Array
    epochs_since_best: Array


class Epoch(NamedTuple):
    """The terms of one epoch, averaged over its steps."""

    elbo: Array
    log_likelihood: Array
    kl: Array
    noise_std: Array
    validation_rmse: Array
    validation_nll: Array


def start(parameters: Parameters, member: MemberSettings) -> State:
    """Stand at the first step; `parameters` belong to one member."""
    return State(
        parameters=parameters,
        moments=ADAM.init(ravel_pytree(parameters)[0]),
        member=member,
        best=jax.tree.map(jnp.copy, parameters),  # its own buffers: the loop reuses all it is given
        # Of stated types, as the loop gives them back: else it would be compiled twice.
        best_loss=jnp.asarray(jnp.inf, jnp.float32),
        epochs_since_best=jnp.asarray(0, jnp.int32),
    )


@jax.jit
def start_all(parameters: Parameters, member: MemberSettings) -> State:
    """Stand at the first step with all members."""
    return jax.vmap(start)(parameters, member)


@functools.partial(jax.jit, static_argnames="loop", donate_argnums=0)
def run_chunk(states: State, problem: Problem, phase: Phase, batches, key, loop: Loop):
    """Train all members for the epochs of a phase; return where they stand, and each epoch's terms.

    `batches` are blocks of entries: (epochs, steps, parts, blocks).
    """
    # Members share their random numbers, which cost as much as a third of a step: they start
    # apart, so what is the same noise means something else to each.
    keys = jax.random.split(key, batches.shape[:2])
    draws = jax.vmap(jax.vmap(lambda key: seeds(key, loop.n_draws)))(keys)

    def run(state: State) -> tuple[State, Epoch]:
        return jax.lax.scan(
            lambda state, inputs: _epoch(state, problem, *inputs, loop),
            state,
            (phase, batches, draws),
        )

    return jax.vmap(run)(states)


def _epoch(state: State, problem: Problem, settings: Phase, batches, draws, loop: Loop):
    bound_of = _bound_of_batches(problem, settings, loop)
    rates = _rates(state, settings, problem.free, loop.log_variance_rate)
    # One flat vector: Adam is then one kernel, not one for every array.
    flat, unravel = ravel_pytree(state.parameters)

    def step(carry, inputs):
        flat, moments = carry
        gradient, terms = _gradient(
            unravel(flat), inputs, bound_of, settings.kl_weight, state.member.weight_precision
        )
        direction, moments = ADAM.update(ravel_pytree(gradient)[0], moments)
        return (flat - rates * cast(Array, direction), moments), terms

    (flat, moments), (log_likelihood, kl) = jax.lax.scan(
        step, (flat, state.moments), (batches, draws)
    )
    parameters = unravel(flat)
    rmse, nll = _validation_losses(parameters, problem.validation, loop)
    loss = (
        jnp.where(settings.by_likelihood > 0, nll, rmse) if loop.likelihood.has_residuals else nll
    )
    # A state of the warm-up, whose KL does not count in full, is no candidate.
    warming = settings.kl_weight < 1
    last_counts = (settings.with_held_out > 0) | ~jnp.any(problem.validation.weights > 0)
    better = (loss <= state.best_loss) | warming | last_counts
    state = State(
        parameters=parameters,
        moments=moments,
        member=state.member,
        best=jax.tree.map(lambda new, old: jnp.where(better, new, old), parameters, state.best),
        best_loss=jnp.where(warming, jnp.inf, jnp.where(better, loss, state.best_loss)),
        epochs_since_best=jnp.where(better, 0, state.epochs_since_best + 1),
    )
    epoch = Epoch(
        elbo=(log_likelihood - kl).mean(),
        log_likelihood=log_likelihood.mean(),
        kl=kl.mean(),
        noise_std=jnp.exp(0.5 * parameters.decoder.scale_bias),
        validation_rmse=rmse,
        validation_nll=nll,
    )
    return state, epoch


def _gradient(parameters, inputs, bound_of, kl_weight, weight_precision):
    """Return the gradient of a minibatch's loss, and the terms of its bound."""

    def loss(parameters: Parameters):
        bound = bound_of(parameters, *inputs)
        cost = kl_weight * bound.kl - bound.log_likelihood
        terms = (bound.log_likelihood, bound.kl)
        return cost + weight_penalty(parameters.decoder, weight_precision), terms

    return jax.grad(loss, has_aux=True)(parameters)


def _bound_of_batches(problem: Problem, settings: Phase, loop: Loop):
    """Return the function that estimates the bound from the blocks of a batch, and seeds of draws."""

    def gathered(parameters: Parameters, blocks: Array, draws: Array) -> Elbo:
        batch = _take_blocks(problem, settings, blocks, loop.block_size)
        return batch_elbo(
            parameters,
            batch,
            draws,
            problem.n_entries,
            loop.layout,
            problem.free,
            loop.likelihood,
            loop.mesh,
        )

    if not loop.reads_blocks(problem):
        return gathered

    indices, values, weights = problem.training
    n_parts, per_part = values.shape
    weights = weights + settings.with_held_out * problem.held_out
    first = jnp.arange(n_parts, dtype=jnp.int32) * (per_part // loop.block_size)
    entries = indices.reshape(-1, indices.shape[-1]), values.reshape(-1), weights.reshape(-1)

    def where_they_lie(parameters: Parameters, blocks: Array, draws: Array) -> Elbo:
        stored = fused.StoredBlocks(*entries, (first[:, None] + blocks).reshape(-1))
        return elbo_of_blocks(
            parameters, stored, loop.plan, draws, problem.n_entries, loop.layout, problem.free
        )

    return where_they_lie


def _rates(state: State, settings: Phase, free: Array, log_variance_rate: float) -> Array:
    """A learning rate per parameter, 0 for what is held fixed.

    The variance head has its own schedule. Log-variances may have far to go, from a twentieth of
    a row's size to the thousandth that clean spectra allow, and then take larger steps.
    """
    rate = state.member.rate_scale * settings.learning_rate
    rates = jax.tree.map(lambda p: jnp.full_like(p, rate), state.parameters)
    faster = log_variance_rate * rate
    rows, prior, decoder = rates
    scale_weights = jnp.full_like(decoder.scale_weights, settings.scale_learning_rate)
    scale_bias = jnp.maximum(faster, settings.scale_learning_rate)
    if decoder.product_weights is not None:  # rows have a size of their own
        decoder = decoder._replace(product_weights=jnp.zeros_like(decoder.product_weights))
    rates = Parameters(
        rows._replace(mean=rate * free, log_variance=faster * free),
        prior._replace(log_variance=jnp.full_like(prior.log_variance, faster)),
        decoder._replace(scale_weights=scale_weights, scale_bias=scale_bias),
    )
    return ravel_pytree(rates)[0]


def _take_blocks(problem: Problem, settings: Phase, blocks: Array, block_size: int) -> Entries:
    """Every part gives its blocks: (parts, entries in a part of the batch)."""

    def take(array: Array) -> Array:
        def of_part(part: Array, chosen: Array) -> Array:
            grouped = part.reshape(-1, block_size, *part.shape[1:])
            return grouped[chosen].reshape(-1, *part.shape[1:])

        return jax.vmap(of_part)(array, blocks)

    batch = Entries(*(take(array) for array in problem.training))
    return batch._replace(weights=batch.weights + settings.with_held_out * take(problem.held_out))


def _validation_losses(parameters: Parameters, validation: Entries, loop: Loop):
    """RMSE and mean negative log-likelihood at the posterior means of the rows."""
    outputs = decode(parameters.decoder, parameters.rows.mean, loop.layout, validation.indices)
    share = validation.weights / jnp.maximum(validation.weights.sum(), 1.0)
    rmse = jnp.sqrt(share @ (validation.values - outputs[0]) ** 2)
    return rmse, -share @ loop.likelihood.log_prob(outputs, validation.values)
