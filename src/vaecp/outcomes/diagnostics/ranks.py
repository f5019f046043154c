"""How many components: every rank judged by what chemometricians decide by, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from vaecp.data.checks import mode_named
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.models.cp.estimators import CPALS, NCP
from vaecp.outcomes.diagnostics.congruence import DEGENERATE, triple_cosines
from vaecp.outcomes.diagnostics.core import core_consistency
from vaecp.outcomes.diagnostics.residuals import explained_variation
from vaecp.outcomes.diagnostics.stability import (
    agreeing,
    mode_to_split,
    split_half,
    with_settings,
)
from vaecp.runtime.progress import steps, watched

CONSISTENT = 60.0
"""Core consistency, in per cent, from which a number of components is believed."""
ALIKE = 0.9
"""Congruence of the components of two halves from which they count as the same."""
MOSTLY = 0.5
"""Share of starts that must end alike."""

NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


@dataclass(frozen=True, eq=False)
class RankCheck:
    """What speaks for a number of components, and what against it.

    Attributes
    ----------
    rank : the number of components.
    factors : one matrix per mode, of the best start, in the units of `observations`.
    explained : variation, in per cent of the sum of squares.
    core_consistency : in per cent; NaN where the tensor is too large.
    split_half : the lowest congruence between two halves, the median over splits.
    n_alike, n_starts : how many of the starts found the same.
    cancelling : the lowest congruence of two components; near -1 they cancel each other.
    """

    rank: int
    factors: tuple[np.ndarray, ...]
    explained: float
    core_consistency: float
    split_half: float
    n_alike: int
    n_starts: int
    cancelling: float

    def objections(self) -> list[str]:
        """Return what speaks against this rank, in words."""
        found = []
        if self.core_consistency < CONSISTENT:
            found.append(f"the core consistency is {consistency_text(self.core_consistency)}")
        if self.cancelling < DEGENERATE:
            found.append(f"two components cancel each other (congruence {self.cancelling:.2f})")
        if self.n_alike < MOSTLY * self.n_starts:
            found.append(f"only {self.n_alike} of {self.n_starts} starts end alike")
        if self.split_half < ALIKE:
            found.append(f"the halves do not agree (congruence {self.split_half:.2f})")
        return found

    def support(self) -> str:
        """Return the same figures as reasons for this rank."""
        who = "it explains" if self.rank == 1 else "they explain"
        parts = [f"{who} {self.explained:.5g} % of the variation"]
        if np.isfinite(self.core_consistency):
            parts.append(f"the core consistency is {consistency_text(self.core_consistency)}")
        if np.isfinite(self.split_half):
            parts.append(f"the halves agree (congruence {self.split_half:.2f})")
        parts.append(f"{self.n_alike} of {self.n_starts} starts end alike")
        return f"{', '.join(parts[:-1])}, and {parts[-1]}"


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Several numbers of components for one tensor, each with what speaks for and against it."""

    observations: Observations
    checks: tuple[RankCheck, ...]
    split_mode: str

    @property
    def rank(self) -> int | None:
        """The largest rank that nothing speaks against, or None."""
        return max((each.rank for each in self.checks if not each.objections()), default=None)

    def __getitem__(self, rank: int) -> RankCheck:
        for check in self.checks:
            if check.rank == rank:
                return check
        tried = ", ".join(str(check.rank) for check in self.checks)
        raise ObservationError(f"rank {rank} was not tried: use one of {tried}.")

    def table(self) -> pd.DataFrame:
        """Return one row per rank."""
        return pd.DataFrame(
            {
                "rank": [check.rank for check in self.checks],
                "explained": [check.explained for check in self.checks],
                "core_consistency": [check.core_consistency for check in self.checks],
                "split_half": [check.split_half for check in self.checks],
                "starts_alike": [check.n_alike / check.n_starts for check in self.checks],
                "cancelling": [check.cancelling for check in self.checks],
            }
        )

    def verdict(self) -> str:
        """Say in words how many components the data support, and why."""
        if self.rank is None:
            first = self.checks[0]
            return (
                f"No number of components that was tried is supported. With {first.rank}, "
                f"{_listed(first.objections())}. PARAFAC may be the wrong model for these data."
            )
        best = self[self.rank]
        words = f"{_number(best.rank)} component{'s' if best.rank > 1 else ''}: {best.support()}."
        beyond = [check for check in self.checks if check.rank > best.rank]
        if not beyond:
            return f"{words} Nothing speaks against the largest rank that was tried: try more."
        after = beyond[0]
        return f"{words} With {_number(after.rank).lower()}, {_listed(after.objections())}."


