"""Which two modes have pair effects, and how large these are: held-out entries decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vaecp.models.vaecp.sweeps.descent import Kind

if TYPE_CHECKING:
    from vaecp.models.vaecp.workshop import Candidate, Workshop

VARIANCES = (0.1, 1.0, 10.0)
"""Prior variances, in units of the noise variance of an entry.

They are not learned from posteriors: most pairs have one or two entries, from which a variance is
learned in thousands of sweeps, and too small where the likelihood is bounded from below.
"""

LEAST_PER_PAIR, MOST_ENTRIES = 1.05, 300_000


def with_pairs(
    workshop: Workshop, plain: Candidate, worth: float, affords: Callable[[Kind], bool]
) -> list[Candidate]:
    """Give a kind pair effects: ever larger ones while that helps, then only those that do."""
    allowed = pairs_that_repeat(workshop)
    if not any(allowed):
        return []
    unit, best, tried = noise_of(workshop, plain) / plain.kind.counts, plain, []

    def better(kind: Kind, by: float) -> bool:
        nonlocal best
        if not affords(kind):
            return False
        tried.extend(workshop.first((kind, 0)))
        gained = tried[-1].loss < best.loss - by
        best = tried[-1] if gained else best
        return gained

    for each in VARIANCES:
        pairs = tuple(each * unit * allows for allows in allowed)
        if not better(replace(plain.kind, pairs=pairs), worth):
            break
    for place, variance in enumerate(best.kind.pairs):
        if variance and sum(map(bool, best.kind.pairs)) > 1:
            without = (*best.kind.pairs[:place], 0.0, *best.kind.pairs[place + 1 :])
            better(replace(best.kind, pairs=without), 0.0)
    if best is not plain and plain.kind.rank:
        better(replace(best.kind, rank=0), 0.0)
    return tried


def pairs_that_repeat(workshop: Workshop) -> tuple[bool, ...]:
    """Say of every two modes whether entries have rows of both in common."""
    observations = workshop.observations
    if observations.n_modes < 3 or len(observations) > MOST_ENTRIES:
        return ()
    pairing = workshop.solver(0, Kind(0)).pairing
    return tuple(pairing.per_cell(modes) > LEAST_PER_PAIR for modes in pairing.groups)


def noise_of(workshop: Workshop, candidate: Candidate) -> float:
    """Return the usual noise variance of an entry, as a member sees it."""
    solver, descent = workshop.solver(0, candidate.kind), candidate.descents[0]
    moments = (part[: len(solver.values)] for part in solver.moments(descent.tables))
    weights = descent.likelihood.working(solver.values, *moments).weights
    return 1 / float(np.median(weights))
