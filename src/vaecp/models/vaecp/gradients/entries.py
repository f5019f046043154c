"""From observations to the data of a fit, placed on the devices, and to batches of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vaecp.data.cells import row_counts
from vaecp.data.observations import Observations
from vaecp.models.vaecp.gradients.loop import Loop, Problem
from vaecp.models.vaecp.gradients.objective import Entries
from vaecp.runtime.padding import round_up
from vaecp.runtime.placement import Placement


class Source(Protocol):
    """Where entries come from: in pieces, each of which is trained on for a chunk of epochs.

    Attributes
    ----------
    seen : per mode, which rows have entries to learn from.
    seen_at_end : the same once entries that were held out are learned from too.
    """

    @property
    def seen(self) -> tuple[np.ndarray, ...]: ...

    @property
    def seen_at_end(self) -> tuple[np.ndarray, ...]: ...

    def pieces(self, first: int) -> Iterator[Problem]:
        """Yield the piece of every chunk, without end, from this one on."""
        ...


@dataclass(frozen=True, eq=False)
class InMemory:
    """Entries that lie on the devices: every chunk takes them all."""

    problem: Problem
    seen: tuple[np.ndarray, ...] = ()
    seen_at_end: tuple[np.ndarray, ...] = ()

    @classmethod
    def of(
        cls,
        train: Observations,
        held_out: Observations | None,
        free: np.ndarray,
        loop: Loop,
        random: np.random.Generator,
        placement: Placement,
    ) -> InMemory:
        """Place the entries."""
        problem = place_problem(train, held_out, free, loop, random, placement)
        seen = rows_with_entries(train)
        if held_out is None:
            return cls(problem, seen, seen)
        also = rows_with_entries(held_out)
        return cls(problem, seen, tuple(a | b for a, b in zip(seen, also, strict=True)))

    def pieces(self, first: int) -> Iterator[Problem]:
        """Yield the same again and again."""
        return itertools.repeat(self.problem)


def rows_with_entries(observations: Observations) -> tuple[np.ndarray, ...]:
    """Return per mode which rows have an entry."""
    return tuple(count > 0 for count in row_counts(observations.indices, observations.shape))


def place_problem(
    train: Observations,
    validation: Observations | None,
    free: np.ndarray,
    loop: Loop,
    random: np.random.Generator,
    placement: Placement,
) -> Problem:
    """Shuffle, pad and cut the entries, and put them where they will live."""
    judging = validation.indices if validation else train.indices[:0]
    judged = validation.values if validation else train.values[:0]
    indices = np.concatenate([train.indices, judging])
    values = np.concatenate([train.values, judged])
    order = random.permutation(len(values))
    n_batches = round_up(-(-len(values) // loop.batch_size), significant_bits=4)
    n_entries = loop.batch_size * n_batches
    every = padded_entries(indices[order], values[order], n_entries)
    is_held_out = np.pad(order >= len(train), (0, n_entries - len(order))).astype(np.float32)

    places = _places(every[0], loop)

    def cut(array: np.ndarray):
        return placement.of_entries(array[places])

    return Problem(
        training=Entries(cut(every[0]), cut(every[1]), cut(every[2] - is_held_out)),
        held_out=cut(is_held_out),
        n_entries=placement.of_all(np.float32(n_entries)),
        validation=place_validation(judging, judged, placement),
        free=placement.of_all(free.astype(np.float32)),
    )


def _places(indices: np.ndarray, loop: Loop) -> np.ndarray:
    """Which entries lie in which part, (parts, n), in blocks that are sorted if the loop says so."""
    # In turn, so that padding is spread over the parts.
    places = np.arange(len(indices)).reshape(-1, loop.n_parts).T
    if loop.sorted_mode is None:
        return places
    in_blocks = places.reshape(-1, loop.block_size)
    within = np.argsort(indices[in_blocks, loop.sorted_mode], axis=1, kind="stable")
    return np.take_along_axis(in_blocks, within, axis=1).reshape(places.shape)


def place_validation(indices: np.ndarray, values: np.ndarray, placement: Placement) -> Entries:
    """Put the entries that judge on every device."""
    padded = padded_entries(indices, values, round_up(len(values), at_least=32))
    return Entries(*(placement.of_all(array) for array in padded))


def shuffled_blocks(problem: Problem, loop: Loop, random: np.random.Generator) -> np.ndarray:
    """Order of the blocks in a chunk: (epochs, batches, parts, blocks per batch and part)."""
    n_parts, per_part = problem.training.values.shape
    n_blocks = per_part // loop.block_size
    orders = [
        [random.permutation(n_blocks) for _ in range(n_parts)] for _ in range(loop.epochs_per_chunk)
    ]
    per_batch = loop.batch_size // n_parts // loop.block_size
    blocks = np.array(orders, dtype=np.int32).reshape(loop.epochs_per_chunk, n_parts, -1, per_batch)
    return np.ascontiguousarray(blocks.swapaxes(1, 2))


def padded_entries(indices: np.ndarray, values: np.ndarray, size: int) -> tuple[np.ndarray, ...]:
    """Return the indices, values and weights of `Entries`, with entries of weight 0 at the end."""
    n_entries, n_modes = indices.shape
    padded_indices = np.zeros((size, n_modes), dtype=np.int32)
    padded_indices[:n_entries] = indices
    padded_values, weights = np.zeros((2, size), dtype=np.float32)
    padded_values[:n_entries] = values
    weights[:n_entries] = 1.0
    return padded_indices, padded_values, weights
