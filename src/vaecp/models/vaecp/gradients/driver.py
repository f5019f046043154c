"""Training: phases, cut into chunks of epochs, of members in groups.

Python sees only whole chunks, to show progress and to stop.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vaecp.errors import TrainingError
from vaecp.models.vaecp.gradients.entries import Source, shuffled_blocks
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
from vaecp.runtime.checkpoints import checkpoint
from vaecp.runtime.placement import Placement
from vaecp.runtime.processes import is_first, same_everywhere
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


@dataclass
class Course:
    """How far training has come, beside the states of the members."""

    phase: int = 0
    n_chunks: int = 0  # of this phase
    n_pieces: int = 0  # of all phases
    n_done: int = 0  # epochs of all phases
    chunks: list[Epoch] = field(default_factory=list)
    stages: list[Parameters] = field(default_factory=list)
    stopped_early: bool = False


def run_phases(
    states: State,
    source: Source,
    phases: Sequence[Phase],
    loop: Loop,
    random: np.random.Generator,
    placement: Placement,
    *,
    patience: int | None = None,
    on_chunk: OnChunk | None = None,
    name: str = "training",
) -> Outcome:
    """Train every member through the phases, each from the best state of the one before.

    The states are used up: their arrays cannot be read afterwards.

    With validation entries the best state is the one that does best there, otherwise the last.
    A phase ends early when no member has improved for `patience` epochs. `random` shuffles the
    batches; members see the same ones, with the same noise. Under `name` a checkpoint, if there
    is one, keeps how far training has come.
    """
    groups = Groups(states, loop, placement)
    course = resumed(name, groups, random) or Course()
    pieces = source.pieces(course.n_pieces)
    while course.phase < len(phases):
        if course.phase and not course.n_chunks:
            groups.start_from_best()
        rest = itertools.islice(
            _in_chunks(phases[course.phase], loop.epochs_per_chunk), course.n_chunks, None
        )
        for part, n_epochs in rest:
            if course.n_chunks and patience is not None and groups.epochs_since_best() >= patience:
                course.stopped_early = True
                break
            problem = next(pieces)
            epochs = groups.run(
                problem, part, shuffled_blocks(problem, loop, random), random.integers(2**31)
            )
            course.chunks.append(jax.tree.map(lambda a, n=n_epochs: a[:n], epochs))
            _refuse_non_finite(course.chunks[-1], course.n_done, part)
            course.n_done += n_epochs
            course.n_chunks += 1
            course.n_pieces += 1
            if on_chunk is not None:
                on_chunk(course.n_done, course.chunks[-1]._asdict())
            keep(name, groups, course, random)
        course.stages.append(groups.best())
        course.phase, course.n_chunks = course.phase + 1, 0
    keep(name, groups, course, random, at_end=True)
    return Outcome(course.stages[-1], course.stages, history_of(course), course.stopped_early)


def history_of(course: Course) -> dict[str, np.ndarray]:
    """Return the terms of all epochs so far."""
    return {
        term: np.concatenate([chunk._asdict()[term] for chunk in course.chunks])
        for term in Epoch._fields
    }


class Groups:
    """All members, in groups that train at the same time.

    XLA's CPU backend keeps little more than one core busy, so there every group of two has a
    thread. The groups do not depend on the number of cores, and so the results do not either.
    """

    def __init__(self, states: State, loop: Loop, placement: Placement):
        self.loop, self.placement = loop, placement
        n_members = len(states.best_loss)
        in_groups = placement.is_cpu and placement.is_one
        size = GROUP_ON_CPU if in_groups else n_members
        # Placed like the outcome of a chunk: placed otherwise, the loop would be compiled twice.
        self.groups = [placement.of_all(group) for group in _cut(states, size)]
        self.has_compiled = False

    def run(self, problem: Problem, phase: Phase, batches: np.ndarray, seed: int) -> Epoch:
        """Train for a chunk; return its terms, epochs first."""
        key = jax.random.key(seed)
        if not self.placement.is_local:
            key = jax.random.wrap_key_data(self.placement.of_all(jax.random.key_data(key)))

        def run_group(states: State) -> tuple[State, Epoch]:
            return jax.block_until_ready(run_chunk(states, problem, phase, batches, key, self.loop))

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


def keep(
    name: str,
    groups: Groups,
    course: Course,
    random: np.random.Generator,
    *,
    at_end: bool = False,
) -> None:
    """Let the checkpoint keep how far training has come, if there is one and it is time to."""
    kept = checkpoint()
    if kept is None or not is_first() or not (at_end or kept.is_due()):
        return
    states, stages = jax.tree.leaves(groups.groups), jax.tree.leaves(course.stages)
    arrays = {f"state.{place}": np.asarray(array) for place, array in enumerate(states)}
    arrays |= {f"stage.{place}": np.asarray(array) for place, array in enumerate(stages)}
    arrays |= {f"history.{term}": array for term, array in history_of(course).items()}
    numbers = {
        "phase": course.phase,
        "n_chunks": course.n_chunks,
        "n_pieces": course.n_pieces,
        "n_done": course.n_done,
        "stopped_early": course.stopped_early,
        "n_stages": len(course.stages),
    }
    kept.save(name, arrays, {"course": numbers, "random": random.bit_generator.state})


def resumed(name: str, groups: Groups, random: np.random.Generator) -> Course | None:
    """Stand where the checkpoint says, and return how far that is; None where it says nothing."""
    kept = checkpoint()
    found = kept.load(name) if kept is not None else None
    same_everywhere({"checkpoint": str(found and found[1].get("course"))})
    if kept is None or found is None:
        return None
    with kept.reading(name):
        return _standing(groups, random, *found)


def _standing(
    groups: Groups, random: np.random.Generator, arrays: dict[str, np.ndarray], told: dict[str, Any]
) -> Course:
    """Let groups and generator stand where they were, unless what was kept does not fit them."""
    numbers = dict(told["course"])
    n_stages = numbers.pop("n_stages")
    history: list[Any] = [arrays[f"history.{term}"] for term in Epoch._fields]
    n_done, phase = len(history[0]), numbers["phase"]
    most = {"n_done": n_done, "phase": len(arrays), "n_pieces": n_done, "n_chunks": n_done}
    for term, number in most.items():
        if type(numbers[term]) is not int or not 0 <= numbers[term] <= number:
            raise ValueError(f"{term} is {numbers[term]!r:.60}")
    if n_stages != phase:
        raise ValueError(f"it has {n_stages!r:.60} stages in phase {phase}")
    stages = _filled([groups.best() for _ in range(phase)], arrays, "stage")
    states = _filled(groups.groups, arrays, "state")
    for terms in history:
        if terms.shape != history[0].shape or terms.dtype.kind != "f":
            raise ValueError(f"its history has the shapes {terms.shape} and {history[0].shape}")
    random.bit_generator.state = told["random"]
    groups.groups = groups.placement.of_all(states)
    return Course(
        **numbers, chunks=[Epoch(*history)], stages=[*map(groups.placement.of_all, stages)]
    )


def _filled(tree, arrays: dict[str, np.ndarray], name: str):
    """Return a tree of the same structure with arrays that were kept."""
    leaves, structure = jax.tree.flatten(tree)
    kept = [arrays[f"{name}.{n}"] for n in range(len(leaves))]
    for leaf, array in zip(leaves, kept, strict=True):
        if np.shape(leaf) != array.shape or leaf.dtype != array.dtype:
            raise ValueError(f"an array of {array.dtype} {array.shape} is to replace {leaf.shape}")
    return jax.tree.unflatten(structure, kept)


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
