"""Which kinds of members there are, how long they train, and how many: held-out entries decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.keeping import kept_step
from vaecp.models.vaecp.holdouts import Fold
from vaecp.models.vaecp.likelihoods import Likelihood
from vaecp.models.vaecp.pair_search import with_pairs
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

LADDER = (2, 4, 8, 16, 32, 64)
FAST, SETTLING, MAX_SETTLING, FINISHING = 16, 6, 8, 1
"""Sweeps of the first round; later ones are twice as long each."""

WORTH = 0.005
"""What does not lower the held-out error by this share is not worth the time."""

LINKS = ("linear", "network")
WINSOR = 0.995
MANY = 100_000
MOST_FOR_EAGER = 0.5
NEAR = 0.1
"""Kinds whose squared error is larger by less than this share are worth averaging."""
NUMBERS_PER_ENTRY = 3.0
FEW = 8_000
"""Of fewer values that are no real numbers, held-out ones tell members apart badly: keep more."""
MANY_TRAININGS = 40
"""About so many stretches of training a normal fit takes."""


@dataclass(frozen=True)
class Effort:
    """How much is spent."""

    max_rank: int
    n_members: int
    n_rounds: int
    multiplications: float  # of one sweep, above which larger ranks are not tried


EFFORTS = {
    "quick": Effort(max_rank=16, n_members=3, n_rounds=1, multiplications=3e9),
    "normal": Effort(max_rank=64, n_members=6, n_rounds=3, multiplications=2e10),
    "thorough": Effort(max_rank=128, n_members=12, n_rounds=5, multiplications=1e12),
}


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
    features: str = ""  # how prior means depend on features, in the kinds that are tried
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
        return kept_step("sweeps", Candidate, lambda: self._train(candidate))

    def _train(self, candidate: Candidate) -> Candidate:
        """Sweep fast, then let priors and noise settle as long as held-out entries gain by it."""
        kind, n_rounds = candidate.kind, candidate.n_rounds + 1
        descents = candidate.descents
        if kind.eager:
            n_fast = FAST * 2**candidate.n_rounds
            descents = tuple(
                hasten(self.solver(number, kind), descent, n_fast)
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
        if candidate.kind.eager:
            descent = hasten(solver, descent, FAST)
        return solver, settle(solver, descent, 2 * SETTLING)

    def kind(self, rank: int, smooth: bool) -> Kind:
        """Return a kind that starts as suits the number of entries."""
        numbers = rank * sum(self.observations.shape)
        eager = numbers < MOST_FOR_EAGER * len(self.observations)
        return Kind(rank, smooth, eager, self.features)

    def solver(self, number: int, kind: Kind) -> Solver:
        """Return the arranged entries of a fold; they serve all starts."""
        kind = replace(kind, eager=True, pairs=(), trainer=0)
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


def choose_members(
    workshop: Workshop, effort: Effort, rank: int | None, n_members: int | None
) -> list[Candidate]:
    """Climb the ladder of ranks, lengthen what gains by it, and add seeds while they help."""
    smooth = any(chain is not None for chain in workshop.chains)
    few = not workshop.likelihood.has_residuals and len(workshop.observations) < FEW
    n_wanted = n_members or effort.n_members * (2 if few else 1)
    if not workshop.folds:
        workshop.features = LINKS[0] if workshop.observations.features else ""
        kind = workshop.kind(rank if rank is not None else 2, smooth)
        return [Candidate(kind, n, (), np.empty(0), np.empty(0), 0.0) for n in range(n_wanted)]
    tried = _climbed(workshop, effort, rank, smooth)
    found = _best(tried).kind
    if smooth:
        tried.append(workshop.first(replace(found, smooth=False), 0))
    if found.rank and len(workshop.observations) < MANY:
        tried.append(workshop.first(replace(found, eager=not found.eager), 0))
    if workshop.observations.features:
        others = [each for each in ("", *LINKS) if each != found.features]
        tried += [workshop.first(replace(found, features=each), 0) for each in others]
    tried += with_pairs(workshop, _best(tried), 2 * WORTH)
    best = _lengthened(workshop, _best(tried), effort.n_rounds)
    others = sorted((c for c in tried if c.kind != best.kind), key=lambda c: c.loss)
    near = [c for c in others if c.loss < best.loss + NEAR][: max(1, n_wanted // (2 if few else 3))]
    chosen = _with_seeds(workshop, [best, *near], n_wanted, few or n_members is not None)
    alone = [c for c in others if c.kind.rank == 0 and c not in chosen][:1]
    return chosen if n_members is not None else [*chosen, *alone]


def _with_seeds(
    workshop: Workshop, good: list[Candidate], n_wanted: int, exactly: bool
) -> list[Candidate]:
    """Add seeds of the good kinds in turn, while the average of all gains by it, or up to a number."""
    kept = good[:n_wanted]
    sources = [candidate for candidate in good if candidate.kind.rank]  # rank 0 needs no seeds
    seed = 0
    while len(kept) < n_wanted and sources:
        seed += 1
        before = _loss_of_average(kept, workshop.folds, workshop.likelihood)
        for source in sources[: n_wanted - len(kept)]:
            another = workshop.first(source.kind, seed)
            while another.n_rounds < source.n_rounds:
                another = workshop.longer(another)
            kept.append(another)
        after = _loss_of_average(kept, workshop.folds, workshop.likelihood)
        if not exactly and before - after < 2 * WORTH:
            break
    return kept


def average_gain(kept: Sequence[Candidate], folds: Sequence[Fold], likelihood: Likelihood) -> float:
    """By how much the logarithm of the squared error falls when members are averaged."""
    best = min(candidate.loss for candidate in kept)
    near = [candidate for candidate in kept if candidate.loss < best + NEAR]
    return float(np.mean([c.loss for c in near])) - _loss_of_average(near, folds, likelihood)


def _loss_of_average(
    kept: Sequence[Candidate], folds: Sequence[Fold], likelihood: Likelihood
) -> float:
    means = np.mean([candidate.means for candidate in kept], axis=0)
    variances = np.mean([candidate.variances for candidate in kept], axis=0)
    return held_out_loss(likelihood, means, folds, variances)


def _climbed(workshop: Workshop, effort: Effort, rank: int | None, smooth: bool) -> list[Candidate]:
    """Try ranks from small to large until two in a row do worse."""
    alone = workshop.first(workshop.kind(0, smooth), 0)
    workshop.likelihood = alone.descents[0].likelihood.settled()
    alone = replace(
        alone,
        loss=held_out_loss(workshop.likelihood, alone.means, workshop.folds, alone.variances),
    )
    tried = [alone]
    if workshop.observations.features:
        tried += [workshop.first(replace(alone.kind, features=each), 0) for each in LINKS]
        workshop.features = _best(tried).kind.features
    if rank is not None:
        return [*tried, workshop.first(workshop.kind(rank, smooth), 0)]
    n_alone = len(tried)
    for trainer in range(len(workshop.likelihood.trainers())):
        best, n_worse = _best(tried[:n_alone]).loss, 0
        for each in _ladder(workshop, effort):
            kind = replace(workshop.kind(each, smooth), trainer=trainer)
            tried.append(workshop.first(kind, 0))
            n_worse = 0 if tried[-1].loss < best - 2 * WORTH else n_worse + 1
            best = min(best, tried[-1].loss)
            if n_worse == 2 and each > 2:
                break
    return tried


def _ladder(workshop: Workshop, effort: Effort) -> list[int]:
    """Return the ranks that entries are enough for, and time."""
    n_entries, n_rows = len(workshop.observations), sum(workshop.observations.shape)
    most = min(NUMBERS_PER_ENTRY * n_entries / n_rows, (effort.multiplications / n_entries) ** 0.5)
    return [each for each in LADDER if each <= effort.max_rank and (each == 2 or each <= most)]


def _lengthened(workshop: Workshop, candidate: Candidate, n_rounds: int) -> Candidate:
    while candidate.n_rounds < n_rounds:
        longer = workshop.longer(candidate)
        if candidate.loss - longer.loss < 2 * WORTH:
            return longer if longer.loss < candidate.loss else candidate
        candidate = longer
    return candidate


def _best(tried: Sequence[Candidate]) -> Candidate:
    return min(tried, key=lambda candidate: candidate.loss)
