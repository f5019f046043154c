"""From observations and settings to a training problem: sizes, schedules, starting points."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from vaecp import training
from vaecp.decoder import initial_decoder
from vaecp.factors import Prior, Rows
from vaecp.layout import Layout
from vaecp.objective import Entries, Parameters
from vaecp.observations import Observations
from vaecp.padding import round_up
from vaecp.smoothing import INITIAL_SMOOTHNESS, Smoothers
from vaecp.starts import Start

TOTAL_STEPS = 8_000
MIN_EPOCHS, MAX_EPOCHS = 20, 1_000
FINISHING_RATE = 0.1
INITIAL_POSTERIOR_STD = 0.05
RATE_SCALE_FROM_CP = 0.3


def choose_batch_size(n_entries: int) -> int:
    """About forty steps an epoch: fewer waste the gradient's precision, more waste time."""
    power = int(np.ceil(np.log2(max(n_entries, 1) / 40)))
    return int(2 ** np.clip(power, 6, 13))


def choose_block_size(n_entries: int, batch_size: int) -> int:
    """Entries are shuffled singly once, and in blocks every epoch.

    A block is read in one piece, and the order of an epoch stays short however many entries
    there are.
    """
    block_size = 16
    while n_entries // block_size > 2**16 and 16 * block_size < batch_size:
        block_size *= 2
    return block_size if batch_size % block_size == 0 else 1


