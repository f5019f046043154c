"""The one compiled loop: minibatches inside epochs, members side by side.

`train` runs chunks of epochs. A chunk is one compiled program, a scan over epochs of a scan
over minibatches, mapped over independent members; Python sees only whole chunks, to show
progress and to stop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from vaecp.decoder import Decoder, decode
from vaecp.errors import TrainingError
from vaecp.objective import Entries, Parameters, batch_elbo, weight_penalty

EPOCHS_PER_CHUNK = 10
SHUFFLE_BLOCK = 16
"""Entries are shuffled singly once, and in blocks of this many every epoch: a block is read
in one piece, and sorting blocks costs a sixteenth of sorting entries."""

ADAM = optax.scale_by_adam(b1=0.9, b2=0.999, eps=1e-8)


@dataclass(frozen=True)
class Loop:
    """What the compiled program is specialised to."""

    batch_size: int
    n_draws: int = 1

    @property
    def block(self) -> int:
        """How many entries are shuffled as one."""
        return SHUFFLE_BLOCK if self.batch_size % SHUFFLE_BLOCK == 0 else 1


class Schedule(NamedTuple):
    """Per-epoch settings, (epochs,) arrays."""

    learning_rate: np.ndarray
    scale_learning_rate: np.ndarray  # of the variance head
    kl_weight: np.ndarray


class Problem(NamedTuple):
    """The data of one fit, on the device."""

    training: Entries
    validation: Entries
    n_rows: tuple[Array, ...]
    weight_precision: Array


class State(NamedTuple):
    """Where one member stands."""

    parameters: Parameters
    moments: optax.OptState
    key: Array
    best: Parameters
    best_rmse: Array
    epochs_since_best: Array


class Epoch(NamedTuple):
    """The terms of one epoch, averaged over its steps."""

    elbo: Array
    log_likelihood: Array
    kl: Array
    noise_std: Array
    validation_rmse: Array


@dataclass(frozen=True)
class Outcome:
    """Trained parameters (leading axis: members) and the history of their training."""

    parameters: Parameters
    history: dict[str, np.ndarray]  # each (epochs, members)
    stopped_early: bool


def start(parameters: Parameters, key: Array) -> State:
    """Stand at the first step; `parameters` belong to one member."""
    return State(
        parameters=parameters,
        moments=ADAM.init(parameters),
        key=key,
        best=jax.tree.map(jnp.copy, parameters),  # its own buffers: the loop reuses all it is given
        best_rmse=jnp.asarray(jnp.inf),
        epochs_since_best=jnp.asarray(0),
    )


def train(
    states: State,
    problem: Problem,
    schedule: Schedule,
    loop: Loop,
    *,
    patience: int | None = None,
    on_chunk: Callable[[int, dict[str, np.ndarray]], None] | None = None,
) -> Outcome:
    """Train every member until the schedule ends, or none improves for `patience` epochs.

    With validation entries the state with the best validation RMSE is returned, otherwise
    the last one.
    """
    n_epochs = len(schedule.learning_rate)
    chunks: list[Epoch] = []
    stopped_early = False
    for first in range(0, n_epochs, EPOCHS_PER_CHUNK):
        part = Schedule(*(jnp.asarray(a[first : first + EPOCHS_PER_CHUNK]) for a in schedule))
        states, epochs = _run_chunk(states, problem, part, loop)
        chunks.append(jax.tree.map(lambda a: np.asarray(a).T, epochs))
        _refuse_non_finite(chunks[-1], first, schedule)
        if on_chunk is not None:
            on_chunk(first + len(chunks[-1].elbo), chunks[-1]._asdict())
        if patience is not None and int(states.epochs_since_best.min()) >= patience:
            stopped_early = first + EPOCHS_PER_CHUNK < n_epochs
            break
    history = {
        term: np.concatenate([chunk._asdict()[term] for chunk in chunks]) for term in Epoch._fields
    }
    return Outcome(states.best, history, stopped_early)


@functools.partial(jax.jit, static_argnames="loop", donate_argnums=0)
def _run_chunk(states: State, problem: Problem, schedule: Schedule, loop: Loop):
    def run(state: State) -> tuple[State, Epoch]:
        return jax.lax.scan(
            lambda state, settings: _epoch(state, problem, settings, loop), state, schedule
        )

    return jax.vmap(run)(states)


def _epoch(state: State, problem: Problem, settings: Schedule, loop: Loop):
    key, shuffle_key, step_key = jax.random.split(state.key, 3)
    batches = _shuffled_blocks(shuffle_key, problem.training.values.shape[0], loop)
    step_keys = jax.random.split(step_key, len(batches))

    def step(carry, inputs):
        return _step(*carry, *inputs, problem, settings, loop)

    carry = (state.parameters, state.moments)
    (parameters, moments), terms = jax.lax.scan(step, carry, (batches, step_keys))
    log_likelihood, kl = terms
    rmse = validation_rmse(parameters, problem.validation)
    better = (rmse <= state.best_rmse) | ~jnp.any(problem.validation.weights > 0)
    state = State(
        parameters=parameters,
        moments=moments,
        key=key,
        best=jax.tree.map(lambda new, old: jnp.where(better, new, old), parameters, state.best),
        best_rmse=jnp.where(better, rmse, state.best_rmse),
        epochs_since_best=jnp.where(better, 0, state.epochs_since_best + 1),
    )
    epoch = Epoch(
        elbo=(log_likelihood - kl).mean(),
        log_likelihood=log_likelihood.mean(),
        kl=kl.mean(),
        noise_std=jnp.exp(0.5 * parameters.decoder.scale_bias),
        validation_rmse=rmse,
    )
    return state, epoch


def _step(parameters, moments, blocks, key, problem: Problem, settings: Schedule, loop: Loop):
    batch = _take_blocks(problem.training, blocks, loop)
    n_entries = problem.training.values.shape[0]  # padding counts: its terms are zero

    def loss(parameters: Parameters):
        bound = batch_elbo(parameters, batch, key, n_entries, problem.n_rows, loop.n_draws)
        cost = settings.kl_weight * bound.kl - bound.log_likelihood
        return cost + weight_penalty(parameters.decoder, problem.weight_precision), bound

    gradient, bound = jax.grad(loss, has_aux=True)(parameters)
    direction, moments = ADAM.update(gradient, moments)
    rates = _rates(parameters, settings)
    parameters = jax.tree.map(lambda p, d, rate: p - rate * d, parameters, direction, rates)
    return (parameters, moments), (bound.log_likelihood, bound.kl)


def _rates(parameters: Parameters, settings: Schedule) -> Parameters:
    """One learning rate per array: the variance head has its own schedule."""
    rates = jax.tree.map(lambda _: settings.learning_rate, parameters)
    decoder: Decoder = rates.decoder._replace(
        scale_weights=settings.scale_learning_rate,
        scale_bias=jnp.maximum(settings.learning_rate, settings.scale_learning_rate),
    )
    return rates._replace(decoder=decoder)


def _shuffled_blocks(key: Array, n_entries: int, loop: Loop) -> Array:
    """Order of the blocks in one epoch: (batches, blocks per batch)."""
    order = jax.random.permutation(key, n_entries // loop.block)
    return order.reshape(-1, loop.batch_size // loop.block)


def _take_blocks(entries: Entries, blocks: Array, loop: Loop) -> Entries:
    def take(array: Array) -> Array:
        grouped = array.reshape(-1, loop.block, *array.shape[1:])
        return grouped[blocks].reshape(-1, *array.shape[1:])

    return Entries(*(take(array) for array in entries))


def validation_rmse(parameters: Parameters, validation: Entries) -> Array:
    """RMSE at the posterior means of the rows."""
    mean, _ = decode(parameters.decoder, parameters.rows.mean, validation.coordinates)
    squares = validation.weights * (validation.values - mean) ** 2
    return jnp.sqrt(squares.sum() / jnp.maximum(validation.weights.sum(), 1.0))


def _refuse_non_finite(epochs: Epoch, first: int, schedule: Schedule) -> None:
    broken = ~np.isfinite(epochs.elbo)
    if broken.any():
        epoch = first + int(np.argmax(broken.any(axis=1)))
        rate = float(schedule.learning_rate[epoch])
        raise TrainingError(
            f"training turned non-finite in epoch {epoch + 1} at learning rate {rate:.2g}: fit again "
            f"with a smaller one, such as learning_rate={rate / 10:.1g}."
        )
