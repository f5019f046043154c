"""From settings and the size of the data to sizes, schedules and starting points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vaecp import training
from vaecp.decoder import initial_decoder
from vaecp.factors import Prior, Rows
from vaecp.layout import Layout
from vaecp.loop import Loop, Member, Phase, Problem, State, start_all
from vaecp.objective import Parameters
from vaecp.smoothing import INITIAL_SMOOTHNESS
from vaecp.starts import Start

STEPS, MORE_STEPS = 5_000, 10_000
SMALL = 20_000
ENTRIES_OF_RICH_ROWS = 300
MIN_EPOCHS, MAX_EPOCHS = 20, 1_000
FINISHING_RATE = 0.1
ENTRIES_PER_NUMBER = 4
MAX_NUMBERS = 100_000_000
"""Of all rows of all members: training holds about eight arrays of so many."""
INITIAL_POSTERIOR_STD = 0.05
RATE_SCALE_FROM_CP = 0.3
RATE_SCALES = np.repeat([1.0, 2.0], [6, 2])
"""Of members in turn: small tensors with few entries per number want larger steps, others do not,
and the blend can tell."""


def choose_batch_size(n_entries: int) -> int:
    """About forty steps an epoch: fewer waste the gradient's precision, more waste time."""
    power = int(np.round(np.log2(max(n_entries, 1) / 40)))
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


