"""Entries that stay on disk: pieces of them are read while the devices compute on the last one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.standardising import Scaling
from vaecp.data.stored import StoredEntries
from vaecp.errors import ObservationError
from vaecp.models.vaecp.gradients.entries import place_validation, rows_with_entries
from vaecp.models.vaecp.gradients.loop import Loop, Problem
from vaecp.models.vaecp.gradients.objective import Entries
from vaecp.models.vaecp.gradients.shuffling import shuffle_into
from vaecp.runtime.placement import Placement
from vaecp.runtime.threads import n_cores

PIECE = 1 << 22
"""About so many entries are on the devices at a time, and as many more in memory."""


@dataclass(frozen=True, eq=False)
class Stored:
    """Entries on disk, and what is to be known before they are learned from.

    Attributes
    ----------
    scaling : applied to values as they are read.
    held_out : positions of the entries that judge, sorted.
    piece_size : how many entries are taken at a time, about.
    """

    entries: StoredEntries
    scaling: Scaling
    held_out: np.ndarray
    piece_size: int | None = None  # PIECE by default

    @property
    def shape(self) -> tuple[int, ...]:
        return self.entries.shape

    @property
    def n_pieces(self) -> int:
        return max(1, round(len(self.entries) / (self.piece_size or PIECE)))


@dataclass(frozen=True, eq=False)
class FromDisk:
    """Pieces of blocks of entries, in another order every pass.

    A pass deals the blocks out at random to pieces and, within a piece, to the parts that devices
    share; within a part entries are shuffled singly. A process reads the parts of its own devices.
    """

    stored: Stored
    held_out: Observations
    problem: Problem  # all but the entries
    loop: Loop
    seed: int
    placement: Placement

    @classmethod
    def of(
        cls,
        stored: Stored,
        held_out: Observations,
        free: np.ndarray,
        loop: Loop,
        random: np.random.Generator,
        placement: Placement,
    ) -> FromDisk:
        """Place what stays the same from piece to piece."""
        nothing = np.zeros(0, dtype=np.float32)
        fixed = Problem(
            Entries(nothing, nothing, nothing),  # type: ignore[arg-type]
            nothing,  # type: ignore[arg-type]
            nothing,  # type: ignore[arg-type]
            place_validation(held_out.indices, held_out.values, placement),
            placement.of_all(free.astype(np.float32)),
        )
        found = cls(stored, held_out, fixed, loop, int(random.integers(2**31)), placement)
        n_entries = stored.n_pieces * loop.n_parts * found.n_in_part
        fixed = fixed._replace(n_entries=placement.of_all(np.float32(n_entries)))
        return cls(stored, held_out, fixed, loop, found.seed, placement)

    @property
    def seen(self) -> tuple[np.ndarray, ...]:
        """Rows of which not all entries are held out."""
        columns = zip(self.stored.entries.counts, self.held_out.indices.T, strict=True)
        return tuple(
            counts > np.bincount(column, minlength=len(counts)) for counts, column in columns
        )

    @property
    def seen_at_end(self) -> tuple[np.ndarray, ...]:
        learned = zip(self.seen, rows_with_entries(self.held_out), strict=True)
        return tuple(a | b for a, b in learned)

    @cached_property
    def n_blocks(self) -> int:
        """Of a part of a piece, at most."""
        n_parts = self.stored.n_pieces * self.loop.n_parts
        return -(-len(self.stored.entries.blocks) // n_parts)

    @cached_property
    def n_in_part(self) -> int:
        """Entries of a part of a piece with its padding: batches take as many from each part."""
        per_batch = self.loop.batch_size // self.loop.n_parts
        return -(-self.n_blocks * self.stored.entries.block_size // per_batch) * per_batch

    def pieces(self, first: int) -> Iterator[Problem]:
        """Read the next piece, and bring it to the devices, while the last one is used."""
        with ThreadPoolExecutor(1) as reader:
            waiting = reader.submit(self._placed, first)
            for number in itertools.count(first + 1):
                problem = waiting.result()
                waiting = reader.submit(self._placed, number)
                yield problem

    def _placed(self, number: int) -> Problem:
        indices, values, weights, held_out = self.read(number)
        place, n_parts = self.placement.of_parts_here, self.loop.n_parts
        return self.problem._replace(
            training=Entries(
                place(indices, n_parts), place(values, n_parts), place(weights, n_parts)
            ),
            held_out=place(held_out, n_parts),
        )

    def read(self, number: int) -> tuple[np.ndarray, ...]:
        """Return the indices, values, weights and hold-outs of a piece, of the parts that live here."""
        here = self.placement.parts_here(self.loop.n_parts)
        shape = (len(here), self.n_in_part)
        indices = np.zeros((*shape, self.stored.entries.n_modes), dtype=np.int32)
        values, weights, held_out = np.zeros((3, *shape), dtype=np.float32)
        whole = (indices, values, weights, held_out)

        def read_part(place: int) -> None:
            self._read_part(number, here[place], tuple(array[place] for array in whole))

        # Not the threads that members train in, which would let this wait until they have done.
        with ThreadPoolExecutor(min(len(here), n_cores())) as readers:
            list(readers.map(read_part, range(len(here))))
        return whole

    def _read_part(self, number: int, part: int, into: tuple[np.ndarray, ...]) -> None:
        entries = self.stored.entries
        n_pass, piece = divmod(number, self.stored.n_pieces)
        order = np.random.default_rng((self.seed, 0, n_pass)).permutation(len(entries.blocks))
        n_parts = self.stored.n_pieces * self.loop.n_parts
        blocks = order[piece * self.loop.n_parts + part :: n_parts]
        positions, indices, values = entries.read(np.sort(blocks))
        scaled = self.stored.scaling.apply(values, indices)
        if not np.isfinite(scaled).all():
            entry = int(np.argmin(np.isfinite(scaled)))
            raise ObservationError(
                f"the value {values[entry]:.6g} (entry {positions[entry]}) is unlike those that the "
                "kind of values was chosen by: name the kind with likelihood (--values)."
            )
        seed = np.random.default_rng((self.seed, 1, number, part)).integers(1, 2**63)
        judges = _are_among(positions, self.stored.held_out)
        shuffle_into(seed, indices, scaled, judges, *into)


def _are_among(positions: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Whether sorted positions are among a few others, sorted too."""
    found = np.zeros(len(positions), dtype=bool)
    if len(positions):
        first, last = np.searchsorted(chosen, positions[[0, -1]])
        near = chosen[first : last + 1]
        places = np.minimum(np.searchsorted(positions, near), len(positions) - 1)
        found[places[positions[places] == near]] = True
    return found
