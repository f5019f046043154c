"""Training members by sweeps on every fold, and what held-out entries say of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.keeping import kept_step
from vaecp.models.vaecp.holdouts import SOME, Fold, units_of
from vaecp.models.vaecp.likelihoods import Likelihood
from vaecp.models.vaecp.sweeps.chains import Chain
from vaecp.models.vaecp.sweeps.descent import (
    Descent,
    Kind,
    begin,
    hasten,
    settle,
    solver_for,
    take_in,
)
from vaecp.models.vaecp.sweeps.solver import Solver
from vaecp.runtime.threads import in_threads, n_cores

FAST, SETTLING, MAX_SETTLING, FINISHING = 16, 6, 8, 4
"""Sweeps of the first round; later ones are twice as long each."""
MOST_STARTS, TRYING, NARROW, DETERMINED = 4, 8, 8, 0.3
WIDE, MOST_TIMES = 32, 4
"""Narrower members are cheap: they sweep fast up to so many times longer, as long as that gains."""

WORTH = 0.005
"""What does not lower the held-out error by this share is not worth the time."""

WINSOR = 0.995
OVERHEAD, FETCHING = 1e6, 30
"""In multiplications: what a sweep over one mode takes besides, and fetching one number of a row."""

MANY_TRAININGS = 40
"""About so many stretches of training a normal fit takes."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kind of member with a seed, trained on every fold."""

    kind: Kind
    seed: int
    descents: tuple[Descent, ...]
    means: np.ndarray  # of the held-out entries of all folds
    variances: np.ndarray  # of these means
    loss: float
    n_rounds: int = 1


