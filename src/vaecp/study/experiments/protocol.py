"""Which runs a comparison is made of: folds first, then what they choose, then the repeats.

Cells are split at random, 80 % to train and 20 % to test, ten times. Settings (the rank first
of all) are chosen by 5-fold cross-validation on the training entries of the first split, and
kept for the others, which bounds the cost. Test entries of the first split never enter a choice;
those of the other splits do, because most of them are training entries of the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.study.experiments.results import Results
from vaecp.study.experiments.runs import BEST, CHOICE, PAPER, SCATTERED, Run, Tensor, settings_of
from vaecp.study.rivals import find

Settings = tuple[tuple[str, Any], ...]
Choices = dict[str, dict[str, Settings]]
"""By comparison and method."""


@dataclass(frozen=True)
class Protocol:
    """How often, what is hidden, and from which seed.

    Attributes
    ----------
    gaps : how hidden entries lie, as `vaecp.data.gaps.GapPattern.parse` reads it.
    """

    repeats: int = 10
    folds: int = 5
    held_out: float = 0.2
    gaps: str = SCATTERED
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("repeats", 1), ("folds", 2)):
            if getattr(self, name) < least:
                raise ObservationError(
                    f"{name} is {getattr(self, name)}: use an integer from {least}."
                )


@dataclass(frozen=True, eq=False)
class Case:
    """A tensor, and the settings that each method may choose from on it."""

    name: str
    observations: Observations
    candidates: Mapping[str, Sequence[Settings]]

    @cached_property
    def tensor(self) -> Tensor:
        return Tensor(self.observations)

    @property
    def data(self) -> str:
        return self.tensor.fingerprint

    @property
    def shares_fbcp_rank(self) -> bool:
        """Whether the comparison as in the paper can be made."""
        return "FBCP" in self.candidates


def candidates(
    methods: Sequence[str],
    ranks: Sequence[int],
    fixed: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    own_rank: bool = False,
) -> dict[str, list[Settings]]:
    """Return every rank for every method that takes one, with settings `fixed` per method.

    With `own_rank`, methods that choose a rank by themselves are left to it.

    Examples
    --------
    >>> candidates(["HOSVD"], [2, 3], {"HOSVD": {"max_iter": 9}})
    {'HOSVD': [(('max_iter', 9), ('rank', 2)), (('max_iter', 9), ('rank', 3))]}
    """
    if not ranks or min(ranks) < 1:
        raise ObservationError(f"ranks is {list(ranks)}: give integers from 1.")
    ordered = [{"rank": rank} for rank in sorted(set(ranks))]
    return {
        name: [
            settings_of(**rank, **(fixed or {}).get(name, {}))
            for rank in ([{}] if _is_free(name, own_rank) else ordered)
        ]
        for name in methods
    }


def _is_free(name: str, own_rank: bool) -> bool:
    method = find(name)
    return not method.takes_rank or (own_rank and method.chooses_rank)


def fold_runs(case: Case, protocol: Protocol, *, always: bool = False) -> list[Run]:
    """List the runs that choose: every candidate on every fold of the first training part.

    A method with one candidate has nothing to choose; `always` runs it all the same.
    """
    template = _template(case, protocol)
    return [
        replace(
            template,
            method=name,
            settings=settings,
            comparison=CHOICE,
            fold=fold,
            n_folds=protocol.folds,
        )
        for name, settings_list in case.candidates.items()
        if always or len(settings_list) > 1
        for settings in settings_list
        for fold in range(protocol.folds)
    ]


def choose(case: Case, protocol: Protocol, results: Results) -> Choices:
    """Return the settings of every method in every comparison, from the folds alone.

    The candidate with the lowest median RMSE over the folds wins, the earlier one (of smaller
    rank) in a tie: one fold on which a fit diverged decides nothing. A candidate that failed on a
    fold is out; a method that failed on all is left out.
    """
    runs = fold_runs(case, protocol)
    best: dict[str, Settings] = {}
    for name, settings_list in case.candidates.items():
        if len(settings_list) == 1:
            best[name] = settings_list[0]
            continue
        errors = [
            [
                record["rmse"]
                for record in results.of(
                    run
                    for run in runs
                    if (run.method, run.settings, run.comparison) == (name, settings, CHOICE)
                )
            ]
            for settings in settings_list
        ]
        medians = np.array([_median_of_all(found, protocol.folds) for found in errors])
        if np.isfinite(medians).any():
            best[name] = settings_list[int(np.argmin(medians))]
    choices = {BEST: best}
    rank = shared_rank(case, protocol, results)
    if rank is not None:
        choices[PAPER] = {
            name: settings_of(**dict(case.candidates[name][0]) | {"rank": rank})
            if find(name).baseline and find(name).takes_rank and name != "FBCP"
            else settings
            for name, settings in best.items()
        } | {"FBCP": rank_finder(case, protocol).settings}
    return choices


def _median_of_all(errors: list[float], n_folds: int) -> float:
    """Return the median, or infinity where a fold is missing or failed."""
    complete = len(errors) == n_folds and not np.isnan(errors).any()
    return float(np.median(errors)) if complete else float("inf")


def shared_rank(case: Case, protocol: Protocol, results: Results) -> int | None:
    """Return the rank that FBCP found on the first training part, or None."""
    if not case.shares_fbcp_rank:
        return None
    finder = rank_finder(case, protocol)
    return results[finder]["rank_found"] if finder in results else None


def repeat_runs(case: Case, protocol: Protocol, choices: Choices) -> list[Run]:
    """List the runs that are reported: every method on every split."""
    template = _template(case, protocol)
    return [
        replace(template, method=name, settings=settings, comparison=comparison, repeat=repeat)
        for comparison, chosen in choices.items()
        for name, settings in chosen.items()
        for repeat in range(protocol.repeats)
    ]


def rank_finder(case: Case, protocol: Protocol) -> Run:
    """Return the run that finds the rank which the baselines share in the comparison as in the paper.

    FBCP from the largest rank, which it prunes, on the training part of the first split.
    """
    largest = max(case.candidates["FBCP"], key=lambda settings: dict(settings)["rank"])
    return replace(_template(case, protocol), method="FBCP", settings=largest, comparison=PAPER)


def _template(case: Case, protocol: Protocol) -> Run:
    return Run(
        dataset=case.name,
        data=case.data,
        method="",
        settings=(),
        comparison="",
        held_out=protocol.held_out,
        gaps=protocol.gaps,
        seed=protocol.seed,
    )