def choose_epochs(n_entries: int, batch_size: int, shape: tuple[int, ...]) -> int:
    """A number of steps, so that small tensors see their entries more often.

    Those gain from twice as many, which cost little there, and so do tensors whose rows have
    many entries and can be told apart finely.
    """
    steps_per_epoch = -(-n_entries // batch_size)
    needs_more = n_entries < SMALL or _has_rich_rows(n_entries, shape)
    n_steps = MORE_STEPS if needs_more else STEPS
    return int(np.clip(n_steps // steps_per_epoch, MIN_EPOCHS, MAX_EPOCHS))


def _has_rich_rows(n_entries: int, shape: tuple[int, ...]) -> bool:
    return n_entries >= ENTRIES_OF_RICH_ROWS * sum(shape)


class Size(NamedTuple):
    """How large a model is."""

    rank: int
    hidden: int
    n_members: int


def choose_size(n_entries: int, shape: tuple[int, ...]) -> Size:
    """Choose by how many entries there are, and how densely they fill the tensor.

    A rank that is too large costs time, not accuracy, and rows with many entries can use more.
    In sparse tensors rows are uncertain: members differ, and the average of more is better.
    """
    sparse = n_entries < 0.05 * np.prod(np.array(shape, dtype=float))
    rank = 64 if sparse or _has_rich_rows(n_entries, shape) else 40
    n_members = 8 if sparse or n_entries < SMALL else 4
    while n_members > 1 and rank * n_members * sum(shape) > MAX_NUMBERS:
        n_members //= 2
    while rank > 8 and rank * sum(shape) > MAX_NUMBERS:
        rank //= 2
    return Size(rank, 128 if sparse else 64, n_members)


def choose_starts_near_cp(n_members: int, share: float, n_entries: int, n_numbers: int) -> int:
    """How many members start near masked CP: none where least squares has little to stand on."""
    return round(share * n_members) if n_entries >= ENTRIES_PER_NUMBER * n_numbers else 0


def loop_for(n_entries: int, batch_size: int, layout: Layout, n_draws: int) -> Loop:
    """What the compiled program is specialised to."""
    return Loop(
        layout,
        batch_size,
        choose_block_size(n_entries, batch_size),
        n_draws,
        choose_epochs_per_chunk(n_entries, batch_size),
    )


def choose_epochs_per_chunk(n_entries: int, batch_size: int) -> int:
    """Come back to Python often enough to show progress, seldom enough not to matter."""
    return int(np.clip(2_000 * batch_size // n_entries, 1, 10))


@dataclass(frozen=True)
class Schedule:
    """How long and how fast: see the parameters of `VAECP`."""

    n_epochs: int
    learning_rate: float
    decay: bool
    kl_warmup: float
    scale_from: float
    finish: float = 0.0

    @property
    def n_mean(self) -> int:
        return round(self.scale_from * self.n_epochs) if self.scale_from > 0 else self.n_epochs

    @property
    def n_scale(self) -> int:
        return self.n_epochs - self.n_mean

    @property
    def n_finish(self) -> int:
        return round(self.finish * self.n_epochs)

    @property
    def n_epochs_in_all(self) -> int:
        return self.n_epochs + (self.n_finish + self.n_scale if self.n_finish else 0)

    def phases(self) -> list[Phase]:
        """Per-epoch rates and KL weights.

        Up to `scale_from` the mean is trained under one shared noise level; after it the
        variance head alone. At 0 both are trained together all the way.
        """
        n_warm = self.kl_warmup * self.n_epochs
        ramp = np.arange(self.n_mean) / n_warm if n_warm > 0 else np.ones(self.n_mean)
        rate = self._rates(self.learning_rate, self.n_mean)
        together = self.scale_from == 0
        return [_phase(rate, rate * together, np.minimum(ramp, 1.0)), *self._head()]

    def finishing_phases(self) -> list[Phase]:
        """Take in the entries that were held out so far, in small steps; then the head again."""
        rate = self._rates(FINISHING_RATE * self.learning_rate, self.n_finish)
        finish = _phase(rate, 0 * rate, np.ones(self.n_finish), on_all=True)
        return [finish, *self._head(on_all=True)]

    def _head(self, on_all: bool = False) -> list[Phase]:
        if not self.n_scale:
            return []
        rate = self._rates(self.learning_rate, self.n_scale)
        return [_phase(0 * rate, rate, np.ones(self.n_scale), judged_by_nll=True, on_all=on_all)]

    def _rates(self, peak: float, n_epochs: int) -> np.ndarray:
        if not self.decay or n_epochs < 1:
            return np.full(n_epochs, peak)
        return peak * 0.5 * (1 + np.cos(np.pi * np.arange(n_epochs) / n_epochs))


def _phase(*settings: np.ndarray, judged_by_nll: bool = False, on_all: bool = False) -> Phase:
    flags = (np.full(len(settings[0]), flag) for flag in (judged_by_nll, on_all))
    return Phase(*(np.asarray(a, dtype=np.float32) for a in (*settings, *flags)))


class Trained(NamedTuple):
    """The parameters that held-out entries can judge, and those that have seen these too."""

    judged: Parameters
    final: Parameters
    history: dict[str, np.ndarray]
    stopped_early: bool

    def of_fit(self, number: int) -> Trained:
        """Return one of several fits that were trained side by side."""
        return Trained(
            jax.tree.map(lambda a: a[number], self.judged),
            jax.tree.map(lambda a: a[number], self.final),
            {term: values[:, number] for term, values in self.history.items()},
            self.stopped_early,
        )


def train(
    states: State,
    problem: Problem,
    schedule: Schedule,
    loop: Loop,
    random: np.random.Generator,
    *,
    patience: int | None = None,
    on_chunk: training.OnChunk | None = None,
) -> Trained:
    """Train on some entries and judge by the others, then go on with all from the best mean."""
    member = jax.tree.map(jnp.copy, states.member)
    first = training.train(
        states, problem, schedule.phases(), loop, random, patience=patience, on_chunk=on_chunk
    )
    if not schedule.n_finish:
        return Trained(first.parameters, first.parameters, first.history, first.stopped_early)
    n_done = len(first.history["elbo"])
    rest = training.train(
        start_all(first.stages[0], member),
        problem,
        schedule.finishing_phases(),
        loop,
        random,
        on_chunk=on_chunk and (lambda n, terms: on_chunk(n_done + n, terms)),
    )
    for term in ("validation_rmse", "validation_nll"):  # no longer held out, they say nothing
        rest.history[term][:] = np.nan
    history = {
        term: np.concatenate([first.history[term], rest.history[term]]) for term in rest.history
    }
    return Trained(first.parameters, rest.parameters, history, first.stopped_early)


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
) -> State:
    """Draw the starting points of all members, one per weight precision.

    The last members take the `starts` instead, and smaller steps not to leave them at once.
    """
    # On the host: there a draw costs nothing, and a compiled one costs seconds of compilation.
    members = [
        _initial_parameters(np.random.default_rng((seed, number)), layout, architecture)
        for number in range(len(weight_precisions))
    ]
    parameters = jax.tree.map(lambda *each: jnp.asarray(np.stack(each)), *members)
    rate_scale = np.resize(RATE_SCALES, len(members)).astype(np.float32)
    if starts:
        parameters = _placed(parameters, starts)
        rate_scale[-len(starts) :] = RATE_SCALE_FROM_CP
    member = Member(jnp.asarray(weight_precisions, jnp.float32), jnp.asarray(rate_scale))
    return start_all(parameters, member)


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


def _initial_parameters(
    random: np.random.Generator, layout: Layout, architecture: Architecture
) -> Parameters:
    """With the multilinear path, rows start at a size that gives their product unit variance."""
    n_modes, rank = layout.n_modes, architecture.rank
    size = rank ** (-0.5 / n_modes) if architecture.multilinear else 1.0
    mean = jnp.asarray(size * random.standard_normal((layout.n_rows, rank), dtype=np.float32))
    prior_shape = (1 if architecture.shared_prior else n_modes, rank)
    smoothness = jnp.full((n_modes, rank), np.log(INITIAL_SMOOTHNESS))
    return Parameters(
        rows=Rows(mean, jnp.full_like(mean, 2 * np.log(INITIAL_POSTERIOR_STD * size))),
        prior=Prior(jnp.zeros(prior_shape), jnp.full(prior_shape, 2 * np.log(size))),
        decoder=initial_decoder(
            random,
            n_modes,
            rank,
            architecture.hidden,
            multilinear=architecture.multilinear,
            quiet=architecture.quiet,
        ),
        smoothness=smoothness if architecture.smooth else None,
    )
