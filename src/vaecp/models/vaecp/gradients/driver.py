"""Training: phases, cut into chunks of epochs, of members in groups.

Python sees only whole chunks, to show progress and to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from vaecp.errors import TrainingError
from vaecp.models.vaecp.gradients.entries import shuffled_blocks
from vaecp.models.vaecp.gradients.loop import (
    Epoch,
    Loop,
    Phase,
    Problem,
    State,
    run_chunk,
    start_all,
)
from vaecp.models.vaecp.gradients.objective import Parameters
from vaecp.runtime.placement import Placement
from vaecp.runtime.threads import in_threads

GROUP_ON_CPU = 2

OnChunk = Callable[[int, dict[str, np.ndarray]], None]
"""Told the epochs done so far and the terms of those of the last chunk."""


@dataclass(frozen=True)
class Outcome:
    """Trained parameters (leading axis: members) and the history of their training."""

    parameters: Parameters
    stages: list[Parameters]  # the same after every phase
    history: dict[str, np.ndarray]  # each (epochs, members)
    stopped_early: bool


def run_phases(
    states: State,
    problem: Problem,
    phases: Sequence[Phase],
    loop: Loop,
    random: np.random.Generator,
    placement: Placement,
    *,
    patience: int | None = None,
    on_chunk: OnChunk | None = None,
) -> Outcome:
    """Train every member through the phases, each from the best state of the one before.

    The states are used up: their arrays cannot be read afterwards.

    With validation entries the best state is the one that does best there, otherwise the last.
    A phase ends early when no member has improved for `patience` epochs. `random` shuffles the
    batches; members see the same ones, with the same noise.
    """
    chunks: list[Epoch] = []
    n_done, stopped_early = 0, False
    stages = []
    groups = Groups(states, problem, loop, placement)
    for number, phase in enumerate(phases):
        if number:
            groups.start_from_best()
        for part, n_epochs in _in_chunks(phase, loop.epochs_per_chunk):
            epochs = groups.run(
                part, shuffled_blocks(problem, loop, random), random.integers(2**31)
            )
            chunks.append(jax.tree.map(lambda a, n=n_epochs: a[:n], epochs))
            _refuse_non_finite(chunks[-1], n_done, part)
            n_done += n_epochs
            if on_chunk is not None:
                on_chunk(n_done, chunks[-1]._asdict())
            if patience is not None and groups.epochs_since_best() >= patience:
                stopped_early = True
                break
        stages.append(groups.best())
    history = {
        term: np.concatenate([chunk._asdict()[term] for chunk in chunks]) for term in Epoch._fields
    }
    return Outcome(stages[-1], stages, history, stopped_early)


class Groups:
    """All members, in groups that train at the same time.

    XLA's CPU backend keeps little more than one core busy, so there every group of two has a
    thread. The groups do not depend on the number of cores, and so the results do not either.
    """

    def __init__(self, states: State, problem: Problem, loop: Loop, placement: Placement):
        self.problem, self.loop, self.placement = problem, loop, placement
        n_members = len(states.best_loss)
        in_groups = placement.is_cpu and placement.is_one
        size = GROUP_ON_CPU if in_groups else n_members
        # Placed like the outcome of a chunk: placed otherwise, the loop would be compiled twice.
        self.groups = [placement.of_all(group) for group in _cut(states, size)]
        self.has_compiled = False

    def run(self, phase: Phase, batches: np.ndarray, seed: int) -> Epoch:
        """Train for a chunk; return its terms, epochs first."""
        key = jax.random.key(seed)

        def run_group(states: State) -> tuple[State, Epoch]:
            return jax.block_until_ready(
                run_chunk(states, self.problem, phase, batches, key, self.loop)
            )

        if self.has_compiled and len(self.groups) > 1:
            outcomes = in_threads(run_group, self.groups)
        else:
            outcomes = [run_group(states) for states in self.groups]
            self.has_compiled = True
        self.groups = [states for states, _ in outcomes]
        epochs = _joined([epochs for _, epochs in outcomes])
        return jax.tree.map(lambda a: np.asarray(a).T, epochs)

    def start_from_best(self) -> None:
        """Stand at a first step again, at the best parameters so far."""
        self.groups = [
            self.placement.of_all(start_all(states.best, states.member)) for states in self.groups
        ]

    def best(self) -> Parameters:
        """A copy of the best parameters: the next chunk reuses their buffers."""
        if len(self.groups) == 1:
            return jax.tree.map(jnp.copy, self.groups[0].best)
        return _joined([states.best for states in self.groups])

    def epochs_since_best(self) -> int:
        return min(int(states.epochs_since_best.min()) for states in self.groups)


# Cut and joined by NumPy: on arrays of a CPU that costs nothing, while JAX would compile a
# program for every shape.
def _cut(states: State, size: int) -> list[State]:
    n_members = len(states.best_loss)
    if size >= n_members:
        return [states]
    return [
        jax.tree.map(lambda a, f=first: jnp.array(np.asarray(a)[f : f + size]), states)
        for first in range(0, n_members, size)
    ]


def _joined(parts: Sequence):
    if len(parts) == 1:
        return parts[0]
    return jax.tree.map(lambda *each: np.concatenate([np.asarray(a) for a in each]), *parts)


def _in_chunks(phase: Phase, length: int) -> Iterator[tuple[Phase, int]]:
    """Cut a phase into pieces of one length, which share a program, the last padded.

    Epochs of padding have a rate of 0 and are judged as the last one: they change nothing.
    """
    n_epochs = len(phase.learning_rate)
    for first in range(0, n_epochs, length):
        piece = Phase(*(a[first : first + length] for a in phase))
        n_missing = length - len(piece.learning_rate)
        at_rest = [np.pad(rate, (0, n_missing)) for rate in piece[:2]]
        as_before = [np.pad(setting, (0, n_missing), mode="edge") for setting in piece[2:]]
        yield Phase(*at_rest, *as_before), length - n_missing


def _refuse_non_finite(epochs: Epoch, n_done: int, phase: Phase) -> None:
    broken = ~np.isfinite(epochs.elbo)
    if broken.any():
        epoch = int(np.argmax(broken.reshape(len(broken), -1).any(axis=1)))
        rate = float(max(phase.learning_rate[epoch], phase.scale_learning_rate[epoch]))
        raise TrainingError(
            f"training turned non-finite in epoch {n_done + epoch + 1} at learning rate {rate:.2g}: "
            f"fit again with a smaller one, such as learning_rate={rate / 10:.1g}."
        )