@dataclass
class Workshop:
    """What training members takes: the folds, the chains, and a watcher of progress."""

    observations: Observations
    folds: tuple[Fold, ...]
    chains: tuple[Chain | None, ...]
    likelihood: Likelihood
    seed: int
    on_sweeps: Callable[[int, int, str], None] = lambda done, total, unit: None
    n_done: int = 0
    spent: float = 0.0  # multiplications so far
    _solvers: dict[tuple[int, Kind], Solver] = field(default_factory=dict)
    keeps_starts: bool = False  # for kinds that differ in what entries count for
    _fast: dict[tuple[Kind, int], tuple[Descent, ...]] = field(default_factory=dict)
    _begun: set[tuple[Kind, int]] = field(default_factory=set)

    @cached_property
    def held_out(self) -> HeldOut:
        """What members are judged by."""
        return HeldOut.of(self.folds)

    def first(self, kind: Kind, seed: int) -> Candidate:
        """Train a member for one round on every fold."""
        none = np.empty(0)
        return self._trained(Candidate(kind, seed, (), none, none, np.inf, 0))

    def _start(self, solver: Solver, kind: Kind, seed: tuple[int, ...]) -> Descent:
        """Stand at the best of some random starts, by what a few fast sweeps make of each."""
        trainer, starts = self._trainer(kind), []
        for number in range(self._n_starts(kind)):
            random = np.random.default_rng((*seed, number) if number else seed)
            starts.append(begin(solver, trainer, random, kind.pairs))
        if len(starts) == 1:
            return starts[0]
        tried = [hasten(solver, start, TRYING, kind.eager) for start in starts]
        return min(tried, key=lambda descent: descent.history[-1][1])

    def longer(self, candidate: Candidate) -> Candidate:
        """Train on, twice as long as before."""
        return self._trained(candidate)

    def _trained(self, candidate: Candidate) -> Candidate:
        found = kept_step("sweeps", Candidate, lambda: self._train(candidate))
        self.spent += self.took(found) - self._had(candidate, found)
        return found

    def _had(self, candidate: Candidate, found: Candidate) -> float:
        """How many multiplications had been made before, for this kind or one that began alike."""
        if candidate.n_rounds:
            return self.took(candidate)
        start = replace(candidate.kind, counts=1.0), candidate.seed
        shared = start in self._begun
        self._begun.add(start)
        n_sweeps = sum(descent.n_shared for descent in found.descents) / len(self.folds)
        return shared * self._took(candidate.kind, n_sweeps)

    def _train(self, candidate: Candidate) -> Candidate:
        """Sweep fast, then let priors and noise settle as long as held-out entries gain by it."""
        kind, n_rounds = candidate.kind, candidate.n_rounds + 1
        descents = self._hastened(candidate)
        best = None
        for _ in range(MAX_SETTLING):
            descents = self._on_folds(
                lambda number, descents=descents: settle(
                    self.solver(number, kind), descents[number], SETTLING
                )
            )
            found = self._judged(replace(candidate, descents=descents, n_rounds=n_rounds))
            if best is not None and found.loss > best.loss - 2 * WORTH:
                return found if found.loss < best.loss else best
            best = found
        assert best is not None
        return best

    def _hastened(self, candidate: Candidate) -> tuple[Descent, ...]:
        """Sweep fast; kinds that differ in what entries count for begin with the same sweeps."""
        kind = candidate.kind
        start = replace(kind, counts=1.0), candidate.seed
        if not candidate.descents and start in self._fast:
            return tuple(replace(each, counts=kind.counts) for each in self._fast[start])
        n_sweeps = n_fast(kind) * 2**candidate.n_rounds

        def hastened(number: int) -> Descent:
            solver = self.solver(number, kind)
            seed = self.seed, candidate.seed, number
            begun = candidate.descents
            descent = begun[number] if begun else self._start(solver, kind, seed)
            return hasten(solver, descent, n_sweeps, kind.eager) if kind.eager else descent

        descents = self._on_folds(hastened)
        if not candidate.descents:
            shared = (replace(each, n_shared=len(each.history)) for each in descents)
            descents = tuple(shared)
            if self.keeps_starts:
                self._fast[start] = descents
        return tuple(replace(each, counts=kind.counts) for each in descents)

    def _on_folds(self, train: Callable[[int], Descent]) -> tuple[Descent, ...]:
        """Train on all folds at once where entries are few: threads then idle within one.

        Many entries, of which two folds are trained on where some are limits, keep more cores busy than that.
        """
        numbers = range(len(self.folds))
        if len(self.observations) > SOME and n_cores() > len(numbers):
            return tuple(map(train, numbers))
        return tuple(in_threads(train, numbers))

    def _n_starts(self, kind: Kind) -> int:
        """From how many places training starts: narrow members often end in a poor one.

        Where entries are few, the start that fits them best is the one that overfits most.
        """
        n_numbers = kind.rank * sum(self.observations.shape)
        determined = n_numbers < DETERMINED * len(self.observations)
        return MOST_STARTS if kind.eager and 0 < kind.rank <= NARROW and determined else 1

    def finished(self, candidate: Candidate) -> tuple[Solver, Descent]:
        """Let a member learn from all entries, those held out included."""
        solver = solver_for(self.observations, candidate.kind, self.chains)
        if candidate.descents:
            descent = take_in(solver, candidate.descents[0], 1)
            return solver, settle(solver, descent, FINISHING)
        kind = candidate.kind
        descent = self._start(solver, kind, (self.seed, candidate.seed))
        if kind.eager:
            descent = hasten(solver, descent, n_fast(kind), kind.eager)
        descent = replace(descent, counts=kind.counts)
        return solver, settle(solver, descent, 2 * SETTLING)

    def cost(self, kind: Kind) -> float:
        """About how many multiplications the first round of a member takes."""
        n_sweeps = n_fast(kind) + 2 * SETTLING + TRYING * (self._n_starts(kind) - 1)
        return n_sweeps * self._sweep_cost(kind)

    def took(self, candidate: Candidate) -> float:
        """About how many multiplications a member has taken so far."""
        n_sweeps = sum(len(descent.history) for descent in candidate.descents) / len(self.folds)
        return self._took(candidate.kind, n_sweeps)

    def _took(self, kind: Kind, n_sweeps: float) -> float:
        return (n_sweeps + TRYING * (self._n_starts(kind) - 1)) * self._sweep_cost(kind)

    def _sweep_cost(self, kind: Kind) -> float:
        """About how many multiplications a sweep over all folds takes."""
        width, n_modes = kind.rank + len(self.chains), len(self.chains)
        n_entries = sum(len(fold.train) for fold in self.folds)
        chained = sum(chain.n_rows for chain in self.chains if chain is not None and kind.smooth)
        per_entry = 0.5 * n_modes * (width**2 + FETCHING * width)
        sweep = per_entry * n_entries + len(self.folds) * chained * width**3
        return sweep + n_modes * OVERHEAD

    def solver(self, number: int, kind: Kind) -> Solver:
        """Return the arranged entries of a fold; they serve all starts."""
        kind = replace(kind, eager=0.0, pairs=(), trainer=0, counts=1.0)
        key = (number, kind)
        if key not in self._solvers:
            self._solvers[key] = solver_for(self.folds[number].train, kind, self.chains)
        return self._solvers[key]

    def _judged(self, candidate: Candidate) -> Candidate:
        means, variances = [], []
        for number, (fold, descent) in enumerate(zip(self.folds, candidate.descents, strict=True)):
            solver = self.solver(number, candidate.kind)
            ids = fold.held_out.indices + solver.offsets[:-1].astype(np.int32)
            mean, variance = solver.moments(descent.tables, ids)
            means.append(mean)
            variances.append(variance)
        found = np.concatenate(means)
        self.n_done += 1
        self.on_sweeps(self.n_done, MANY_TRAININGS, "trainings")
        return replace(
            candidate,
            means=found,
            variances=np.concatenate(variances),
            loss=self.held_out.loss(self.likelihood, found, np.concatenate(variances)),
        )

    def _trainer(self, kind: Kind) -> Likelihood:
        return self.likelihood.trainers()[kind.trainer]


