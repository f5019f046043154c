"""Training members by sweeps on every fold, and what held-out entries say of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.keeping import kept_step
from vaecp.models.vaecp.holdouts import Fold
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

FAST, SETTLING, MAX_SETTLING, FINISHING = 16, 6, 8, 1
"""Sweeps of the first round; later ones are twice as long each."""

WORTH = 0.005
"""What does not lower the held-out error by this share is not worth the time."""

WINSOR = 0.995
OVERHEAD = 1e6
"""What a sweep over one mode takes beside its multiplications, in these."""

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

    def first(self, kind: Kind, seed: int) -> Candidate:
        """Train a member for one round on every fold."""
        descents = []
        for number in range(len(self.folds)):
            random = np.random.default_rng((self.seed, seed, number))
            descents.append(
                begin(self.solver(number, kind), self._trainer(kind), random, kind.pairs)
            )
        none = np.empty(0)
        return self._trained(Candidate(kind, seed, tuple(descents), none, none, np.inf, 0))

    def longer(self, candidate: Candidate) -> Candidate:
        """Train on, twice as long as before."""
        return self._trained(candidate)

    def _trained(self, candidate: Candidate) -> Candidate:
        kind, n_rounds = candidate.kind, candidate.n_rounds
        self.spent += self.cost(kind, n_rounds + 1) - self.cost(kind, n_rounds)
        return kept_step("sweeps", Candidate, lambda: self._train(candidate))

    def _train(self, candidate: Candidate) -> Candidate:
        """Sweep fast, then let priors and noise settle as long as held-out entries gain by it."""
        kind, n_rounds = candidate.kind, candidate.n_rounds + 1
        descents = candidate.descents
        if kind.eager:
            descents = tuple(
                hasten(self.solver(number, kind), descent, FAST * 2**candidate.n_rounds, kind.eager)
                for number, descent in enumerate(descents)
            )
        best = None
        for _ in range(MAX_SETTLING):
            descents = tuple(
                settle(self.solver(number, kind), descent, SETTLING)
                for number, descent in enumerate(descents)
            )
            found = self._judged(replace(candidate, descents=descents, n_rounds=n_rounds))
            if best is not None and found.loss > best.loss - 2 * WORTH:
                return found if found.loss < best.loss else best
            best = found
        assert best is not None
        return best

    def finished(self, candidate: Candidate) -> tuple[Solver, Descent]:
        """Let a member learn from all entries, those held out included."""
        solver = solver_for(self.observations, candidate.kind, self.chains)
        if candidate.descents:
            return solver, take_in(solver, candidate.descents[0], FINISHING)
        random = np.random.default_rng((self.seed, candidate.seed))
        kind = candidate.kind
        descent = begin(solver, self._trainer(kind), random, kind.pairs)
        if kind.eager:
            descent = hasten(solver, descent, FAST, kind.eager)
        return solver, settle(solver, descent, 2 * SETTLING)

    def cost(self, kind: Kind, n_rounds: int = 1) -> float:
        """About how many multiplications training a member for so many rounds takes."""
        width, n_modes = kind.rank + len(self.chains), len(self.chains)
        n_sweeps = (FAST if kind.eager else 0) * (2**n_rounds - 1) + 2 * SETTLING * n_rounds
        n_entries = sum(len(fold.train) for fold in self.folds)
        chained = sum(chain.n_rows for chain in self.chains if chain is not None and kind.smooth)
        sweep = 0.5 * n_modes * n_entries * width**2 + len(self.folds) * chained * width**3
        return n_sweeps * (sweep + n_modes * OVERHEAD)

    def solver(self, number: int, kind: Kind) -> Solver:
        """Return the arranged entries of a fold; they serve all starts."""
        kind = replace(kind, eager=0.0, pairs=(), trainer=0)
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
            loss=held_out_loss(self.likelihood, found, self.folds, np.concatenate(variances)),
        )

    def _trainer(self, kind: Kind) -> Likelihood:
        return self.likelihood.trainers()[kind.trainer]


def held_out_loss(
    likelihood: Likelihood,
    means: np.ndarray,
    folds: Sequence[Fold],
    variances: np.ndarray | None = None,
) -> float:
    """Mean loss of held-out entries by kind of gap, averaged; of squared errors, their logarithms.

    As logarithms, so that a kind of gap that is hard for every member does not drown the others;
    the few largest errors count as the next largest ones.
    """
    values = np.concatenate([fold.held_out.values for fold in folds])
    kind = np.concatenate([fold.kind for fold in folds])
    importance = np.concatenate([fold.importance for fold in folds])
    variances = np.zeros_like(means) if variances is None else variances
    losses = likelihood.losses(values, means, variances)
    total, weight = 0.0, 0.0
    for number in np.unique(kind):
        here = kind == number
        share = importance[here].sum()
        limit = np.quantile(losses[here], WINSOR)
        mean = np.average(np.minimum(losses[here], limit), weights=importance[here])
        total += share * (np.log(mean + 1e-30) if likelihood.has_residuals else 2 * mean)
        weight += share
    return total / weight
