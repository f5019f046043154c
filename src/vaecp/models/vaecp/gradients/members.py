"""Train members with a network: starting points, training, and what comes out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.vaecp.gradients import driver
from vaecp.models.vaecp.gradients.decoder import initial_decoder
from vaecp.models.vaecp.gradients.entries import InMemory, Source
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.loop import Loop, MemberSettings, State, start_all
from vaecp.models.vaecp.gradients.objective import Parameters
from vaecp.models.vaecp.gradients.rows import Prior, Rows
from vaecp.models.vaecp.gradients.schedule import Schedule
from vaecp.models.vaecp.gradients.streamed import FromDisk, Stored
from vaecp.models.vaecp.members import Member
from vaecp.models.vaecp.networks import Network
from vaecp.runtime.compilation import keep_compiled_programs
from vaecp.runtime.placement import Placement

INITIAL_POSTERIOR_STD = 0.05
CERTAIN = -60.0
"""Log-variance of what is known."""

RATE_SCALES = (1.0, 1.0, 2.0, 1.0)
"""Of members in turn: tensors with few entries per number want larger steps, others do not, and
the stacking weights tell."""


@dataclass(frozen=True)
class Architecture:
    """What decides the shapes of the parameters, and how they start.

    Attributes
    ----------
    multilinear : whether the product of the rows, and effects of rows, are added to the network.
    near_zero : whether the network starts near zero, as one that adds to something does.
    """

    rank: int
    hidden: int
    multilinear: bool
    shared_prior: bool
    near_zero: bool

    def width(self, n_modes: int) -> int:
        """Columns of a row: components, and the effects of rows."""
        return self.rank + (n_modes if self.multilinear else 0)


@dataclass(frozen=True, eq=False)
class TrainedMembers:
    """Members that held-out entries can judge, the same after learning from these too, and how."""

    judged: list[Member]
    final: list[Member]
    history: dict[str, np.ndarray]
    stopped_early: bool


def train_members(
    train: Observations | Stored,
    held_out: Observations | None,
    architecture: Architecture,
    weight_precisions: Sequence[float],
    schedule: Schedule,
    loop: Loop,
    seed: int,
    placement: Placement,
    *,
    patience: int | None = None,
    on_chunk: driver.OnChunk | None = None,
    name: str = "network",
) -> TrainedMembers:
    """Train on some entries and judge by the others, then go on with all from the best mean.

    `name` is that under which a checkpoint keeps the training.
    """
    keep_compiled_programs()
    random = np.random.default_rng(seed)
    with placement.as_default():
        free = free_numbers(train.shape, loop.layout, architecture)
        source = _source(train, held_out, free, loop, random, placement)
        states = initial_states(seed, weight_precisions, loop.layout, architecture, free)
        member = jax.tree.map(jnp.copy, states.member)
        first = driver.run_phases(
            states,
            source,
            schedule.phases(),
            loop,
            random,
            placement,
            patience=patience,
            on_chunk=on_chunk,
            name=name,
        )
        judged = _members(first.parameters, source.seen, loop.layout, architecture)
        if not schedule.n_finish:
            return TrainedMembers(judged, judged, first.history, first.stopped_early)
        rest = driver.run_phases(
            start_all(first.stages[0], placement.of_all(member)),
            source,
            schedule.finishing_phases(),
            loop,
            random,
            placement,
            name=f"{name}-finishing",
        )
        final = _members(rest.parameters, source.seen_at_end, loop.layout, architecture)
        return TrainedMembers(judged, final, first.history, first.stopped_early)


def _source(
    train: Observations | Stored,
    held_out: Observations | None,
    free: np.ndarray,
    loop: Loop,
    random: np.random.Generator,
    placement: Placement,
) -> Source:
    if isinstance(train, Observations):
        return InMemory.of(train, held_out, free, loop, random, placement)
    assert held_out is not None
    return FromDisk.of(train, held_out, free, loop, random, placement)


def free_numbers(
    shape: tuple[int, ...], layout: RowLayout, architecture: Architecture
) -> np.ndarray:
    """1 for numbers of the table that are learned; 0 for padding, and where an effect is 1."""
    free = np.zeros((layout.n_rows, architecture.width(len(shape))), dtype=np.float32)
    free[:, : architecture.rank] = 1
    if architecture.multilinear:
        for mode, (offset, size) in enumerate(zip(layout.offsets, layout.sizes, strict=True)):
            free[offset : offset + size, architecture.rank + mode] = 1
    return free * layout.is_row(shape)[:, None]


def initial_states(
    seed: int,
    weight_precisions: Sequence[float],
    layout: RowLayout,
    architecture: Architecture,
    free: np.ndarray,
) -> State:
    """Draw the starting points of all members, one per weight precision."""
    # On the host: there a draw costs nothing, and a compiled one costs seconds of compilation.
    members = [
        _initial_parameters(np.random.default_rng((seed, number)), layout, architecture, free)
        for number in range(len(weight_precisions))
    ]
    parameters = jax.tree.map(lambda *each: jnp.asarray(np.stack(each)), *members)
    rates = np.resize(RATE_SCALES, len(members)).astype(np.float32)
    return start_all(
        parameters, MemberSettings(jnp.asarray(weight_precisions, jnp.float32), jnp.asarray(rates))
    )


def _initial_parameters(
    random: np.random.Generator, layout: RowLayout, architecture: Architecture, free: np.ndarray
) -> Parameters:
    """With the multilinear path, rows start at a size that gives their product unit variance."""
    n_modes, rank = layout.n_modes, architecture.rank
    size = rank ** (-0.5 / n_modes) if architecture.multilinear else 1.0
    width = architecture.width(n_modes)
    drawn = size * random.standard_normal((layout.n_rows, width), dtype=np.float32)
    drawn[:, rank:] = 0.0  # effects
    is_effect = np.arange(width) >= rank
    mean = np.where((free == 0) & is_effect, 1.0, drawn).astype(np.float32)
    log_variance = np.where(free > 0, 2 * np.log(INITIAL_POSTERIOR_STD * size), CERTAIN)
    prior_shape = (1 if architecture.shared_prior else n_modes, width)
    return Parameters(
        rows=Rows(jnp.asarray(mean), jnp.asarray(log_variance, jnp.float32)),
        prior=Prior(jnp.zeros(prior_shape), jnp.full(prior_shape, 2 * np.log(size))),
        decoder=initial_decoder(
            random,
            n_modes,
            width,
            architecture.hidden,
            multilinear=architecture.multilinear,
            near_zero=architecture.near_zero,
        ),
    )


def _members(
    parameters: Parameters,
    seen: tuple[np.ndarray, ...],
    layout: RowLayout,
    architecture: Architecture,
) -> list[Member]:
    """Cut the padding off, and give rows without entries and unseen labels the prior."""
    rows, prior, decoder = jax.tree.map(
        lambda a: np.asarray(a).astype(np.float64), tuple(parameters)
    )
    return [
        _member(
            jax.tree.map(lambda a, m=m: a[m], (rows, prior, decoder)), seen, layout, architecture
        )
        for m in range(len(decoder.bias))
    ]


def _member(
    parameters: tuple, seen: tuple[np.ndarray, ...], layout: RowLayout, architecture: Architecture
) -> Member:
    rows, prior, decoder = parameters
    rank, n_modes = architecture.rank, layout.n_modes
    means, variances = [], []
    for mode, (offset, known) in enumerate(zip(layout.offsets, seen, strict=True)):
        part = slice(offset, offset + len(known))
        own = np.arange(rows.mean.shape[1])
        own = own[(own < rank) | (own == rank + mode)]
        usual = mode % len(prior.mean)
        mean = np.concatenate([rows.mean[part], rows.mean[offset : offset + 1]])
        variance = np.exp(np.concatenate([rows.log_variance[part], rows.log_variance[:1]]))
        unknown = np.ix_(np.flatnonzero(~np.append(known, False)), own)
        mean[unknown] = prior.mean[usual, own]
        variance[unknown] = np.exp(prior.log_variance[usual, own])
        variance[:, np.setdiff1d(np.arange(variance.shape[1]), own)] = 0.0
        means.append(mean.astype(np.float32))
        variances.append(variance.astype(np.float32))
    heads = np.stack([decoder.mean_weights, decoder.scale_weights])
    spread = np.exp(prior.log_variance[:, :rank])
    return Member(
        tuple(means),
        tuple(variances),
        tuple(np.zeros_like(table) for table in means),
        rank,
        np.resize(spread, (n_modes, rank)),
        float(decoder.mean_bias),
        float(np.exp(decoder.scale_bias)),
        Network(decoder.input_weights, decoder.bias, heads),
        architecture.multilinear,
    )