def diagnose(
    observations: Observations,
    ranks: Sequence[int] = range(1, 9),
    *,
    model: CPALS | NCP | None = None,
    n_starts: int = 8,
    split: str | None = None,
    n_splits: int = 3,
    random_state: int = 0,
) -> Diagnosis:
    """Fit PARAFAC with several numbers of components, and say which of them the data support.

    Parameters
    ----------
    observations : three modes or more; gaps take no part in anything.
    ranks : the numbers of components that are tried.
    model : an unfitted CPALS or NCP, whose rank and starts are set; CPALS by default.
    n_starts : from how many starts each rank is fitted, to the end.
    split : the mode whose labels are split into halves; by default the first, or the largest
        where the first has fewer than ten labels.
    n_splits : how many splits; 0 leaves them out.
    random_state : seed of starts and splits.
    """
    if observations.n_modes < 3:
        raise ObservationError(
            f"the tensor has {observations.n_modes} modes: components of a matrix are not unique, "
            "so their number is a question of prediction. Use vaecp rank, or three modes or more."
        )
    if not ranks or not all(_is_from(1, rank) for rank in ranks):
        raise ObservationError(f"ranks is {list(ranks)}: give integers from 1.")
    for name, number, least in (("n_starts", n_starts, 1), ("n_splits", n_splits, 0)):
        if not _is_from(least, number):
            raise ObservationError(f"{name} is {number!r:.60}: give an integer from {least}.")
    mode = _split_mode(observations, split)
    template = model or CPALS(tol=1e-6, max_iter=1000)
    template = with_settings(template, n_starts=n_starts, random_state=random_state)
    checks = []
    ordered = sorted(set(ranks))
    for place in steps(len(ordered), "ranks"):
        with watched(lambda *_: None):  # sweeps would drown the count of ranks
            candidate = with_settings(template, rank=ordered[place])
            checks.append(_check(candidate, observations, mode, n_splits, random_state))
    return Diagnosis(observations, tuple(checks), observations.mode_names[mode])


def _is_from(least: int, number: Any) -> bool:
    return isinstance(number, Integral) and int(number) >= least


def _check(
    model: CPALS | NCP, observations: Observations, mode: int, n_splits: int, random_state: int
) -> RankCheck:
    scaling, scaled, _ = model._prepared(observations)
    ends = model.every_start(observations)
    factors = ends[0].factors
    splits = split_half(model, observations, mode, n_splits, random_state) if n_splits else []
    unit = scaling.scale ** (1 / len(factors)) if scaling.uniform else 1.0
    between = triple_cosines(factors)[np.triu_indices(model.rank, k=1)]
    return RankCheck(
        model.rank,
        tuple(unit * rows for rows in factors),
        explained_variation(scaled, factors),
        core_consistency(scaled, factors),
        float(np.median([split.worst for split in splits])) if splits else float("nan"),
        agreeing(ends),
        len(ends),
        float(between.min()) if len(between) else 1.0,
    )


def consistency_text(value: float) -> str:
    """Return a core consistency as people read it: far below zero it has no meaning."""
    if np.isnan(value):
        return "unknown"
    return f"{value:.1f} %" if value > -100 else "below -100 %"


def _split_mode(observations: Observations, split: str | None) -> int:
    if split is None:
        return mode_to_split(observations)
    return mode_named(split, observations.mode_names)


def _number(rank: int) -> str:
    return NUMBERS[rank] if rank < len(NUMBERS) else str(rank)


def _listed(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts) or "nothing speaks against it"
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
