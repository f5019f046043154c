"""Trained members, as predictions read them: rows, row effects, and a network or none.

However a member was trained, its mean at an entry is

    level + sum over r of u^1_r ... u^D_r + network(u^1, ..., u^D)

with Gaussian rows. Effects of rows are columns that are 1 in the rows of all modes but one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vaecp.models.vaecp.networks import Network, add_network
from vaecp.models.vaecp.pairs import PairEffects
from vaecp.models.vaecp.sweeps import bands, loops
from vaecp.models.vaecp.sweeps.descent import Descent
from vaecp.models.vaecp.sweeps.solver import Solver
from vaecp.runtime.threads import in_threads

CHUNK = 16_384

BEYOND = 0.1
"""Standard deviation of an entry beyond all values that were learned from, as a share of how far out it lies:
no held-out entry tells how a model goes on there."""


@dataclass(frozen=True, eq=False)
class Member:
    """One member.

    Attributes
    ----------
    mean, variance : per mode (rows + 1, width): posteriors of the rows, the last of which stands
        for unseen labels.
    correlation : per mode (rows + 1, width): of a row with the next one, where rows vary smoothly.
    rank : how many columns are components; the others are effects.
    prior_variance : (D, rank), of the components.
    level : what is added to every entry.
    noise : the noise variance.
    counts : as what part of an entry each one counts, for rows that are learned later, too.
    network : what the network adds, if there is one.
    multilinear : whether products of rows count; of the published decoder, they do not.
    pairs : effects of two rows, if there are any.
    """

    mean: tuple[np.ndarray, ...]
    variance: tuple[np.ndarray, ...]
    correlation: tuple[np.ndarray, ...]
    rank: int
    prior_variance: np.ndarray
    level: float
    noise: float
    network: Network | None = None
    multilinear: bool = True
    pairs: PairEffects | None = None
    counts: float = 1.0


def member_of(solver: Solver, descent: Descent, *, is_judged: bool = True) -> Member:
    """Cut the tables of sweeps into modes, and add rows for unseen labels.

    Where held-out entries judge members, and so say how large errors are, components of a row have the
    variances of the closest posterior under which they are independent, as predictions take them. Where nothing
    does, they have their marginal ones: what few entries leave undetermined is then in the intervals.
    """
    tables, rank = descent.tables, solver.rank
    means, variances, correlations = [], [], []
    for mode in range(solver.n_modes):
        rows = slice(solver.offsets[mode], solver.offsets[mode + 1])
        mean, variance = tables.mean[rows], tables.variance[rows]
        if is_judged:
            variance = solver.independent_variance(tables, mode)
        seen = np.bincount(solver.ids[:, mode] - solver.offsets[mode], minlength=len(mean)) > 0
        own, _ = solver.columns(mode)
        unseen_mean, unseen_variance = mean[:1].copy(), np.zeros_like(variance[:1])
        if solver.chains[mode] is None:
            unseen_mean[0, own], unseen_variance[0, own] = solver.unseen_row(tables, mode)
            correlation = np.zeros_like(mean)
        else:  # rows are alike, so an unseen one is like the others
            unseen_mean[0, own] = mean[seen][:, own].mean(axis=0)
            spread = mean[seen].var(axis=0) + variance[seen].mean(axis=0)
            unseen_variance[0, own] = spread[own]
            correlation = _correlation_along(solver, descent, mode)
        means.append(np.concatenate([mean, unseen_mean]).astype(np.float32))
        variances.append(np.concatenate([variance, unseen_variance]).astype(np.float32))
        correlations.append(np.pad(correlation, ((0, 1), (0, 0))).astype(np.float32))
    return Member(
        tuple(means),
        tuple(variances),
        tuple(correlations),
        rank,
        tables.prior_variance[:, :rank].copy(),
        tables.level,
        descent.likelihood.noise,
        pairs=tables.pairs and tables.pairs.in_use(),
        counts=descent.counts,
    )


def _correlation_along(solver: Solver, descent: Descent, mode: int) -> np.ndarray:
    """How much neighbouring rows vary together in the prior: in gaps, that is what remains."""
    chain, tables = solver.chains[mode], descent.tables
    assert chain is not None
    own, columns = solver.columns(mode)
    prior = chain.precision(tables.prior_variance[mode, columns], tables.strength[mode, columns])
    variance, one_apart, two_apart = (np.empty_like(prior.diagonal) for _ in range(3))
    bands.invert_bands(prior.diagonal, prior.one_off, prior.two_off, variance, one_apart, two_apart)
    found = np.zeros((len(variance), solver.width))
    sizes = np.sqrt(variance[:-1] * variance[1:])
    found[:-1, own] = np.clip(one_apart[:-1] / sizes, 0.0, 0.9999)
    return found


class Moments(NamedTuple):
    """What members expect of entries, (n, members) each."""

    mean: np.ndarray
    variance: np.ndarray  # of the mean
    noise: np.ndarray  # noise variance


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Members with tables of one width: narrower ones are padded with zeros.

    Attributes
    ----------
    mean, variance, correlation : per mode (members, rows + 1, width).
    ranks, levels, noises, multilinear, counts : per member.
    prior_variance : (members, D, largest rank), padded with zeros.
    lowest, highest : predictions do not leave this range.
    network : arrays with a leading axis of members; empty where no member has a network.
    pairs : effects of two rows, with a leading axis of members; None where no member has them.
    """

    mean: tuple[np.ndarray, ...]
    variance: tuple[np.ndarray, ...]
    correlation: tuple[np.ndarray, ...]
    ranks: np.ndarray
    levels: np.ndarray
    noises: np.ndarray
    multilinear: np.ndarray
    counts: np.ndarray
    prior_variance: np.ndarray
    lowest: float
    highest: float
    network: dict[str, np.ndarray] = field(default_factory=dict)
    pairs: PairEffects | None = None

    @classmethod
    def of(cls, members: Sequence[Member], lowest: float, highest: float) -> Ensemble:
        """Stack members."""
        width = max(member.mean[0].shape[1] for member in members)
        rank = max(member.rank for member in members)

        def stacked(tables: Sequence[np.ndarray]) -> np.ndarray:
            return np.stack([np.pad(t, ((0, 0), (0, width - t.shape[1]))) for t in tables])

        def modes(name: str) -> tuple[np.ndarray, ...]:
            tables = zip(*(getattr(member, name) for member in members), strict=True)
            return tuple(map(stacked, tables))

        return cls(
            modes("mean"),
            modes("variance"),
            modes("correlation"),
            np.array([member.rank for member in members]),
            np.array([member.level for member in members]),
            np.array([member.noise for member in members]),
            np.array([member.multilinear for member in members]),
            np.array([member.counts for member in members]),
            np.stack([np.pad(m.prior_variance, ((0, 0), (0, rank - m.rank))) for m in members]),
            float(lowest),
            float(highest),
            Network.stacked([member.network for member in members], width),
            PairEffects.stacked([member.pairs for member in members], len(members[0].mean)),
        )

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def n_rows(self) -> tuple[int, ...]:
        return tuple(table.shape[1] - 1 for table in self.mean)

    def only(self, kept: np.ndarray) -> Ensemble:
        """Return some of the members."""
        return replace(
            self,
            mean=tuple(table[kept] for table in self.mean),
            variance=tuple(table[kept] for table in self.variance),
            correlation=tuple(table[kept] for table in self.correlation),
            ranks=self.ranks[kept],
            levels=self.levels[kept],
            noises=self.noises[kept],
            multilinear=self.multilinear[kept],
            counts=self.counts[kept],
            prior_variance=self.prior_variance[kept],
            network={name: array[kept] for name, array in self.network.items()},
            pairs=self.pairs and self.pairs.only(kept),
        )

    def faded(self, kept: float) -> Ensemble:
        """Return posteriors that went back towards the prior: a power of each, times one of it."""
        means, variances = [], []
        for mean, variance in zip(self.mean, self.variance, strict=True):
            prior = np.maximum(variance[:, -1:], 1e-30)
            own = np.maximum(variance, 1e-30)
            certain = kept / own + (1 - kept) / prior
            moved = (kept * mean / own + (1 - kept) * mean[:, -1:] / prior) / certain
            means.append(np.where(variance > 0, moved, mean))
            variances.append(np.where(variance > 0, 1 / certain, variance))
        return replace(self, mean=tuple(means), variance=tuple(variances))

    @property
    def observed_range(self) -> tuple[float, float]:
        """The range of the values that were learned from: predictions may leave it by its width."""
        width = (self.highest - self.lowest) / 3
        return self.lowest + width, self.highest - width

    def doubt_beyond(self, means: np.ndarray) -> np.ndarray:
        """Standard deviation of entries for lying outside the values that were learned from."""
        least, most = self.observed_range
        return BEYOND * np.maximum(np.maximum(least - means, means - most), 0.0)

    def reaching(self, values: np.ndarray) -> Ensemble:
        """Return the ensemble with a range of predictions that suits further values, too."""
        least, most = self.observed_range
        low, high = min(least, float(values.min())), max(most, float(values.max()))
        return replace(self, lowest=2 * low - high, highest=2 * high - low)

    def moments(self, indices: np.ndarray) -> Moments:
        """Say what each member expects of entries; -1 is an unseen label."""
        ids = self.ids_of(indices)
        mean, variance = np.zeros((2, len(self), len(ids)))
        noise = np.repeat(self.noises[:, None], len(ids), axis=1)

        def work(task: tuple[int, int]) -> None:
            member, first = task
            last = min(first + CHUNK, len(ids))
            if self.multilinear[member]:
                rows, second = self._tables[member]
                loops.moments_of_entries(
                    first, last, ids, rows, second, False, mean[member], variance[member]
                )
            if self.network:
                part = slice(first, last)
                found = mean[member, part], variance[member, part], noise[member, part]
                add_network(self, member, ids[part], *found)

        in_threads(work, [(m, f) for m in range(len(self)) for f in range(0, len(ids), CHUNK)])
        mean += self.levels[:, None]
        if self.pairs is not None:
            self.pairs.add_to(indices, mean, variance)
        within = np.clip(mean, self.lowest, self.highest)
        variance += (mean - within) ** 2  # how far a mean was cut off is not known to be wrong
        return Moments(within.T, variance.T, noise.T)

    def draw(self, member: int, indices: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Return the means of entries under one joint draw of all rows of a member."""
        ids = self.ids_of(indices)
        drawn = []
        for table, variance, correlation in zip(
            self.mean, self.variance, self.correlation, strict=True
        ):
            noise = random.standard_normal(table[member].shape)
            rho = correlation[member].astype(np.float64)
            for row in np.flatnonzero(rho.any(axis=1)):
                noise[row + 1] = rho[row] * noise[row] + np.sqrt(1 - rho[row] ** 2) * noise[row + 1]
            drawn.append(table[member] + np.sqrt(variance[member]) * noise)
        rows = np.concatenate(drawn)
        mean, variance = np.zeros((2, len(ids)))
        if self.multilinear[member]:
            loops.moments_of_entries(0, len(ids), ids, rows, rows**2, False, mean, variance)
        if self.network:
            add_network(self, member, ids, mean, rows=rows)
        if self.pairs is not None:
            mean += self.pairs.draw(member, indices, random)
        return np.clip(self.levels[member] + mean, self.lowest, self.highest)

    def ids_of(self, indices: np.ndarray) -> np.ndarray:
        """Return rows of the tables of all modes, one after the other."""
        sizes = np.array([table.shape[1] for table in self.mean])
        starts = np.cumsum(sizes) - sizes
        return (np.where(indices < 0, sizes - 1, indices) + starts).astype(np.int32)

    @cached_property
    def _tables(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Per member, the rows of all modes and their second moments, in double precision."""
        found = []
        for member in range(len(self)):
            rows = np.concatenate([table[member] for table in self.mean]).astype(np.float64)
            variance = np.concatenate([table[member] for table in self.variance])
            found.append((rows, rows**2 + variance))
        return found
