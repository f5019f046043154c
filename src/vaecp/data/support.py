"""How much is known around a cell: entries in its rows and fibres, and how far away they lie.

A cell with neighbours on all sides is predicted better than one in the middle of a missing
block. Whatever depends on that (how much each member of an ensemble counts, how wide an interval
is) depends on these features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vaecp.data.order import fibre_keys, keys_fit

LEAST_PER_FIBRE = 1.5
"""Fibres with fewer entries on average are mostly a single one: their counts say nothing."""

MAX_ENTRIES = 50_000_000
CHUNK = 1 << 20
BOXES = (2, 4, 8, 16, 32)
"""Sides of boxes along all ordered modes, in which the nearest entry is looked for."""


@dataclass(frozen=True, eq=False)
class Support:
    """The observed entries, as what other cells can lean on.

    Parameters
    ----------
    indices : (n, D) coordinates of the observed entries.
    shape : the size of each mode.
    ordered : modes along which distance means something.
    uses_fibres : whether entries in fibres are counted, or in rows alone.
    is_sample : whether these are some of the entries: a row without one may have others.
    """

    indices: np.ndarray
    shape: tuple[int, ...]
    ordered: tuple[int, ...]
    uses_fibres: bool
    is_sample: bool = False

    @classmethod
    def of(cls, indices: np.ndarray, shape: tuple[int, ...], ordered: tuple[int, ...]) -> Support:
        """Count entries in fibres where these have enough of them to be told apart."""
        found = cls(indices, shape, ordered, True)
        if len(indices) > MAX_ENTRIES or not keys_fit(shape):
            return cls(indices, shape, ordered, False)
        enough = any(fibres.per_fibre >= LEAST_PER_FIBRE for fibres in found._fibres)
        return found if enough else cls(indices, shape, ordered, False)

    def among(self, indices: np.ndarray) -> Support:
        """Return the same for other observed entries of the tensor."""
        return Support(indices, self.shape, self.ordered, self.uses_fibres)

    @property
    def per_fibre(self) -> np.ndarray:
        """How many entries a fibre along each mode has, on average."""
        return np.array([fibres.per_fibre for fibres in self._fibres])

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns of `features` are."""
        rows = tuple(f"row {mode}" for mode in range(len(self.shape)))
        if not self.uses_fibres:
            return rows
        fibres = tuple(f"fibre {mode}" for mode in range(len(self.shape)))
        together = ("distance",) if len(self.ordered) > 1 else ()
        return (*rows, *fibres, *(f"distance {mode}" for mode in self.ordered), *together)

    def features(self, indices: np.ndarray) -> np.ndarray:
        """Return (n, features): logarithms of counts and distances; -1 is an unseen label.

        The cell itself does not count, observed or not, wherever cells can be told apart.
        """
        parts = [
            self._of_chunk(indices[first : first + CHUNK])
            for first in range(0, max(len(indices), 1), CHUNK)
        ]
        return np.concatenate(parts)

    def _of_chunk(self, indices: np.ndarray) -> np.ndarray:
        known = indices >= 0
        inside = np.where(known, indices, 0)
        whole = known.all(axis=1)
        own = np.where(whole, self._cells.at(inside), 0) if self._cells else 0
        columns = [
            np.where(known[:, mode], np.log1p(counts[inside[:, mode]] - own), 0.0)
            for mode, counts in enumerate(self.row_counts)
        ]
        if self.uses_fibres:
            found = [fibres.around(inside) for fibres in self._fibres]
            columns += [np.where(whole, np.log1p(count), 0.0) for count, _ in found]
            columns += [
                np.where(whole, np.log(found[mode][1]), np.log(self.shape[mode]))
                for mode in self.ordered
            ]
            if self._boxes:
                columns.append(np.where(whole, self._boxed(inside), np.log(2 * BOXES[-1])))
        return np.stack(columns, axis=1)

    def _boxed(self, indices: np.ndarray) -> np.ndarray:
        """Logarithm of the side of the smallest box along all ordered modes with another entry in it."""
        found = np.full(len(indices), 2 * BOXES[-1])
        own = self._fibres[0].at(indices)
        for side, boxes in reversed(list(zip(BOXES, self._boxes, strict=True))):
            for shift, keys in zip((0, side // 2), boxes, strict=True):
                asked = self._box_keys(indices, side, shift)
                count = np.searchsorted(keys, asked, "right") - np.searchsorted(keys, asked)
                found[count > own] = side
        return np.log(found)

    def _box_keys(self, indices: np.ndarray, side: int, shift: int) -> np.ndarray:
        coarse, shape = np.array(indices), list(self.shape)
        for mode in self.ordered:
            coarse[:, mode] = (coarse[:, mode] + shift) // side
            shape[mode] = shape[mode] // side + 2
        return fibre_keys(coarse, tuple(shape), 0)

    @cached_property
    def _boxes(self) -> list[list[np.ndarray]]:
        """Sorted numbers of the boxes that entries lie in, of every side and with two origins."""
        if len(self.ordered) < 2:
            return []
        return [
            [np.sort(self._box_keys(self.indices, side, shift)) for shift in (0, side // 2)]
            for side in BOXES
        ]

    @cached_property
    def row_counts(self) -> list[np.ndarray]:
        """How many entries each row has, per mode."""
        return [
            np.bincount(column, minlength=size)
            for column, size in zip(self.indices.T, self.shape, strict=True)
        ]

    @cached_property
    def _cells(self) -> _Fibres | None:
        """The entries, to be found by their cells; None where cells cannot be told apart."""
        if self.uses_fibres:
            return self._fibres[0]
        if len(self.indices) > MAX_ENTRIES or not keys_fit(self.shape):
            return None
        return _Fibres.along(self.indices, self.shape, 0)

    @cached_property
    def _fibres(self) -> list[_Fibres]:
        return [_Fibres.along(self.indices, self.shape, mode) for mode in range(len(self.shape))]


@dataclass(frozen=True, eq=False)
class _Fibres:
    """Observed entries sorted along one mode."""

    keys: np.ndarray
    shape: tuple[int, ...]
    mode: int
    per_fibre: float  # observed cells, in fibres that have any

    @classmethod
    def along(cls, indices: np.ndarray, shape: tuple[int, ...], mode: int) -> _Fibres:
        keys = np.sort(fibre_keys(indices, shape, mode))
        n_cells, n_fibres = (1 + np.count_nonzero(np.diff(a)) for a in (keys, keys // shape[mode]))
        return cls(keys, shape, mode, n_cells / n_fibres)

    def at(self, indices: np.ndarray) -> np.ndarray:
        """Number of entries at cells."""
        keys = fibre_keys(indices, self.shape, self.mode)
        return np.searchsorted(self.keys, keys, "right") - np.searchsorted(self.keys, keys)

    def around(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Number of other entries in the fibres of cells, and the distance to the nearest."""
        size = self.shape[self.mode]
        keys = fibre_keys(indices, self.shape, self.mode)
        fibre = keys // size
        first, last = (
            np.searchsorted(self.keys, fibre * size),
            np.searchsorted(self.keys, (fibre + 1) * size),
        )
        before, after = np.searchsorted(self.keys, keys), np.searchsorted(self.keys, keys, "right")
        count = last - first - (after - before)
        padded = np.concatenate([[-(2**62)], self.keys, [2**62]])
        to_left = np.where(before > first, keys - padded[before], size)
        to_right = np.where(after < last, padded[after + 1] - keys, size)
        return count, np.minimum(to_left, to_right)
