"""Training members by sweeps on every fold, and what held-out entries say of them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.keeping import kept_step
from vaecp.models.vaecp.held_out import HeldOut
from vaecp.models.vaecp.holdouts import KIND_OF_LIMITS, SOME, Fold
from vaecp.models.vaecp.likelihoods import Likelihood
from vaecp.models.vaecp.sweeps.arranged import Arranged
from vaecp.models.vaecp.sweeps.chains import Chain
from vaecp.models.vaecp.sweeps.descent import (
    ENOUGH_FAST,
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
WORTH_THREADS = 600
"""Threads that train on fewer entries wait for each other: Python around their loops takes most of the time."""
PATIENT_STARTS, LONG, LITTLE_GAIN = 8, 120, 2e-4
"""Patient members: how many starts, for how long, and the gain a sweep at which they give up."""
WIDE, MOST_TIMES = 32, 4
"""Narrower members are cheap: they sweep fast up to so many times longer, as long as that gains."""

WORTH = 0.005
"""What does not lower the held-out error by this share is not worth the time."""

OVERHEAD, FETCHING = 1e6, 30
"""In multiplications: what a sweep over one mode takes besides, and fetching one number of a row."""


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
    on_training: Callable[[Workshop], None] = lambda workshop: None
    n_done: int = 0
    lowest: float = np.inf  # loss of any member so far
    spent: float = 0.0  # multiplications so far
    _solvers: dict[tuple[int, Kind], Solver] = field(default_factory=dict)
    _arranged: dict[int, Arranged] = field(default_factory=dict)
    _counting: threading.Lock = field(default_factory=threading.Lock)
    keeps_starts: bool = False  # for kinds that differ in what entries count for
    _fast: dict[tuple[Kind, int], tuple[Descent, ...]] = field(default_factory=dict)
    _begun: set[tuple[Kind, int]] = field(default_factory=set)

    @cached_property
    def held_out(self) -> HeldOut:
        """What members are judged by."""
        return HeldOut.of(self.folds)

    def first(self, *wanted: tuple[Kind, int]) -> list[Candidate]:
        """Train members of these kinds and seeds for one round on every fold."""
        none = np.empty(0)
        return self.longer(
            *(Candidate(kind, seed, (), none, none, np.inf, 0) for kind, seed in wanted)
        )

    def longer(self, *candidates: Candidate) -> list[Candidate]:
        """Train on, twice as long as before; side by side, where these are enough for all cores."""
        trained: list[Candidate] = []

        def found(number: int) -> Candidate:
            if not trained:
                trained.extend(self._side_by_side(candidates))
            return trained[number]

        kept = [
            kept_step("sweeps", Candidate, partial(found, number))
            for number in range(len(candidates))
        ]
        for before, after in zip(candidates, kept, strict=True):
            self.spent += self.took(after) - self._had(before, after)
        return kept

    @property
    def _is_small(self) -> bool:
        return len(self.observations) < WORTH_THREADS

    def _side_by_side(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        if len(candidates) < max(n_cores(), 2) or self._is_small:
            return [self._train(each) for each in candidates]
        for number, each in itertools.product(range(len(self.folds)), candidates):
            self.solver(number, each.kind)  # once, for all threads
        return in_threads(self._train, candidates)

    def _start(self, solver: Solver, kind: Kind, seed: tuple[int, ...]) -> Descent:
        """Stand at the best of some random starts, by what a few fast sweeps, or many, make of each."""
        trainer, starts = self._trainer(kind), []
        for number in range(self._n_starts(kind)):
            random = np.random.default_rng((*seed, number) if number else seed)
            starts.append(begin(solver, trainer, random, kind.pairs))
        if len(starts) == 1:
            return starts[0]
        n_sweeps, enough = (LONG, LITTLE_GAIN) if kind.patient else (TRYING, ENOUGH_FAST)

        def train(start: Descent) -> Descent:
            return hasten(solver, start, n_sweeps, kind.eager, enough)

        tried = [train(each) for each in starts] if self._is_small else in_threads(train, starts)
        best = min(tried, key=lambda descent: descent.history[-1][1])
        n_sweeps = sum(len(descent.history) for descent in tried)
        return replace(best, n_elsewhere=n_sweeps - len(best.history))

    def _had(self, candidate: Candidate, found: Candidate) -> float:
        """How many multiplications had been made before, for this kind or one that began alike."""
        if candidate.n_rounds:
            return self.took(candidate)
        start = replace(candidate.kind, counts=1.0), candidate.seed
        shared = start in self._begun
        self._begun.add(start)
        n_sweeps = sum(descent.n_shared for descent in found.descents) / len(self.folds)
        return shared * n_sweeps * self._sweep_cost(candidate.kind)

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
            shared = (replace(each, n_shared=each.n_sweeps) for each in descents)
            descents = tuple(shared)
            if self.keeps_starts:
                self._fast[start] = descents
        return tuple(replace(each, counts=kind.counts) for each in descents)

    def _on_folds(self, train: Callable[[int], Descent]) -> tuple[Descent, ...]:
        """Train on all folds at once where entries are few: threads then idle within one.

        Many entries, of which two folds are trained on where some are limits, keep more cores busy than that.
        """
        numbers = range(len(self.folds))
        if self._is_small or (len(self.observations) > SOME and n_cores() > len(numbers)):
            return tuple(map(train, numbers))
        return tuple(in_threads(train, numbers))

    def _n_starts(self, kind: Kind) -> int:
        """From how many places training starts: narrow members often end in a poor one.

        Where entries are few, the start that fits them best is the one that overfits most.
        """
        if not (kind.rank and kind.eager):  # fast sweeps tell starts apart
            return 1
        if kind.patient:
            return PATIENT_STARTS
        n_numbers = kind.rank * sum(self.observations.shape)
        determined = n_numbers < DETERMINED * len(self.observations)
        return MOST_STARTS if kind.rank <= NARROW and determined else 1

    def finished(self, candidate: Candidate) -> tuple[Solver, Descent]:
        """Let a member learn from all entries, those held out included."""
        solver = solver_for(self.observations, candidate.kind, self.chains)
        if candidate.descents:
            descent = take_in(solver, self._best_of_folds(candidate), 1)
            return solver, settle(solver, descent, FINISHING)
        kind = candidate.kind
        descent = self._start(solver, kind, (self.seed, candidate.seed))
        if kind.eager:
            descent = hasten(solver, descent, n_fast(kind), kind.eager)
        descent = replace(descent, counts=kind.counts)
        return solver, settle(solver, descent, 2 * SETTLING)

    def _best_of_folds(self, candidate: Candidate) -> Descent:
        """Return the descent with the lowest held-out loss: some may have ended in a poor place.

        Where values were taken for limited, training has seen none of the largest.
        """
        losses = self.likelihood.losses(self.held_out.values, candidate.means, candidate.variances)
        ends = np.cumsum([len(fold.held_out) for fold in self.folds])
        kinds = np.split(self.held_out.kind, ends[:-1])
        found = [
            np.inf if KIND_OF_LIMITS in kind else float(np.mean(part))
            for kind, part in zip(kinds, np.split(losses, ends[:-1]), strict=True)
        ]
        return candidate.descents[int(np.argmin(found))]

    def cost(self, kind: Kind) -> float:
        """About how many multiplications the first round of a member takes."""
        elsewhere = (LONG // 2 if kind.patient else TRYING) * (self._n_starts(kind) - 1)
        return (n_fast(kind) + 2 * SETTLING + elsewhere) * self._sweep_cost(kind)

    def took(self, candidate: Candidate) -> float:
        """About how many multiplications a member has taken so far."""
        n_sweeps = sum(descent.n_sweeps for descent in candidate.descents) / len(self.folds)
        return n_sweeps * self._sweep_cost(candidate.kind)

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
        kind = replace(kind, eager=0.0, pairs=(), trainer=0, counts=1.0, patient=False)
        key = (number, kind)
        if key not in self._solvers:
            entries = self.folds[number].train
            if number not in self._arranged:
                self._arranged[number] = Arranged.of(entries)
            self._solvers[key] = solver_for(entries, kind, self.chains, self._arranged[number])
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
        variance = np.concatenate(variances)
        loss = self.held_out.loss(self.likelihood, found, variance)
        with self._counting:  # members may be trained side by side
            self.n_done, self.lowest = self.n_done + 1, min(self.lowest, loss)
            self.on_training(self)
        return replace(candidate, means=found, variances=variance, loss=loss)

    def _trainer(self, kind: Kind) -> Likelihood:
        return self.likelihood.trainers()[kind.trainer]


def n_fast(kind: Kind) -> int:
    """How many fast sweeps the first round has at the most."""
    if not (kind.rank and kind.eager):
        return 0
    return int(FAST * np.clip(WIDE / kind.rank, 1, MOST_TIMES))
