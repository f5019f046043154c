"""Where Bayesian CP starts, and how it climbs its evidence bound.

Automatic rank determination has a trap: while the rows are still wrong, the noise looks
large, so the component precisions rise, and components die before they explain anything. A
start is therefore warmed up with the component precisions held, and the noise held at a low
level or learned; several starts of both kinds run for a while, and the bound picks one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.fbcp.posterior import (
    Gamma,
    Posterior,
    RowPosteriors,
    noise_precision,
    sweep,
    update_rows,
    without_component,
)
from vaecp.models.multilinear.fibres import FibreSums
from vaecp.models.multilinear.starts import random_start, singular_vectors
from vaecp.runtime.progress import steps

WARM_UP_SWEEPS = 20
TRIAL_SWEEPS = 30

STARTS: tuple[tuple[str, float | None], ...] = (
    ("random", 1e-2),
    ("svd", 1e-4),
    ("random", None),
    ("random", 1e-4),
    ("svd", 1e-2),
    ("svd", None),
)
"""Rows and noise variance of the starts, in turn; None: the noise is learned from the outset."""

_PATIENCE = 3


@dataclass(frozen=True, eq=False)
class ArrangedEntries:
    """The data, arranged once for all starts."""

    sums: tuple[FibreSums, ...]
    sum_of_squares: float
    n_entries: int

    @classmethod
    def of(cls, observations: Observations) -> ArrangedEntries:
        sums = tuple(FibreSums(observations, mode) for mode in range(observations.n_modes))
        return cls(sums, float(np.sum(observations.values**2)), len(observations))

    def sweep(self, posterior: Posterior) -> Posterior:
        return sweep(posterior, self.sums, self.sum_of_squares)


@dataclass(frozen=True, eq=False)
class Ascent:
    """A posterior on its way up, with the bound after every sweep."""

    posterior: Posterior
    previous: Posterior
    momentum: float
    bounds: tuple[float, ...]
    converged: bool = False


def search(
    observations: Observations,
    rank: int,
    n_starts: int,
    max_iter: int,
    tol: float,
    random: np.random.Generator,
) -> Ascent:
    """Try several starts, and follow the one of the highest bound to convergence."""
    entries = ArrangedEntries.of(observations)

    def tried(kind: str, noise: float | None) -> Ascent:
        if kind == "svd":
            rows = svd_rows(observations, rank, random)
        else:
            rows = random_start(observations.shape, rank, random)
        start = begin(entries, warmed_up(entries, rows, noise))
        return ascend(start, entries, min(TRIAL_SWEEPS, max_iter) - 1, tol, prune=False)

    trials = (tried(*STARTS[start % len(STARTS)]) for start in range(n_starts))
    best = max(trials, key=lambda trial: trial.bounds[-1])
    return ascend(best, entries, max_iter - len(best.bounds), tol, prune=True)


def begin(entries: ArrangedEntries, posterior: Posterior) -> Ascent:
    """Let all precisions go; the bound counts from here."""
    posterior = entries.sweep(posterior)
    return Ascent(posterior, posterior, 0.5, (posterior.bound,))


def ascend(
    ascent: Ascent, entries: ArrangedEntries, n_sweeps: int, tol: float, *, prune: bool
) -> Ascent:
    """Sweep until the bound gains less than `tol` per entry, `_PATIENCE` times in a row."""
    quiet = 0
    for _ in steps(n_sweeps, "sweeps"):
        gains = ascent.posterior.removal_gains if prune else np.array([-np.inf])
        weakest = int(np.argmax(gains))
        if gains[weakest] >= 0 and ascent.posterior.rank > 1:
            smaller = entries.sweep(without_component(ascent.posterior, weakest))
            ascent = Ascent(smaller, smaller, ascent.momentum, (*ascent.bounds, smaller.bound))
            quiet = 0
            continue
        ascent = accelerated(ascent, entries)
        gain = ascent.bounds[-1] - ascent.bounds[-2]
        quiet = quiet + 1 if gain < tol * entries.n_entries else 0
        if quiet == _PATIENCE:
            return replace(ascent, converged=True)
    return ascent


def accelerated(ascent: Ascent, entries: ArrangedEntries) -> Ascent:
    """Sweep from beyond the last step; fall back to a plain sweep where the bound would fall.

    Alternating updates zigzag along narrow ridges, and means that run ahead along the last
    step cut across them. The bound still never decreases, because a step that lowers it is
    thrown away.
    """
    now, momentum = ascent.posterior, ascent.momentum
    ahead = tuple(
        replace(rows, means=rows.means + momentum * (rows.means - old.means))
        for rows, old in zip(now.rows, ascent.previous.rows, strict=True)
    )
    later = entries.sweep(replace(now, rows=ahead))
    momentum *= 1.05
    if not later.bound >= ascent.bounds[-1]:
        later = entries.sweep(now)
        momentum *= 0.7
    return Ascent(later, now, momentum, (*ascent.bounds, later.bound))


# ---- starts ----------------------------------------------------------------------------


def warmed_up(
    entries: ArrangedEntries, means: Sequence[np.ndarray], noise: float | None
) -> Posterior:
    """Fit the rows while the component precisions, and the noise if given, are held."""
    rank, n_modes = means[0].shape[1], len(means)
    rows = tuple(
        RowPosteriors(
            mode, np.zeros((len(mode), rank, rank)), np.zeros(len(mode)), np.ones_like(mode)
        )
        for mode in means
    )
    # A shape as large as the data's own makes the held value a sharp one.
    shape = 0.5 * entries.n_entries
    # Under this precision the prior variance of an entry is 1, that of the values.
    weights = Gamma(shape, np.full(rank, shape * rank ** (-1 / n_modes)))
    held = Gamma(shape, shape * (noise or 1.0))
    unknown = np.full(rank, np.nan)
    posterior = Posterior(rows, weights, held, np.nan, unknown, entries.n_entries)
    for _ in range(WARM_UP_SWEEPS):
        for mode in range(n_modes):
            posterior = update_rows(posterior, mode, entries.sums[mode], entries.sum_of_squares)
        if noise is None:
            learned = noise_precision(posterior.residual, entries.n_entries)
            posterior = replace(posterior, noise_precision=learned)
    return posterior


def svd_rows(
    observations: Observations, rank: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Take the leading left singular vectors of the unfoldings, gaps filled with the mean.

    Where a mode has fewer rows than the rank, the further columns are random.
    """
    start = random_start(observations.shape, rank, random)
    scale = rank ** (-0.5 / observations.n_modes)
    for mode, rows in enumerate(start):
        vectors, strengths = singular_vectors(observations, mode, rank, random)
        if len(strengths) and strengths[0] > 0:
            relative = (strengths / strengths[0]) ** (1 / observations.n_modes)
            rows[:, : len(strengths)] = scale * np.sqrt(len(rows)) * vectors * relative
    return start
