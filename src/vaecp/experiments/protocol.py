"""Which runs a comparison is made of: folds first, then what they choose, then the repeats.

Entries are split at random, 80 % to train and 20 % to test, ten times. Settings (the rank first
of all) are chosen by 5-fold cross-validation on the training entries of the first split, and
kept for the others, which bounds the cost. Test entries of the first split never enter a choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vaecp.errors import ObservationError
from vaecp.experiments.methods import method
from vaecp.experiments.results import Results
from vaecp.experiments.runs import BEST, CHOICE, PAPER, Run, fingerprint, settings_of
from vaecp.observations import Observations

Settings = tuple[tuple[str, Any], ...]
Choices = dict[str, dict[str, Settings]]
"""By comparison and method."""


@dataclass(frozen=True)
class Protocol:
    """How often, and from which seed."""

    repeats: int = 10
    folds: int = 5
    held_out: float = 0.2
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
    def data(self) -> str:
        return fingerprint(self.observations)

    @property
    def shares_fbcp_rank(self) -> bool:
        """Whether the comparison as in the paper can be made."""
        return "FBCP" in self.candidates


def candidates(
    methods: Sequence[str],
    ranks: Sequence[int],
    fixed: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, list[Settings]]:
    """Return every rank for every method, with settings that are `fixed` per method.

    Examples
    --------
    >>> candidates(["HOSVD"], [2, 3], {"HOSVD": {"max_iter": 9}})
    {'HOSVD': [(('max_iter', 9), ('rank', 2)), (('max_iter', 9), ('rank', 3))]}
    """
    if not ranks or min(ranks) < 1:
        raise ObservationError(f"ranks is {list(ranks)}: give integers from 1.")
    for name in methods:
        method(name)
    ordered = sorted(set(ranks))
    return {
        name: [settings_of(rank=rank, **(fixed or {}).get(name, {})) for rank in ordered]
        for name in methods
    }


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

    The candidate with the lowest mean RMSE over the folds wins, the earlier one (of smaller
    rank) in a tie. One that failed on a fold is out; a method that failed on all is left out.
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
        means = np.array([_mean_of_all(found, protocol.folds) for found in errors])
        if np.isfinite(means).any():
            best[name] = settings_list[int(np.argmin(means))]
    choices = {BEST: best}
    rank = shared_rank(case, protocol, results)
    if rank is not None:
        choices[PAPER] = {
            name: settings_of(**dict(case.candidates[name][0]) | {"rank": rank})
            if method(name).baseline and name != "FBCP"
            else settings
            for name, settings in best.items()
        } | {"FBCP": rank_finder(case, protocol).settings}
    return choices


def _mean_of_all(errors: list[float], n_folds: int) -> float:
    """Return the mean, or infinity where a fold is missing or failed."""
    complete = len(errors) == n_folds and np.isfinite(errors).all()
    return float(np.mean(errors)) if complete else float("inf")


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
        seed=protocol.seed,
    )
