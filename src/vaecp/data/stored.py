"""Observed entries that stay on disk, read block by block: a tensor larger than memory."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from vaecp.data.array_files import ArrayFile
from vaecp.data.cells import n_cells
from vaecp.data.checks import times
from vaecp.data.fields import has_type
from vaecp.data.observations import Observations
from vaecp.errors import FormatError

LEAST_BLOCK, MOST_BLOCK = 64, 4_096
"""Entries that are read in one piece, and dealt out as one from pass to pass."""


@dataclass(frozen=True)
class Part:
    """One pair of arrays on disk: `NAME-indices.npy` (n, D) and `NAME-values.npy` (n,)."""

    name: str
    n_entries: int
    checksum: int

    def paths(self, folder: Path) -> tuple[Path, Path]:
        return folder / f"{self.name}-indices.npy", folder / f"{self.name}-values.npy"

    def open(self, folder: Path, n_modes: int) -> tuple[np.ndarray, np.ndarray]:
        """Map the arrays, or say which file is damaged."""
        indices, values = self.files(folder, n_modes)
        return indices.mapped(), values.mapped()

    def files(self, folder: Path, n_modes: int) -> tuple[ArrayFile, ArrayFile]:
        """Look at the arrays, or say which file is damaged."""
        paths, n = self.paths(folder), self.n_entries
        return (
            ArrayFile.at(paths[0], np.dtype(np.int32), (n, n_modes)),
            ArrayFile.at(paths[1], np.dtype(np.float64), (n,)),
        )


@dataclass(frozen=True, eq=False)
class StoredEntries:
    """The observed entries of a tensor as arrays in a folder, in parts.

    Parameters
    ----------
    folder : where the arrays are.
    parts : the arrays, in order.
    shape, mode_names, labels, value_name : as in `Observations`.
    counts : per mode, how many entries each row has.
    extremes : positions of the least and of the largest value.
    notes : what was decided when they were encoded, in sentences.
    """

    folder: Path
    parts: tuple[Part, ...]
    shape: tuple[int, ...]
    mode_names: tuple[str, ...]
    labels: tuple[np.ndarray, ...]
    value_name: str
    counts: tuple[np.ndarray, ...]
    extremes: tuple[int, int]
    notes: tuple[str, ...] = ()

    def validate(self) -> None:
        """Raise a ValueError unless parts, counts and extremes belong together."""
        for part in self.parts:
            plain = has_type((part.n_entries, part.checksum), tuple[int, ...])
            if not plain or part.n_entries < 1 or not re.fullmatch(r"\d{6,}", str(part.name)):
                raise ValueError(f"{part!r:.100} is no part")
        for count, size in zip(self.counts, self.shape, strict=True):
            if count.dtype != np.int64 or count.shape != (size,) or count.sum() != len(self):
                raise ValueError("the counts of rows are not those of the entries")
        ends = self.extremes
        if not has_type(ends, tuple[int, ...]) or len(ends) != 2 or not min(ends) >= 0:
            raise ValueError(f"the positions of extremes are {ends!r:.60}")
        if not max(ends) < len(self):
            raise ValueError("the extremes are not among the entries")

    def __len__(self) -> int:
        return sum(part.n_entries for part in self.parts)

    def __repr__(self) -> str:
        return f"StoredEntries({times(self.shape)}, {len(self):,} entries in {self.folder})"

    @property
    def limits(self) -> None:
        """Entries on disk are values: none is known by its limits alone."""
        return None

    @property
    def n_modes(self) -> int:
        return len(self.shape)

    @property
    def n_cells(self) -> int:
        return n_cells(self.shape)

    @property
    def fingerprint(self) -> str:
        """The same for the same entries in the same order, wherever they lie."""
        contents = [
            self.shape,
            self.mode_names,
            self.value_name,
            [(part.n_entries, part.checksum) for part in self.parts],
        ]
        return hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:16]

    @property
    def block_size(self) -> int:
        """Small where there are few entries, so that there are blocks to shuffle."""
        return int(np.clip(len(self) // MOST_BLOCK, LEAST_BLOCK, MOST_BLOCK))

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.cumsum([0, *(part.n_entries for part in self.parts)])

    @cached_property
    def blocks(self) -> np.ndarray:
        """Where blocks begin and end, (blocks, 2); a block lies within one part."""
        found = []
        for first, last in itertools.pairwise(self._starts):
            starts = np.arange(first, last, self.block_size)
            found.append(np.stack([starts, np.minimum(starts + self.block_size, last)], axis=1))
        return np.concatenate(found)

    @cached_property
    def _files(self) -> tuple[tuple[ArrayFile, ArrayFile], ...]:
        return tuple(part.files(self.folder, self.n_modes) for part in self.parts)

    def read(self, blocks: Sequence[int] | np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the positions, indices and values of the entries of blocks, one after the other.

        They are copied from the files, which are not mapped: pages of mapped files would count as
        memory of the process.
        """
        ends = self.blocks[np.asarray(blocks, dtype=np.int64)]
        sizes = ends[:, 1] - ends[:, 0]
        total = int(sizes.sum())
        to = np.cumsum(sizes)
        positions = np.repeat(ends[:, 0] - to + sizes, sizes) + np.arange(total)
        owner = np.searchsorted(self._starts, ends[:, 0], side="right") - 1
        indices = np.empty((total, self.n_modes), dtype=np.int32)
        values = np.empty(total, dtype=np.float64)
        for number in np.unique(owner):
            places = owner == number
            firsts = (ends[places, 0] - self._starts[number]).tolist()
            spans = list(
                zip(firsts, (to - sizes)[places].tolist(), sizes[places].tolist(), strict=True)
            )
            for file, array in zip(self._files[number], (indices, values), strict=True):
                file.read_into(array, spans)
        self._check(indices, values)
        return positions, indices, values

    def sample(self, n: int, random: np.random.Generator) -> tuple[np.ndarray, Observations]:
        """Return positions of `n` entries at random, in order, and the entries.

        The least and the largest value are among them, so that nothing lies outside their range.
        """
        n = min(n, len(self))
        chosen = random.choice(len(self), size=n, replace=False, shuffle=False)
        chosen = np.unique(np.concatenate([chosen, self.extremes]))
        found = [self._of_part(number, part) for number, part in self._cut(chosen)]
        indices, values = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return chosen, Observations(
            indices, values, self.shape, self.mode_names, self.labels, self.value_name, self.notes
        )

    def _cut(self, positions: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        ends = np.searchsorted(positions, self._starts)
        for number, (first, last) in enumerate(itertools.pairwise(ends)):
            yield number, positions[first:last] - self._starts[number]

    def _of_part(self, number: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        indices, values = self.parts[number].open(self.folder, self.n_modes)
        found = np.asarray(indices[places]), np.asarray(values[places])
        self._check(*found)
        return found

    def _check(self, indices: np.ndarray, values: np.ndarray) -> None:
        """Refuse what lies outside of the tensor, before compiled loops take it for rows."""
        inside = not len(indices) or (
            indices.min() >= 0
            and all(indices[:, m].max() < size for m, size in enumerate(self.shape))
        )
        if not inside or not np.isfinite(values).all():
            what = "a value is not finite" if inside else "an entry lies outside of the tensor"
            raise FormatError(
                f"{self.folder}: is damaged ({what}): remove this folder, and it is written anew."
            )
