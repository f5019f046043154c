"""Which kinds of gaps a tensor has, and how much of each: that is how entries are held out.

Gaps and entries that are held out in a certain way are alike if as much is known around them. So the
support of gaps says how many of them lie scattered, in fibres, in blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.spatial import KDTree

from vaecp.data.cells import cell_keys, fibre_keys
from vaecp.data.gaps import GapPattern, held_out_by
from vaecp.data.observations import Observations
from vaecp.data.support import Support
from vaecp.models.vaecp.standard_features import StandardFeatures

LEAST_PER_FIBRE = 3.0
LEAST_ROWS, MANY_ROWS = 12, 40
"""A row of an ordered mode can be held out where there are many; or some, and gaps have empty rows."""
N_GAPS = 4_000
LEAST_DENSITY = 0.005
"""Where fewer cells are observed, nearly every cell is a gap, and asked cells lie as observed ones."""
CLUMPED = 1.5
"""Gaps lie in blocks along a mode only if the nearest entry along it is further away than this."""
PROBED = 0.015
"""Share of the entries that every pattern holds out, to see how much is known around them."""
N_ALIKE, PER_PATTERN, N_ROUNDS = 40, 400, 100
BELIEF = 0.03
"""That gaps are scattered is believed as if so many of them, as a share, were known to be."""
LEAST_PROBED = 60
"""Every pattern holds out so many entries at least: from fewer nothing could be told."""
LEAST_FOR_BLOCKS, LEAST_UNITS, LEAST_PLANES = 1_500, 8, 2
"""So many blocks and planes must find room among the entries that are held out: few tell little."""
LEAST_PROBED_UNITS = 3
"""So many of them at least show how much is known around them."""
COMMON, LEAST_IN_PLANE, MOST_PLANES = 0.1, 6.0, 2
"""Planes are held out where this share of the gaps lies in such, of those kinds that most gaps lie in."""


def gaps_asked_for(
    observations: Observations,
    ordered: tuple[bool, ...],
    most: tuple[float, float],
    random: np.random.Generator,
) -> tuple[list[GapPattern], np.ndarray]:
    """Return patterns, and the share of the gaps that lie so; the share of scattered ones is the last.

    `most` has two limits of what a pattern will hold out, in entries: for units along one mode, and for
    those that span several.
    """
    along = tuple(mode for mode, has_order in enumerate(ordered) if has_order)
    support = Support.of(observations.indices, observations.shape, along)
    if not support.uses_fibres:
        return [], np.ones(1)
    gaps = _some_gaps(observations, random)
    around = support.features(gaps)
    patterns = _patterns(support, around, most) + _planes(support, gaps, most[1] / LEAST_PLANES)
    if not len(gaps) or not patterns:
        return patterns, np.append(np.zeros(len(patterns)), 1.0)
    share = max(PROBED, LEAST_PROBED / len(observations))
    spanning = LEAST_PROBED_UNITS / LEAST_UNITS * most[1] / len(observations)
    probed = [
        replace(p, share=max(share, spanning) if len(p.modes) > 1 else share)
        for p in (*patterns, GapPattern())
    ]
    place, _ = held_out_by(probed, observations, random)
    chosen = [
        found[random.permutation(len(found))[:PER_PATTERN]]
        for found in (np.flatnonzero(place == number) for number in range(len(patterns) + 1))
    ]
    probe = support.among(observations.indices[place < 0])
    known = [probe.features(observations.indices[found]) for found in chosen]
    return patterns, shares_of(around, known)


def shares_of(asked: np.ndarray, known: Sequence[np.ndarray]) -> np.ndarray:
    """Return how many of the asked features are like each set of known ones, as shares.

    Where they are like several sets, the last one is believed.

    The shares are those of a mixture of the sets, found by expectation-maximisation (Saerens, Latinne
    and Decaestecker 2002); near features tell how likely each set has some like the asked ones.
    """
    counts = np.array([len(features) for features in known])
    standard = StandardFeatures.of(np.concatenate(known))
    points, places = [features / standard.scale for features in known], asked / standard.scale
    everything = KDTree(np.concatenate(points))
    near, _ = everything.query(places, k=min(N_ALIKE, everything.n))
    reach = near.reshape(len(places), -1)[:, -1]  # many are equally near, for counts are alike
    reach = reach * (1 + 1e-9) + 1e-9
    found = [
        KDTree(part).query_ball_point(places, reach, return_length=True)
        if len(part)
        else np.zeros(len(places))
        for part in points
    ]
    likelihood = np.stack(found, axis=1) / np.maximum(counts, 1)
    shares = np.full(len(known), 1 / len(known))
    for _ in range(N_ROUNDS):
        members = likelihood * shares
        shares = np.mean(members / members.sum(axis=1, keepdims=True), axis=0)
        shares[-1] += BELIEF
        shares /= 1 + BELIEF
    return shares


def _patterns(support: Support, around: np.ndarray, most: tuple[float, float]) -> list[GapPattern]:
    """Return what can be held out of a tensor; lengths are those of its gaps.

    Half of the cells of a run of n are at most n / 4 away from its ends. A pattern holds out about
    `most` entries at the most, blocks in eight units or more where they find room.
    """
    n_modes, found = len(support.shape), []
    empty_rows = (around[:, :n_modes] == 0).any(axis=0)
    steps, lengths = np.exp(around[:, 2 * n_modes :]), []
    for place, mode in enumerate(support.ordered):
        n_rows = support.shape[mode]
        inside = steps[:, place] < n_rows
        typical = float(np.median(steps[inside, place])) if inside.any() else 1.0
        run = int(np.clip(4 * typical, 2, max(n_rows // 3, 1))) if typical > CLUMPED else 1
        lengths.append(run)
        if n_rows >= (LEAST_ROWS if empty_rows[mode] else MANY_ROWS):
            times, share = (2, 6) if empty_rows[mode] else (1, MANY_ROWS)
            longest = min(n_rows // share, int(times * most[0] * n_rows / len(support.indices)))
            if longest:
                length = int(np.clip(2 * typical, 1, longest))
                found.append(GapPattern("slabs", (mode,), length=length))
            run = max(run, int(np.clip(n_rows // 20, 2, 8)))
            found.append(GapPattern("blocks", (mode,), length=run))
    if len(lengths) > 1 and min(lengths) > 1 and len(support.indices) >= LEAST_FOR_BLOCKS:
        found += _blocks(support, lengths, most[1] / LEAST_UNITS)
    for mode, per_fibre in enumerate(support.per_fibre):
        if LEAST_PER_FIBRE <= per_fibre <= most[0]:
            found.append(GapPattern("fibres", (mode,)))
    return found


def _planes(support: Support, gaps: np.ndarray, largest: float) -> list[GapPattern]:
    """What spans several modes in one row of two others or more, where most gaps lie so.

    Planes that would be empty by chance, because they have few cells, tell nothing.
    """
    modes, shares = range(len(support.shape)), {}
    density = len(support.indices) / np.prod(support.shape, dtype=float)
    for n_along in range(2, len(modes) - 1) if len(gaps) else ():
        for along in combinations(modes, n_along):
            size = density * np.prod([support.shape[mode] for mode in along], dtype=float)
            if LEAST_IN_PLANE <= size <= largest:
                across = [mode for mode in modes if mode not in along]
                shape = [support.shape[mode] for mode in across]
                taken = cell_keys(support.indices[:, across], shape)
                empty = ~np.isin(cell_keys(gaps[:, across], shape), taken)
                shares[along] = float(empty.mean())
    common = sorted((a for a in shares if shares[a] >= COMMON), key=lambda a: -shares[a])
    return [GapPattern("fibres", along) for along in common[:MOST_PLANES]]


def _blocks(support: Support, lengths: Sequence[int], largest: float) -> list[GapPattern]:
    """Blocks along all ordered modes, in one row of the others or in all of them: bands."""
    along, density = support.ordered, len(support.indices) / np.prod(support.shape, dtype=float)
    found = [GapPattern("blocks", along, length=_shrunk(lengths, largest / density))]
    others = np.prod([n for mode, n in enumerate(support.shape) if mode not in along])
    n_cells = largest / density / others
    if len(along) < len(support.shape) and n_cells >= 1:
        found.append(GapPattern("slabs", along, length=_shrunk(lengths, n_cells)))
    return found


def _shrunk(lengths: Sequence[int], n_cells: float) -> tuple[int, ...]:
    """Return lengths in about the same proportions, of a block with at most so many cells."""
    factor = min(1.0, float(n_cells / np.prod(lengths)) ** (1 / len(lengths)))
    return tuple(max(int(factor * length), 1) for length in lengths)


def _some_gaps(observations: Observations, random: np.random.Generator) -> np.ndarray:
    """Coordinates of some cells that are not observed; none where asked cells are unlike gaps."""
    none = np.empty((0, observations.n_modes), dtype=np.int32)
    taken = np.unique(fibre_keys(observations.known, observations.shape, 0))
    if not LEAST_DENSITY <= len(taken) / observations.n_cells < 1:
        return none
    cells = np.stack([random.integers(n, size=4 * N_GAPS) for n in observations.shape], axis=1)
    keys = fibre_keys(cells, observations.shape, 0)
    place = np.minimum(np.searchsorted(taken, keys), len(taken) - 1)
    gaps = cells[taken[place] != keys][:N_GAPS]
    return gaps.astype(np.int32) if len(gaps) > 20 else none
