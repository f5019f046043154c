"""Which entries are held out to judge members: some of every kind of gap, as gaps lie.

Cells that are asked for later are gaps now. Where these are whole fibres, blocks or rows, entries
held out at random would mislead: they have neighbours on all sides, and gaps have not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vaecp.data.gaps import GapPattern, held_out_by
from vaecp.data.limits import Limits
from vaecp.data.observations import Observations
from vaecp.data.order import fibre_keys
from vaecp.data.support import Support

FEW, SOME = 1_500, 15_000
"""Below these numbers of entries, four and two rounds of hold-outs are made."""

LEAST = 12
MAX_HELD_OUT = 20_000
SCATTERED = 0.07
STRUCTURED = 0.015
"""Shares of the entries that scattered cells and every other kind of gap hold out at least."""

MOST_STRUCTURED = 0.08
COLD = 0.03
"""Share of the entries that rows with features hold out at least, as if they had no entries."""
LEAST_FOR_STRUCTURE = 300
LEAST_PER_FIBRE = 3.0
LEAST_ROWS, MANY_ROWS = 12, 40
"""A row of an ordered mode can be held out where there are many; or some, and gaps have empty rows."""
N_GAPS = 4_000
LEAST_DENSITY = 0.005
"""Where fewer cells are observed, nearly every cell is a gap, and asked cells lie as observed ones."""

SHARES_TO_CUT = (0.02, 0.3)
KIND_OF_LIMITS = 1_000
"""A number that no pattern of gaps has."""

ALWAYS = 0.03
"""Every kind of gap counts at least so much, so that something is known of all."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Entries to learn from, and entries to judge by.

    Attributes
    ----------
    importance : of each held-out entry, by how often its kind of gap is asked for; mean 1.
    kind : of each held-out entry, as a number.
    unit : of each held-out entry: the cell, fibre or block that was held out with it, as a number.
    """

    train: Observations
    held_out: Observations
    importance: np.ndarray
    kind: np.ndarray
    unit: np.ndarray


def folds_for(
    observations: Observations, ordered: tuple[bool, ...], random: np.random.Generator
) -> tuple[Fold, ...]:
    """Draw the hold-outs of every round; none where the entries are too few."""
    n_entries = len(observations)
    if n_entries < LEAST:
        return ()
    patterns, asked = patterns_to_hold_out(observations, ordered, random)
    cold = cold_rows(observations)
    patterns, asked = [*cold, *patterns], np.array([*cold.values(), *asked])
    n_folds = 4 if n_entries < FEW else 2 if n_entries < SOME else 1
    found = []
    for _ in range(n_folds):
        number, unit = held_out_by(patterns, observations, random)
        emptied = {
            pattern.modes[0]: np.unique(observations.indices[number == place, pattern.modes[0]])
            for place, pattern in enumerate(cold)
        }
        number[_only_entries(observations, number >= 0, ordered, emptied, random)] = -1
        if not 0 < (number >= 0).sum() < n_entries:
            continue
        kind = number[number >= 0]
        counts = np.bincount(kind, minlength=len(patterns))
        importance = (asked / np.maximum(counts, 1))[kind]
        if observations.weights is not None:
            importance = importance * observations.weights[number >= 0]
        found.append(
            Fold(
                observations.take(number < 0),
                observations.take(number >= 0),
                importance / importance.mean(),
                kind,
                unit[number >= 0],
            )
        )
    return tuple(found)


def cold_rows(observations: Observations) -> dict[GapPattern, float]:
    """Return hold-outs of whole rows that features describe, and how often such rows are asked for."""
    found = {}
    limit = min(1.0, MAX_HELD_OUT / len(observations))
    for mode, features in enumerate(observations.features):
        if features is None:
            continue
        counts = np.bincount(observations.indices[:, mode], minlength=len(features))
        described = ~np.isnan(features).any(axis=1)
        if np.sum(described & (counts > 0)) >= LEAST_ROWS:
            empty = float(np.mean(described & (counts == 0)))
            share = float(np.clip(0.3 * empty, COLD, MOST_STRUCTURED))
            found[GapPattern("slabs", (mode,), share * limit)] = max(empty, ALWAYS)
    return found


def cut_further(observations: Observations) -> Fold | None:
    """Hold out exact values next to the limits of others, by moving these limits in.

    As large a share of the exact values as that of all values which has limits lies beyond the
    moved ones; in training only that is known of them.
    """
    limits = observations.limits
    if limits is None or len(observations) < LEAST:
        return None
    values, n_all = observations.values, len(observations) + len(limits)
    lower, upper = limits.lower.copy(), limits.upper.copy()
    lowest, highest = -np.inf, np.inf
    above, below = np.isinf(limits.upper), np.isinf(limits.lower)
    if above.any():
        highest = float(np.quantile(values, 1 - np.clip(above.sum() / n_all, *SHARES_TO_CUT)))
        lower[above] = np.minimum(lower[above], highest)
    if below.any():
        lowest = float(np.quantile(values, np.clip(below.sum() / n_all, *SHARES_TO_CUT)))
        upper[below] = np.maximum(upper[below], lowest)
    cut = (values > highest) | (values < lowest)
    if not LEAST <= cut.sum() < len(values):
        return None
    held_out = observations.take(cut)
    moved = Limits(
        held_out.indices,
        np.where(held_out.values > highest, highest, -np.inf),
        np.where(held_out.values > highest, np.inf, lowest),
    )
    train = replace(
        observations.take(~cut), limits=replace(limits, lower=lower, upper=upper).joined(moved)
    )
    kind = np.full(len(held_out), KIND_OF_LIMITS)
    importance = np.full(len(held_out), len(limits) / len(held_out))
    return Fold(train, held_out, importance, kind, np.arange(len(kind)))


def patterns_to_hold_out(
    observations: Observations, ordered: tuple[bool, ...], random: np.random.Generator
) -> tuple[list[GapPattern], np.ndarray]:
    """Return patterns of gaps, and which part of the cells that may be asked for lie so."""
    n_entries = len(observations)
    limit = min(1.0, MAX_HELD_OUT / n_entries)
    small = n_entries < FEW
    scattered = GapPattern(share=(0.15 if small else SCATTERED) * limit)
    profile = Profile.of(observations, ordered, random)
    if profile is None or n_entries < LEAST_FOR_STRUCTURE:
        return [scattered], np.ones(1)
    patterns, asked = [], []
    for pattern, wanted in profile.kinds():
        share = np.clip(0.3 * wanted, STRUCTURED, MOST_STRUCTURED)
        patterns.append(
            GapPattern(pattern.kind, pattern.modes, float(share * limit), pattern.length)
        )
        asked.append(max(wanted, ALWAYS))
    # Units before cells: scattered cells must not be what is left of a fibre.
    return [*patterns, scattered], np.array([*asked, max(1 - sum(asked), ALWAYS)])


@dataclass(frozen=True, eq=False)
class Profile:
    """What the gaps of a tensor look like, from a sample of them."""

    observations: Observations
    ordered: tuple[bool, ...]
    empty_rows: np.ndarray  # (D,): share of gaps in a row without entries
    empty_fibres: np.ndarray  # (D,): share of other gaps whose fibre along the mode is empty
    distances: np.ndarray  # (D,): typical distance to the nearest entry along the mode
    nearest: float  # typical distance along whichever ordered mode has the nearest entry
    per_fibre: np.ndarray

    @classmethod
    def of(
        cls, observations: Observations, ordered: tuple[bool, ...], random: np.random.Generator
    ) -> Profile | None:
        """Look at some gaps; None where fibres have too few entries to tell kinds apart."""
        along = tuple(mode for mode, has_order in enumerate(ordered) if has_order)
        support = Support.of(observations.indices, observations.shape, along)
        if not support.uses_fibres:
            return None
        n_modes = observations.n_modes
        per_fibre = support.per_fibre
        none = np.zeros(n_modes)
        gaps = _some_gaps(observations, random)
        if gaps is None:
            return cls(observations, ordered, none, none, none, 1.0, per_fibre)
        features = support.features(gaps)
        rows, fibres = features[:, :n_modes] == 0, features[:, n_modes : 2 * n_modes] == 0
        has_rows = ~rows.any(axis=1)
        distances, away = np.ones(n_modes), features[:, 2 * n_modes :]
        for place, mode in enumerate(along):
            steps = np.exp(away[:, place])
            inside = steps < observations.shape[mode]
            distances[mode] = np.median(steps[inside]) if inside.any() else 1.0
        return cls(
            observations,
            ordered,
            rows.mean(axis=0),
            (fibres & has_rows[:, None]).mean(axis=0),
            distances,
            float(np.median(np.exp(away.min(axis=1)))) if len(along) else 1.0,
            per_fibre,
        )

    def kinds(self) -> list[tuple[GapPattern, float]]:
        """Return patterns with the share of gaps that lie so."""
        found = []
        for mode, has_order in enumerate(self.ordered):
            n_rows = self.observations.shape[mode]
            empties = self.empty_rows[mode] > 0
            if has_order and n_rows >= (LEAST_ROWS if empties else MANY_ROWS):
                most = n_rows // 6 if empties else n_rows // MANY_ROWS
                length = int(np.clip(2 * self.distances[mode], 1, most))
                found.append(
                    (GapPattern("slabs", (mode,), 0.1, length), float(self.empty_rows[mode]))
                )
                run = max(length, int(np.clip(n_rows // 20, 2, 8)))
                far = min(1.0, (self.distances[mode] - 1) / 4)
                found.append((GapPattern("blocks", (mode,), 0.1, run), 0.5 * far))
        found += self._far_blocks()
        for mode, per_fibre in enumerate(self.per_fibre):
            if per_fibre >= LEAST_PER_FIBRE:
                found.append((GapPattern("fibres", (mode,)), float(self.empty_fibres[mode])))
        return found

    def _far_blocks(self) -> list[tuple[GapPattern, float]]:
        """Return blocks along all ordered modes at once, where gaps have no entry near in any."""
        along = tuple(mode for mode, has_order in enumerate(self.ordered) if has_order)
        if len(along) < 2 or self.nearest <= 2:
            return []
        longest = min(self.observations.shape[mode] for mode in along) // 3
        lengths = sorted({int(np.clip(times * self.nearest, 2, longest)) for times in (2, 4)})
        return [(GapPattern("blocks", along, 0.1, length), 1 / 3) for length in lengths]


def _some_gaps(observations: Observations, random: np.random.Generator) -> np.ndarray | None:
    """Coordinates of some cells that are not observed; None where asked cells are unlike gaps."""
    density = len(observations) / observations.n_cells
    if not LEAST_DENSITY <= density < 1:
        return None
    cells = np.stack([random.integers(n, size=4 * N_GAPS) for n in observations.shape], axis=1)
    taken = np.unique(fibre_keys(observations.indices, observations.shape, 0))
    keys = fibre_keys(cells, observations.shape, 0)
    place = np.minimum(np.searchsorted(taken, keys), len(taken) - 1)
    gaps = cells[taken[place] != keys][:N_GAPS]
    return gaps.astype(np.int32) if len(gaps) > 20 else None


def _only_entries(
    observations: Observations,
    held_out: np.ndarray,
    ordered: tuple[bool, ...],
    emptied: dict[int, np.ndarray],
    random: np.random.Generator,
) -> np.ndarray:
    """Mark one held-out entry of every row that would have none left, unless neighbours tell.

    Rows of a mode that are `emptied` on purpose stay so.
    """
    back = np.zeros(len(held_out), dtype=bool)
    order = random.permutation(np.flatnonzero(held_out))
    for mode, size in enumerate(observations.shape):
        if ordered[mode]:
            continue
        left = np.bincount(observations.indices[~held_out | back, mode], minlength=size)
        rows = observations.indices[order, mode]
        _, first = np.unique(rows, return_index=True)
        lone = (left[rows[first]] == 0) & ~np.isin(rows[first], emptied.get(mode, ()))
        back[order[first][lone]] = True
    return back
