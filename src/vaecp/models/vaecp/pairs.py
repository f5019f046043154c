"""Effects of pairs of rows: what a sender has with one receiver, or a user within one week.

A row effect is shared by all entries of a row, a pair effect by all that have two rows in common.
Each is a Normal(0, prior variance) number, and one that no entry tells about stays at its prior.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

HALF = 32
"""Bits of a key that number the second row."""


def keys_of(indices: np.ndarray, modes: tuple[int, int]) -> np.ndarray:
    """Number entries by their rows in two modes; -1 where one of them is unseen."""
    first, second = (indices[:, mode].astype(np.int64) for mode in modes)
    return np.where((first < 0) | (second < 0), -1, (first << HALF) | np.maximum(second, 0))


@dataclass(frozen=True, eq=False)
class PairEffects:
    """Posteriors of pair effects, of one member or, with a leading axis, of several.

    Attributes
    ----------
    cells : (n, 4): two modes, the first one smaller, and a row of each.
    mean, variance : (..., n).
    prior : (..., D, D): prior variances by modes; 0 where these have no pair effects.
    """

    cells: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    prior: np.ndarray

    @classmethod
    def stacked(cls, members: Sequence[PairEffects | None], n_modes: int) -> PairEffects | None:
        """Join the effects of members with a leading axis; None where no member has any."""
        some = [each for each in members if each is not None]
        if not some:
            return None
        cells = np.unique(np.concatenate([each.cells for each in some]), axis=0)
        zeros, no_prior = np.zeros(len(cells)), np.zeros((n_modes, n_modes))
        none = cls(cells, zeros, zeros, no_prior)
        found = [none if each is None else each.spread_over(none) for each in members]
        return cls.of_several(found)

    def in_use(self) -> PairEffects:
        """Return the effects of those modes that have a prior variance."""
        kept = self.prior[self.cells[:, 0], self.cells[:, 1]] > 0
        return PairEffects(self.cells[kept], self.mean[kept], self.variance[kept], self.prior)

    def validate(self, n_members: int, shape: tuple[int, ...]) -> None:
        """Raise a ValueError unless cells lie in a tensor of this shape, and have one effect each."""
        n_cells = len(self.cells)
        if self.cells.shape != (n_cells, 4):
            raise ValueError("pairs.cells are not two modes and a row of each")
        first, second = self.cells[:, 0], self.cells[:, 1]
        if (first >= second).any() or (second >= len(shape)).any():
            raise ValueError("pairs.cells name modes that are not there, or not in order")
        if (self.cells[:, 2:] >= np.array(shape)[self.cells[:, :2]]).any():
            raise ValueError("pairs.cells name rows that are not there")
        if {self.mean.shape, self.variance.shape} != {(n_members, n_cells)}:
            raise ValueError("pairs.mean or pairs.variance is not one for each member and cell")

    def __len__(self) -> int:
        return len(self.cells)

    def with_others(self, others: PairEffects) -> PairEffects:
        """Return these effects of several members, those of the cells of others being theirs."""
        new = {tuple(cell) for cell in others.cells.tolist()}
        kept = np.array([tuple(cell) not in new for cell in self.cells.tolist()], dtype=bool)
        return PairEffects(
            np.concatenate([self.cells[kept], others.cells]),
            np.concatenate([self.mean[:, kept], others.mean], axis=1),
            np.concatenate([self.variance[:, kept], others.variance], axis=1),
            self.prior,
        )

    @classmethod
    def of_several(cls, members: Sequence[PairEffects]) -> PairEffects:
        """Join the effects of members at the same cells."""
        arrays = ((each.mean, each.variance, each.prior) for each in members)
        return cls(members[0].cells, *map(np.stack, zip(*arrays, strict=True)))

    def of_member(self, number: int) -> PairEffects:
        """Return the effects of one of several members."""
        return PairEffects(self.cells, self.mean[number], self.variance[number], self.prior[number])

    def only(self, kept: np.ndarray) -> PairEffects:
        """Return some of the members."""
        return PairEffects(self.cells, self.mean[kept], self.variance[kept], self.prior[kept])

    def spread_over(self, other: PairEffects) -> PairEffects:
        """Return the effects for the cells of others; those that are not known have the prior."""
        mean, variance = np.zeros((2, len(other.cells)))
        for modes, keys, places in other._parts():
            known, found = self._find(modes, keys)
            mean[places] = np.where(known, self.mean[found] if len(self) else 0.0, 0.0)
            prior = self.prior[modes]
            variance[places] = np.where(known, self.variance[found] if len(self) else 0.0, prior)
        return replace(other, mean=mean, variance=variance, prior=self.prior)

    def add_to(self, indices: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> None:
        """Add effects to (..., n) means and variances of entries; -1 is an unseen label."""
        for first, second in self.modes:
            known, found = self._find((first, second), keys_of(indices, (first, second)))
            prior = self.prior[..., first, second, None]
            if not len(self):
                variance += prior
                continue
            mean += np.where(known, self.mean[..., found], 0.0)
            variance += np.where(known, self.variance[..., found], prior)

    def draw(self, member: int, indices: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Draw what is added to entries; those with two rows in common share it."""
        total = np.zeros(len(indices))
        for modes in self.modes:
            keys, group = np.unique(keys_of(indices, modes), return_inverse=True)
            known, found = self._find(modes, keys)
            mean, std = np.zeros(len(keys)), np.full(len(keys), self.prior[member][modes] ** 0.5)
            mean[known] = self.mean[member, found[known]]
            std[known] = np.sqrt(self.variance[member, found[known]])
            total += (mean + std * random.standard_normal(len(keys)))[group]
        return total

    def moved(self, places: Sequence[np.ndarray]) -> PairEffects:
        """Return the effects after rows have gone to other places, per mode."""
        cells = self.cells.copy()
        for modes, _, rows in self._parts():
            for column, mode in enumerate(modes):
                cells[rows, 2 + column] = places[mode][cells[rows, 2 + column]]
        return replace(self, cells=cells)

    @cached_property
    def modes(self) -> list[tuple[int, int]]:
        """Pairs of modes that have effects."""
        n_modes = self.prior.shape[-1]
        return [modes for modes in combinations(range(n_modes), 2) if self.prior[..., *modes].any()]

    @cached_property
    def _sorted(self) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]:
        found = {}
        for modes, keys, places in self._parts():
            order = np.argsort(keys)
            found[modes] = keys[order], places[order]
        return found

    def _parts(self) -> Iterator[tuple[tuple[int, int], np.ndarray, np.ndarray]]:
        """Give pairs of modes, the keys of their cells, and where these stand."""
        for modes in combinations(range(self.prior.shape[-1]), 2):
            places = np.flatnonzero((self.cells[:, :2] == modes).all(axis=1))
            if len(places):
                yield modes, keys_of(self.cells[places, 2:], (0, 1)), places

    def _find(self, modes: tuple[int, int], keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Say which keys are known, and where they stand; 0 where not."""
        if modes not in self._sorted:
            return np.zeros(len(keys), dtype=bool), np.zeros(len(keys), dtype=np.int64)
        own, places = self._sorted[modes]
        at = np.minimum(np.searchsorted(own, keys), len(own) - 1)
        known = own[at] == keys
        return known, np.where(known, places[at], 0)


@dataclass(frozen=True, eq=False)
class Pairing:
    """Which entries of a fit share two rows: per pair of modes, the cells and their entries."""

    cells: np.ndarray  # (n, 4), all pairs of modes
    groups: dict[tuple[int, int], tuple[int, np.ndarray]]  # first cell, and the cell of each entry

    @classmethod
    def of(cls, indices: np.ndarray) -> Pairing:
        """Group entries by every two of their rows."""
        cells, groups, first = [], {}, 0
        for modes in combinations(range(indices.shape[1]), 2):
            keys, group = np.unique(keys_of(indices, modes), return_inverse=True)
            own = np.empty((len(keys), 4), dtype=np.int32)
            own[:, :2] = modes
            own[:, 2], own[:, 3] = keys >> HALF, keys & ((1 << HALF) - 1)
            cells.append(own)
            groups[modes] = first, group.astype(np.int32)
            first += len(keys)
        return cls(np.concatenate(cells), groups)

    def start(self, prior: np.ndarray) -> PairEffects:
        """Return effects of 0, with (D, D) prior variances."""
        n_cells = len(self.cells)
        return PairEffects(self.cells, np.zeros(n_cells), np.zeros(n_cells), prior)

    def moves(self, moving: Sequence[np.ndarray]) -> np.ndarray:
        """Say of every cell whether one of its rows moves."""
        first, second, row, column = self.cells.T
        found = np.zeros(len(self.cells), dtype=bool)
        for mode, moves in enumerate(moving):
            found |= (first == mode) & moves[np.minimum(row, len(moves) - 1)]
            found |= (second == mode) & moves[np.minimum(column, len(moves) - 1)]
        return found

    def per_cell(self, modes: tuple[int, int]) -> float:
        """Return how many entries a pair of rows has, on average."""
        group = self.groups[modes][1]
        return len(group) / (int(group.max()) + 1)

    def moments(self, effects: PairEffects) -> tuple[np.ndarray, np.ndarray]:
        """Return what effects add to the means and variances of the entries."""
        n_entries = len(next(iter(self.groups.values()))[1])
        mean, variance = np.zeros((2, n_entries))
        for modes in effects.modes:
            first, group = self.groups[modes]
            mean += effects.mean[first:][group]
            variance += effects.variance[first:][group]
        return mean, variance

    def solved(
        self,
        effects: PairEffects,
        residuals: np.ndarray,
        weights: np.ndarray,
        known: PairEffects | None = None,
    ) -> PairEffects:
        """Return the posteriors; residuals are what the present effects leave.

        `known` are the effects as earlier entries left them, which then are the prior.
        """
        mean, variance = effects.mean.copy(), effects.variance.copy()
        for modes in effects.modes:
            first, group = self.groups[modes]
            own = slice(first, first + int(group.max()) + 1)
            centre, spread = 0.0, effects.prior[modes]
            if known is not None:
                centre, spread = known.mean[own], np.maximum(known.variance[own], 1e-30)
            before = mean[own][group]
            precision = np.bincount(group, weights) + 1 / spread
            pull = np.bincount(group, weights * (residuals + before)) + centre / spread
            mean[own], variance[own] = pull / precision, 1 / precision
            residuals = residuals + before - mean[own][group]
        return replace(effects, mean=mean, variance=variance)
