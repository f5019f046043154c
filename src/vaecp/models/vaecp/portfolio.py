"""Which kinds of members there are, how long they train, and how many: held-out entries decide."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from vaecp.models.vaecp.effort import Effort
from vaecp.models.vaecp.held_out import HeldOut
from vaecp.models.vaecp.likelihoods import Likelihood
from vaecp.models.vaecp.pair_search import with_pairs
from vaecp.models.vaecp.sweeps.descent import Kind
from vaecp.models.vaecp.workshop import WORTH, Candidate, Workshop

LADDER = (2, 4, 8, 16, 32, 64, 128)
EAGERS = (0.2, 0.5, 0.05, 0.0)
"""Shares of `Kind.eager`: the first one climbs the ladder, the others are tried at its best rank."""

PATIENT_RANKS, PATIENT_EAGER, POOR = (8, 4, 16), 0.5, 2.0
"""Tried where held-out losses are so many times those of entries that were learned from. Wider ranks than
needed find their way more often."""

COUNTS = (1.0, 0.3, 0.1, 0.03)
"""Values of `Kind.counts`; the first and the third climb where gaps lie together in ordered modes."""
TOGETHER = 0.3
"""Share of held-out importance that must lie in units of several entries for that."""

LINKS = ("linear", "network")
NEAR = 0.1
"""Kinds whose squared error is larger by less than this share are worth averaging."""
MOST_DOUBT = 0.5
"""Kinds that are worse by more than this are left out, however few held-out entries say so."""

NUMBERS_PER_ENTRY = 3.0
FEW = 8_000
"""Of fewer values that are no real numbers, held-out ones tell members apart badly: keep more."""

CLIMBING, MOVING, PAIRING, LENGTHENING = 0.6, 0.65, 0.75, 0.85
"""Shares of the budget after which no larger ranks, other kinds, pairs, longer ones are tried."""

SEARCHING_OF = 0.7
"""Share of the seconds that are asked for: members then learn from all entries, and are judged."""

LEAST_MEMBERS = 5
"""So many are averaged where held-out entries are too few to show what that gains."""

CHEAP, MOST_SEEDS = 0.03, 2
"""A kind is judged by as many seeds as find room in this share of the budget: starts differ."""


@dataclass(frozen=True, eq=False)
class Team:
    """Members of one kind that differ by their seeds, judged by their average."""

    kind: Kind
    members: tuple[Candidate, ...]
    loss: float


def choose_members(
    workshop: Workshop, effort: Effort, rank: int | None, n_members: int | None
) -> list[Candidate]:
    """Search for the best kinds, lengthen what gains by it, and add seeds while they help."""
    few = not workshop.likelihood.has_residuals and len(workshop.observations) < FEW
    n_wanted = n_members or effort.n_members
    if not workshop.folds:
        smooth = any(chain is not None for chain in workshop.chains)
        features = LINKS[0] if workshop.observations.features else ""
        kind = Kind(rank if rank is not None else 2, smooth, features=features)
        return [Candidate(kind, n, (), np.empty(0), np.empty(0), 0.0) for n in range(n_wanted)]
    search = Search(workshop, effort, rank)
    search.climb()
    search.be_patient()
    search.move_around()
    search.pair_up()
    best = search.lengthened(search.best)
    others = sorted((t for t in search.teams if t.kind != best.kind), key=lambda team: team.loss)
    near = _of_other_ranks([team for team in others if search.may_be_as_good(team, best)], best)
    near = near[: max(1, n_wanted // (2 if few else 3))]
    chosen = search.with_seeds([best, *near], n_wanted, few or n_members is not None)
    alone = [t.members[0] for t in others if t.kind.rank == 0 and t.members[0] not in chosen][:1]
    return chosen if n_members is not None else [*chosen, *alone]


def _change(before: Kind, after: Kind) -> tuple[str, Any]:
    """Return the name and the new value of what sets one kind apart from another."""
    names = (each.name for each in fields(Kind))
    name = next(name for name in names if getattr(before, name) != getattr(after, name))
    return name, getattr(after, name)


def _of_other_ranks(teams: Sequence[Team], best: Team) -> list[Team]:
    """Put the best team of every other rank first: they err more differently than other starts."""
    first = {team.kind.rank: team for team in reversed(teams) if team.kind.rank != best.kind.rank}
    leading = sorted(first.values(), key=lambda team: team.loss)
    return leading + [team for team in teams if team not in leading]


class Search:
    """Teams that were tried so far, and what may still be spent."""

    def __init__(self, workshop: Workshop, effort: Effort, rank: int | None = None) -> None:
        self.workshop, self.effort, self.rank = workshop, effort, rank
        self.teams: list[Team] = []
        self.budget = effort.budget(len(workshop.observations))
        self.begun = time.monotonic()
        self.ends = None if effort.seconds is None else self.begun + SEARCHING_OF * effort.seconds
        chained = any(chain is not None for chain in workshop.chains)
        together = chained and workshop.held_out.together > TOGETHER
        self.climbing_counts = COUNTS[:3:2] if together else COUNTS[:1]
        workshop.keeps_starts = len(self.climbing_counts) > 1

    @property
    def best(self) -> Team:
        """The narrowest kind that is about as good as the best: wide ones cost many times more.

        Of kinds of the rank that was asked for, if one was.
        """
        asked = [team for team in self.teams if team.kind.rank == self.rank] or self.teams
        lowest = min(team.loss for team in asked)
        good = [team for team in asked if team.loss <= lowest + 2 * WORTH] or asked
        return min(good, key=lambda team: (team.kind.rank, team.loss))

    def climb(self) -> None:
        """Try row effects alone, then ranks from small to large until some in a row do worse."""
        workshop = self.workshop
        smooth = any(chain is not None for chain in workshop.chains)
        (alone,) = workshop.first((Kind(0, smooth, EAGERS[0]), 0))
        workshop.likelihood = alone.descents[0].likelihood.settled()
        loss = workshop.held_out.loss(workshop.likelihood, alone.means, alone.variances)
        self.teams.append(self._team([replace(alone, loss=loss)]))
        if workshop.observations.features:
            for link in LINKS:
                self.tried(replace(alone.kind, features=link))
        first = replace(alone.kind, features=self.best.kind.features)
        if self.rank is not None:
            for counts in self.climbing_counts:
                self.tried(replace(first, rank=self.rank, counts=counts))
            return
        start = self.best.loss
        for trainer in range(len(workshop.likelihood.trainers())):
            self._climb_from(replace(first, trainer=trainer), start)

    def _climb_from(self, first: Kind, best: float) -> None:
        # Of units that lie together there are few, and one rank is soon worse by chance.
        n_worse, patience = 0, 1 + len(self.climbing_counts)
        for each in LADDER:
            kind = replace(first, rank=each)
            if each > 2 and not (self.allows(kind) and self.affords_kind(kind, CLIMBING)):
                break
            team = min(
                (self.tried(replace(kind, counts=counts)) for counts in self.climbing_counts),
                key=lambda team: team.loss,
            )
            n_worse = 0 if team.loss < best - 2 * WORTH else n_worse + 1
            best = min(best, team.loss)
            if n_worse == patience and each > 2:
                break

    def be_patient(self) -> None:
        """Try patient members where the best one may stand in a place that fits its own entries alone.

        Smooth rows find their way by themselves.
        """
        best, workshop = self.best, self.workshop
        if any(chain is not None for chain in workshop.chains):
            return
        if best.kind.rank and self._held_out_loss(best) < POOR * _fitted_loss(best):
            return
        for rank in PATIENT_RANKS if self.rank is None else (self.rank,):
            kind = replace(best.kind, rank=rank, eager=PATIENT_EAGER, patient=True)
            if self.allows(kind) and self.affords_kind(kind, CLIMBING):
                self.tried(kind)

    def _held_out_loss(self, team: Team) -> float:
        held_out = self.workshop.held_out
        losses = self.workshop.likelihood.losses(held_out.values, *average(team.members))
        return float(np.average(losses, weights=held_out.importance))

    def move_around(self) -> None:
        """Try kinds that differ in one thing from the best, until none of them is better."""
        useless: set[tuple[str, Any]] = set()
        for _ in range(self.effort.n_rounds):
            centre = self.best
            for kind in self.neighbours(centre.kind):
                change = _change(centre.kind, kind)
                if change in useless or not self.affords_kind(kind, MOVING):
                    continue
                if self.tried(kind).loss > centre.loss + MOST_DOUBT:
                    useless.add(change)  # beside the next centre, too
            if self.best.loss > centre.loss - 2 * WORTH:
                return

    def neighbours(self, kind: Kind) -> Iterator[Kind]:
        """Yield kinds that were not tried yet."""
        found = [replace(kind, eager=eager) for eager in EAGERS] if kind.rank else []
        if kind.smooth:
            found.insert(1, replace(kind, smooth=False))
        if kind.rank and len(self.climbing_counts) > 1:
            place = COUNTS.index(kind.counts)
            nearby = {COUNTS[max(place - 1, 0)], COUNTS[min(place + 1, len(COUNTS) - 1)]}
            found[1:1] = [replace(kind, counts=counts) for counts in sorted(nearby)]
        if self.workshop.observations.features:
            found += [replace(kind, features=link) for link in ("", *LINKS)]
        if kind.rank and len(self.workshop.observations.shape) - len(kind.flat) > 2:
            modes = range(len(self.workshop.observations.shape))
            flat = (tuple(sorted({*kind.flat, mode})) for mode in modes)
            found += [replace(kind, flat=each) for each in flat]
        if self.rank is None and kind.rank:
            found += [replace(kind, rank=each) for each in (kind.rank // 2, 2 * kind.rank)]
        known = {team.kind for team in self.teams}
        for each in found:
            if each not in known and (each.rank == kind.rank or self.allows(each)):
                yield each

    def lengthened(self, team: Team) -> Team:
        """Train on, as long as that gains."""
        while team.members[0].n_rounds < self.effort.n_rounds:
            if not self.affords(2 * sum(map(self.workshop.took, team.members)), LENGTHENING):
                return team
            longer = self._team(self.workshop.longer(*team.members))
            if team.loss - longer.loss < 2 * WORTH:
                return longer if longer.loss < team.loss else team
            team = longer
        return team

    def pair_up(self) -> None:
        """Try effects of pairs of rows beside the best kind."""
        if not self.effort.n_rounds:
            return
        affords = partial(self.affords_kind, share=PAIRING)
        for found in with_pairs(self.workshop, self.best.members[0], 4 * WORTH, affords):
            self.teams.append(self._team([found]))

    def with_seeds(self, good: list[Team], n_wanted: int, exactly: bool) -> list[Candidate]:
        """Add seeds of the good kinds in turn, while the average of all gains by it."""
        members = [sorted(team.members, key=lambda member: member.loss) for team in good]
        kept = [member for each in members for member in each][:n_wanted]
        # Rank 0 needs no seeds, and a wider kind than the best is not worth more of them, unless no other
        # is there to make up a number that is asked for.
        sources = [team for team in good if team.kind.rank]
        narrow = [team for team in sources if team.kind.rank <= good[0].kind.rank]
        sources = narrow if narrow or not exactly else sources
        seed = max(member.seed for team in good for member in team.members)
        while len(kept) < n_wanted and sources:
            seed += 1
            before, cost, wanted = list(kept), 0.0, list[Candidate]()
            for source in sources[: n_wanted - len(kept)]:
                like = source.members[0]
                price = self.workshop.took(like)
                if (exactly and self.ends is None) or self.affords(cost + price, 1.0):
                    cost += price
                    wanted.append(replace(like, seed=seed))
            kept += self._trained(wanted)
            if len(kept) == len(before) or not (exactly or self._gained(before, kept)):
                break
            if self.ends is not None and time.monotonic() > self.ends:
                break
        return kept

    def tried(self, kind: Kind) -> Team:
        """Train a team of this kind; seeds that ended in a poor place are no part of it."""
        room = CHEAP * self.budget / self.workshop.cost(kind)
        n_seeds = int(np.clip(room, 1, MOST_SEEDS)) if kind.rank else 1
        found = self.workshop.first(*((kind, seed) for seed in range(n_seeds)))
        best = min(member.loss for member in found)
        team = self._team([member for member in found if member.loss < best + NEAR])
        self.teams.append(team)
        return team

    def allows(self, kind: Kind) -> bool:
        """Whether a rank may be tried at all."""
        enough = self.numbers_per_entry(kind.rank) <= NUMBERS_PER_ENTRY
        return 2 <= kind.rank <= self.effort.max_rank and (enough or kind.rank == 2)

    def numbers_per_entry(self, rank: int) -> float:
        """Return how many numbers a rank has to learn, per entry."""
        return rank * sum(self.workshop.observations.shape) / len(self.workshop.observations)

    def affords_kind(self, kind: Kind, share: float) -> bool:
        return self.affords(self.workshop.cost(kind), share)

    def affords(self, cost: float, share: float) -> bool:
        """Whether so many multiplications fit into this share of what may be spent."""
        spent, now = self.workshop.spent, time.monotonic()
        if self.ends is not None:
            return now + (cost * (now - self.begun) / spent if spent else 0.0) < self.ends
        return spent + cost <= share * self.budget

    def _trained(self, wanted: Sequence[Candidate]) -> list[Candidate]:
        """Train members of such kinds and seeds, for as many rounds."""
        found = self.workshop.first(*((each.kind, each.seed) for each in wanted))
        for n_rounds in range(1, max((each.n_rounds for each in wanted), default=0)):
            behind = [n for n, each in enumerate(wanted) if each.n_rounds > n_rounds]
            longer = self.workshop.longer(*(found[n] for n in behind))
            for n, each in zip(behind, longer, strict=True):
                found[n] = each
        return found

    def _team(self, members: Sequence[Candidate]) -> Team:
        loss = members[0].loss if len(members) == 1 else self._loss(members)
        return Team(members[0].kind, tuple(members), loss)

    def _loss(self, members: Sequence[Candidate]) -> float:
        return self.workshop.held_out.loss(self.workshop.likelihood, *average(members))

    def _gained(self, before: list[Candidate], after: list[Candidate]) -> bool:
        """Whether further members help; where held-out entries cannot tell, a few are taken on trust."""
        workshop = self.workshop
        doubt = workshop.held_out.doubt(workshop.likelihood, average(before), average(after))
        if len(after) < LEAST_MEMBERS and doubt > 2 * WORTH:
            return True
        return self._loss(before) - self._loss(after) >= 2 * WORTH

    def may_be_as_good(self, team: Team, best: Team) -> bool:
        """Whether a kind is near the best one, or held-out entries cannot tell that it is not."""
        doubt = self.workshop.held_out.doubt(
            self.workshop.likelihood, average(team.members), average(best.members)
        )
        return team.loss < best.loss + max(NEAR, min(doubt, MOST_DOUBT))


def _fitted_loss(team: Team) -> float:
    """Return the loss of the entries that were learned from."""
    found = [each.history[-1][1] for member in team.members for each in member.descents]
    return float(np.mean(found))


def average_gain(kept: Sequence[Candidate], held_out: HeldOut, likelihood: Likelihood) -> float:
    """By how much the logarithm of the squared error falls when members are averaged.

    Where one is alone, nothing says that others would not help.
    """
    best = min(candidate.loss for candidate in kept)
    near = [candidate for candidate in kept if candidate.loss < best + NEAR]
    if len(near) == 1:
        return np.inf
    together = held_out.loss(likelihood, *average(near))
    return float(np.mean([c.loss for c in near])) - together


def average(kept: Sequence[Candidate]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the held-out means of members, and of their variances."""
    means = np.mean([candidate.means for candidate in kept], axis=0)
    return means, np.mean([candidate.variances for candidate in kept], axis=0)
