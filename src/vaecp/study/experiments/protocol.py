"""Which runs a comparison is made of: folds first, then what they choose, then the repeats.

Cells are split at random, 80 % to train and 20 % to test, ten times. Settings (the rank first
of all) are chosen by cross-validation on training entries, in one of two ways. Anew on every split,
by one or more of five folds of its training entries: then no test entry enters the choice that it
is scored under. Or once, by all folds of the first split, and kept for the others: test entries of
the first split never enter a choice; those of the others do, because most of them are training
entries of the first. Larger ranks may be left out when two in a row did not help (`patience`), by
the same rule for all methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.study.experiments.ladders import Settings, ladders, n_rungs
from vaecp.study.experiments.results import Results
from vaecp.study.experiments.runs import BEST, CHOICE, PAPER, SCATTERED, Run, Tensor, settings_of
from vaecp.study.rivals import find

Choices = dict[str, dict[str, Settings]]
"""By comparison and method."""


@dataclass(frozen=True)
class Protocol:
    """How often, what is hidden, and from which seed.

    Attributes
    ----------
    gaps : how hidden entries lie, as `vaecp.data.gaps.GapPattern.parse` reads it.
    folds_per_repeat : on how many of its folds every split chooses anew; None chooses on all folds
        of the first split, for all.
    patience : larger ranks of a method are not tried after so many in a row without a lower error;
        None tries all.
    """

    repeats: int = 10
    folds: int = 5
    folds_per_repeat: int | None = None
    patience: int | None = None
    held_out: float = 0.2
    gaps: str = SCATTERED
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("repeats", 1), ("folds", 2)):
            if not isinstance(getattr(self, name), Integral) or getattr(self, name) < least:
                raise ObservationError(
                    f"{name} is {getattr(self, name)!r}: use an integer from {least}."
                )

    @property
    def used_folds(self) -> int:
        """How many of the folds of such a split choose."""
        return self.folds if self.folds_per_repeat is None else self.folds_per_repeat

    def chosen_on(self, repeat: int) -> int:
        """Return the split whose choice serves a split."""
        return 0 if self.folds_per_repeat is None else repeat


@dataclass(frozen=True, eq=False)
class Case:
    """A tensor, and the settings that each method may choose from on it.

    Attributes
    ----------
    most_repeats : at most so many of the protocol's splits are made, where a fit takes long.
    """

    name: str
    observations: Observations
    candidates: Mapping[str, Sequence[Settings]]
    most_repeats: int | None = None

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

    def splits(self, protocol: Protocol) -> range:
        """Return the splits that are reported."""
        return range(min(protocol.repeats, self.most_repeats or protocol.repeats))

    def choosing(self, protocol: Protocol) -> range:
        """Return the splits on which settings are chosen."""
        return range(1) if protocol.folds_per_repeat is None else self.splits(protocol)


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
    if not ranks or not all(isinstance(rank, Integral) and rank >= 1 for rank in ranks):
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
    """List the runs that choose: every candidate on folds of the training parts that choose.

    A method with one candidate has nothing to choose; `always` runs it all the same.
    """
    return [
        run
        for name, settings_list in case.candidates.items()
        if always or len(settings_list) > 1
        for settings in settings_list
        for repeat in case.choosing(protocol)
        for run in _folds(case, protocol, name, settings, repeat)
    ]


def next_fold_runs(case: Case, protocol: Protocol, results: Results) -> list[Run]:
    """List the runs that choose, as far as it is known that they will be needed.

    What larger ranks are tried depends on what smaller ones came to: when these are made, there may
    be more.
    """
    return [
        run
        for name, settings_list in case.candidates.items()
        if len(settings_list) > 1
        for repeat in case.choosing(protocol)
        for settings in _tried(case, protocol, results, name, repeat)
        for run in _folds(case, protocol, name, settings, repeat)
    ]


def _folds(
    case: Case, protocol: Protocol, method: str, settings: Settings, repeat: int
) -> list[Run]:
    first = replace(
        _template(case, protocol),
        method=method,
        settings=settings,
        comparison=CHOICE,
        repeat=repeat,
        n_folds=protocol.folds,
    )
    return [replace(first, fold=fold) for fold in range(protocol.used_folds)]


def _tried(
    case: Case, protocol: Protocol, results: Results, method: str, repeat: int
) -> dict[Settings, float | None]:
    """Return the settings that a split chooses from, with their errors; None where not yet made.

    In the order of the candidates: the median over the folds, infinity where one failed.
    """
    found: dict[Settings, float | None] = {}
    for ladder in ladders(case.candidates[method]):
        errors = [_error(_folds(case, protocol, method, rung, repeat), results) for rung in ladder]
        n_tried = n_rungs(errors, protocol.patience)
        found |= dict(zip(ladder[:n_tried], errors[:n_tried], strict=True))
    return {each: found[each] for each in case.candidates[method] if each in found}


def _error(runs: Sequence[Run], results: Results) -> float | None:
    if not all(results.has_made(run) for run in runs):
        return None
    error = float(np.median([results[run]["rmse"] for run in runs]))  # NaN if one is
    return float("inf") if np.isnan(error) else error


def choose(case: Case, protocol: Protocol, results: Results, repeat: int = 0) -> Choices:
    """Return the settings of every method in every comparison on a split, from the folds alone.

    The candidate with the lowest median RMSE over the folds wins, the earlier one (of smaller
    rank) in a tie: one fold on which a fit diverged decides nothing. A candidate that failed on a
    fold is out; a method that failed on all is left out.
    """
    on = protocol.chosen_on(repeat)
    best: dict[str, Settings] = {}
    for name, settings_list in case.candidates.items():
        if len(settings_list) == 1:
            best[name] = settings_list[0]
            continue
        errors = _tried(case, protocol, results, name, on)
        measured = {each: error for each, error in errors.items() if error is not None}
        lowest = min(measured, key=measured.__getitem__, default=None)
        if lowest is not None and np.isfinite(measured[lowest]):
            best[name] = lowest
    choices = {BEST: best}
    rank = shared_rank(case, protocol, results, on)
    if rank is not None:
        choices[PAPER] = {
            name: settings_of(**dict(case.candidates[name][0]) | {"rank": rank})
            if find(name).baseline and find(name).takes_rank and name != "FBCP"
            else settings
            for name, settings in best.items()
        } | {"FBCP": rank_finder(case, protocol, on).settings}
    return choices


def shared_rank(case: Case, protocol: Protocol, results: Results, repeat: int = 0) -> int | None:
    """Return the rank that FBCP found on the training part of a split, or None."""
    if not case.shares_fbcp_rank:
        return None
    finder = rank_finder(case, protocol, repeat)
    return results[finder]["rank_found"] if finder in results else None


def repeat_runs(case: Case, protocol: Protocol, choices: Sequence[Choices]) -> list[Run]:
    """List the runs that are reported: every method on every split, with what was chosen for it."""
    template = _template(case, protocol)
    return [
        replace(template, method=name, settings=settings, comparison=comparison, repeat=repeat)
        for repeat in case.splits(protocol)
        for comparison, chosen in choices[protocol.chosen_on(repeat)].items()
        for name, settings in chosen.items()
    ]


def rank_finder(case: Case, protocol: Protocol, repeat: int = 0) -> Run:
    """Return the run that finds the rank which the baselines share in the comparison as in the paper.

    FBCP from the largest rank, which it prunes, on the training part of a split.
    """
    largest = max(case.candidates["FBCP"], key=lambda settings: dict(settings)["rank"])
    return replace(
        _template(case, protocol),
        method="FBCP",
        settings=largest,
        comparison=PAPER,
        repeat=repeat,
    )


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