def n_fast(kind: Kind) -> int:
    """How many fast sweeps the first round has at the most."""
    if not (kind.rank and kind.eager):
        return 0
    return int(FAST * np.clip(WIDE / kind.rank, 1, MOST_TIMES))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The held-out entries of all folds, and what they say of members."""

    values: np.ndarray
    kind: np.ndarray
    importance: np.ndarray
    unit: np.ndarray

    @classmethod
    def of(cls, folds: Sequence[Fold]) -> HeldOut:
        """Put the folds one after the other."""
        return cls(
            np.concatenate([fold.held_out.values for fold in folds]),
            np.concatenate([fold.kind for fold in folds]),
            np.concatenate([fold.importance for fold in folds]),
            units_of(folds),
        )

    @property
    def together(self) -> float:
        """The share of importance of entries that were held out together with others.

        Scattered cells, the last kind, are not, however often they were measured.
        """
        _, place, sizes = np.unique(self.unit, return_inverse=True, return_counts=True)
        together = (sizes[place] > 1) & (self.kind != self.kind.max())
        return float(self.importance[together].sum() / self.importance.sum())

    def loss(self, likelihood: Likelihood, means: np.ndarray, variances: np.ndarray) -> float:
        """Mean loss by kind of gap, averaged; of squared errors, their logarithms.

        As logarithms, so that a kind of gap that is hard for every member does not drown the others;
        the few largest errors count as the next largest ones.
        """
        return self._loss(likelihood, means, variances)[0]

    def doubt(
        self,
        likelihood: Likelihood,
        first: tuple[np.ndarray, np.ndarray],
        second: tuple[np.ndarray, np.ndarray],
    ) -> float:
        """Return the standard error of the difference of two losses: other units would tell other ones."""
        apart = self._loss(likelihood, *first)[1] - self._loss(likelihood, *second)[1]
        total = 0.0
        for number in np.unique(self.kind):
            here = self.kind == number
            share = self.importance[here].sum() / self.importance.sum()
            moves = np.bincount(np.unique(self.unit[here], return_inverse=True)[1], apart[here])
            n_units = len(moves)
            # One unit cannot differ from itself: its loss is taken to be off by as much as it is.
            alone = np.sum(moves**2) * n_units / (n_units - 1) if n_units > 1 else 2 * share**2
            total += float(alone)
        return total**0.5

    def _loss(
        self, likelihood: Likelihood, means: np.ndarray, variances: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return the loss, and by how much each entry moves it away from what others say."""
        losses = likelihood.losses(self.values, means, variances)
        moves, total, weight = np.empty_like(losses), 0.0, self.importance.sum()
        for number in np.unique(self.kind):
            here = self.kind == number
            importance = self.importance[here] / weight
            share, capped = (
                importance.sum(),
                np.minimum(losses[here], np.quantile(losses[here], WINSOR)),
            )
            mean = float(importance @ capped) / share
            logs = likelihood.has_residuals
            total += share * (np.log(mean + 1e-30) if logs else 2 * mean)
            moves[here] = importance * (capped - mean) * (1 / (mean + 1e-30) if logs else 2)
        return total, moves
