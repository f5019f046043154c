"""Which entries are held out to judge members: some of every kind of gap, as gaps lie.

Cells that are asked for later are gaps now. Where these are whole fibres, blocks or rows, entries
held out at random would mislead: they have neighbours on all sides, and gaps have not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vaecp.data.gaps import GapPattern, held_out_by
from vaecp.data.limits import Limits
from vaecp.data.observations import Observations
from vaecp.models.vaecp.asked import gaps_asked_for

FEW, SOME = 1_500, 15_000
"""Below these numbers of entries, four and two rounds of hold-outs are made."""

LEAST = 24
"""Of fewer entries none are held out: the few errors that came of it would tell too little."""
LEAST_CUT = 12
"""Of exact values, that are taken for limited ones."""
MAX_HELD_OUT = 100_000
SCATTERED = 0.07
STRUCTURED = 0.015
"""Shares of the entries that scattered cells and every other kind of gap hold out at least."""

MOST_STRUCTURED, MOST_SPANNING = 0.08, 0.12
"""Units that span several modes are large, and so a few of them are many entries."""
COLD = 0.03
"""Share of the entries that rows with features hold out at least, as if they had no entries."""
LEAST_FOR_STRUCTURE = 300
LEAST_DESCRIBED = 12
"""Rows with features, of which some are held out."""

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


def units_of(folds: Sequence[Fold]) -> np.ndarray:
    """Number the units of all folds, one fold after the other; those of different folds differ."""
    units = [fold.unit + (number << 40) for number, fold in enumerate(folds)]
    return np.unique(np.concatenate(units), return_inverse=True)[1]


def cold_rows(observations: Observations) -> dict[GapPattern, float]:
    """Return hold-outs of whole rows that features describe, and how often such rows are asked for."""
    found = {}
    limit = min(1.0, MAX_HELD_OUT / len(observations))
    for mode, features in enumerate(observations.features):
        if features is None:
            continue
        counts = np.bincount(observations.indices[:, mode], minlength=len(features))
        described = ~np.isnan(features).any(axis=1)
        if np.sum(described & (counts > 0)) >= LEAST_DESCRIBED:
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
    if limits is None or len(observations) < LEAST_CUT:
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
    if not LEAST_CUT <= cut.sum() < len(values):
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
    if n_entries < LEAST_FOR_STRUCTURE:
        return [scattered], np.ones(1)
    most, most_spanning = (s * limit * n_entries for s in (MOST_STRUCTURED, MOST_SPANNING))
    structured, asked = gaps_asked_for(observations, ordered, (most, most_spanning), random)
    highest = [MOST_SPANNING if len(p.modes) > 1 else MOST_STRUCTURED for p in structured]
    shares = np.clip(0.3 * asked[:-1], STRUCTURED, highest) * limit
    # Units before cells: scattered cells must not be what is left of a fibre.
    patterns = [replace(p, share=float(s)) for p, s in zip(structured, shares, strict=True)]
    return [*patterns, scattered], np.maximum(asked, ALWAYS)


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