def choose_epochs(n_entries: int, batch_size: int) -> int:
    """A fixed number of steps, so that small tensors see their entries more often."""
    steps_per_epoch = -(-n_entries // batch_size)
    return int(np.clip(TOTAL_STEPS // steps_per_epoch, MIN_EPOCHS, MAX_EPOCHS))


def choose_rank(n_entries: int, shape: tuple[int, ...]) -> int:
    """A rank that is too large costs time, not accuracy: rows with many entries get more."""
    return 64 if n_entries >= 300 * sum(shape) else 40


def choose_members(n_entries: int) -> int:
    """Where entries are few, members differ more, and more of them cost little."""
    return 8 if n_entries < 20_000 else 4


def loop_for(n_entries: int, batch_size: int, layout: Layout, n_draws: int) -> training.Loop:
    """What the compiled program is specialised to."""
    return training.Loop(
        layout,
        batch_size,
        choose_block_size(n_entries, batch_size),
        n_draws,
        choose_epochs_per_chunk(n_entries, batch_size),
    )


def choose_epochs_per_chunk(n_entries: int, batch_size: int) -> int:
    """Come back to Python often enough to show progress, seldom enough not to matter."""
    return int(np.clip(2_000 * batch_size // n_entries, 1, 10))


def phases(
    n_epochs: int,
    learning_rate: float,
    *,
    decay: bool,
    kl_warmup: float,
    scale_from: float,
    finish: float = 0.0,
) -> list[training.Phase]:
    """Per-epoch rates and KL weights.

    Up to `scale_from` the mean is trained under one shared noise level; after it the variance
    head alone. At 0 both are trained together all the way. Then `finish` times as many epochs
    follow, in which small steps take in the entries that were held out so far.
    """
    n_mean = round(scale_from * n_epochs) if scale_from > 0 else n_epochs
    ramp = np.arange(n_mean) / (kl_warmup * n_epochs) if kl_warmup > 0 else np.ones(n_mean)
    rate = _rates(learning_rate, n_mean, decay)
    together = scale_from == 0
    found = [_phase(rate, rate * together, np.minimum(ramp, 1.0))]
    n_scale = n_epochs - n_mean
    if n_scale:
        rate = _rates(learning_rate, n_scale, decay)
        found.append(_phase(0 * rate, rate, np.ones(n_scale), judged_by_nll=True))
    n_finish = round(finish * n_epochs)
    if n_finish:
        rate = _rates(FINISHING_RATE * learning_rate, n_finish, decay)
        found.append(_phase(rate, together * rate, np.ones(n_finish), on_all=True))
    return found


def _phase(
    *settings: np.ndarray, judged_by_nll: bool = False, on_all: bool = False
) -> training.Phase:
    flags = (np.full(len(settings[0]), flag) for flag in (judged_by_nll, on_all))
    return training.Phase(*(np.asarray(a, dtype=np.float32) for a in (*settings, *flags)))


def _rates(peak: float, n_epochs: int, decay: bool) -> np.ndarray:
    if not decay or n_epochs < 1:
        return np.full(n_epochs, peak)
    return np.asarray(optax.cosine_decay_schedule(peak, n_epochs)(jnp.arange(n_epochs)))


def problem(
    train: Observations,
    validation: Observations | None,
    *,
    layout: Layout,
    smoothers: Smoothers,
    batch_size: int,
    random: np.random.Generator,
    sharding: jax.sharding.Sharding,
) -> training.Problem:
    """Shuffle and pad the entries, and put them where they will live."""
    held_out = (validation.indices, validation.values) if validation else (train.indices[:0], ())
    indices = np.concatenate([train.indices, held_out[0]])
    values = np.concatenate([train.values, held_out[1]])
    order = random.permutation(len(values))
    n_entries = batch_size * round_up(-(-len(values) // batch_size), significant_bits=4)
    every = padded(indices[order], values[order], n_entries)
    is_held_out = np.pad(order >= len(train), (0, n_entries - len(order))).astype(np.float32)
    n_held_out = round_up(len(held_out[1]), at_least=32)
    place = functools.partial(jax.device_put, device=sharding)
    return training.Problem(
        training=Entries(place(every[0]), place(every[1]), place(every[2] - is_held_out)),
        held_out=place(is_held_out),
        validation=Entries(*map(place, padded(*held_out, n_held_out))),
        row_weights=place(layout.row_weights(train.shape)),
        smoothers=jax.tree.map(place, smoothers),
    )


def padded(indices: np.ndarray, values: Any, size: int) -> tuple[np.ndarray, ...]:
    """Return the indices, values and weights of `Entries`, with entries of weight 0 at the end."""
    n_entries, n_modes = indices.shape
    padded_indices = np.zeros((size, n_modes), dtype=np.int32)
    padded_indices[:n_entries] = indices
    padded_values, weights = np.zeros((2, size), dtype=np.float32)
    padded_values[:n_entries] = values
    weights[:n_entries] = 1.0
    return padded_indices, padded_values, weights


@dataclass(frozen=True)
class Architecture:
    """What decides the shapes of the parameters, and how they start."""

    rank: int
    hidden: int
    multilinear: bool
    shared_prior: bool
    quiet: bool
    smooth: bool = False


def initial_states(
    seed: int,
    weight_precisions: np.ndarray,
    layout: Layout,
    architecture: Architecture,
    starts: Sequence[Start] = (),
) -> training.State:
    """Draw the starting points of all members, one per weight precision.

    The last members take the `starts` instead, and smaller steps not to leave them at once.
    """
    keys = jax.random.split(jax.random.key(seed), len(weight_precisions))
    parameters = _initial_parameters(keys, layout, architecture)
    rate_scale = np.ones(len(keys), dtype=np.float32)
    if starts:
        parameters = _placed(parameters, starts)
        rate_scale[-len(starts) :] = RATE_SCALE_FROM_CP
    member = training.Member(jnp.asarray(weight_precisions, jnp.float32), jnp.asarray(rate_scale))
    return training.start_all(parameters, member)


def _placed(parameters: Parameters, starts: Sequence[Start]) -> Parameters:
    """Put the last members where the starts say."""
    n_starts = len(starts)
    row_mean, row_log_variance, prior_log_variance, smoothness, log_noise = (
        jnp.asarray(np.stack(parts)) for parts in zip(*starts, strict=True)
    )
    rows, prior, decoder, smoothness_before = parameters
    if prior.log_variance.shape[1] == 1:
        prior_log_variance = prior_log_variance.mean(axis=1, keepdims=True)
    return Parameters(
        Rows(
            rows.mean.at[-n_starts:].set(row_mean),
            rows.log_variance.at[-n_starts:].set(row_log_variance),
        ),
        prior._replace(log_variance=prior.log_variance.at[-n_starts:].set(prior_log_variance)),
        decoder._replace(scale_bias=decoder.scale_bias.at[-n_starts:].set(log_noise)),
        None if smoothness_before is None else smoothness_before.at[-n_starts:].set(smoothness),
    )


@functools.partial(jax.jit, static_argnums=(1, 2))
@functools.partial(jax.vmap, in_axes=(0, None, None))
def _initial_parameters(key: Array, layout: Layout, architecture: Architecture) -> Parameters:
    """With the multilinear path, rows start at a size that gives their product unit variance."""
    n_modes, rank = layout.n_modes, architecture.rank
    decoder_key, row_key = jax.random.split(key)
    size = rank ** (-0.5 / n_modes) if architecture.multilinear else 1.0
    mean = size * jax.random.normal(row_key, (layout.n_rows, rank))
    prior_shape = (1 if architecture.shared_prior else n_modes, rank)
    return Parameters(
        rows=Rows(mean, jnp.full_like(mean, 2 * np.log(INITIAL_POSTERIOR_STD * size))),
        prior=Prior(jnp.zeros(prior_shape), jnp.full(prior_shape, 2 * np.log(size))),
        decoder=initial_decoder(
            decoder_key,
            n_modes,
            rank,
            architecture.hidden,
            multilinear=architecture.multilinear,
            quiet=architecture.quiet,
        ),
        smoothness=jnp.full((n_modes, rank), np.log(INITIAL_SMOOTHNESS))
        if architecture.smooth
        else None,
    )
