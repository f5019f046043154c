"""Choosing settings: by the folds alone, and by no fold alone."""

from dataclasses import replace

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.models.registry import MethodError
from vaecp.study.experiments import (
    BEST,
    CHOICE,
    PAPER,
    Case,
    Protocol,
    Results,
    candidates,
    carry_out,
    choose,
    compare,
    execution,
    fold_runs,
    rank_finder,
    repeat_runs,
    runs,
)

PROTOCOL = Protocol(repeats=3, folds=2)


def choice_by(errors):
    """Choose between ranks whose errors on the folds are these."""
    full = Observations.from_array(np.ones((5, 4, 3)))
    case = Case("toy", full, candidates(["HOSVD"], list(errors)))
    protocol = Protocol(folds=len(next(iter(errors.values()))))
    results = Results()
    results.add(
        [
            execution.describe(run) | {"rmse": errors[run.rank][run.fold]}
            for run in fold_runs(case, protocol)
        ]
    )
    return choose(case, protocol, results)[BEST]


def test_one_fold_that_diverged_does_not_spoil_a_rank():
    chosen = choice_by({5: [1.9, 1.9, 2.0, 1.9, 2.0], 10: [1.2, 1.3, 1.2, 90.0, np.inf]})
    assert chosen["HOSVD"] == (("rank", 10),)


def test_a_rank_that_failed_on_a_fold_is_out_and_a_tie_goes_to_the_smaller_one():
    assert choice_by({5: [2.0, 2.0, 2.0], 9: [1.0, 1.0, np.nan]})["HOSVD"] == (("rank", 5),)
    assert choice_by({5: [2.0, 1.0, 3.0], 9: [2.0, 2.0, 2.0]})["HOSVD"] == (("rank", 5),)


def test_the_rank_with_the_lowest_error_over_the_folds_is_chosen(shifted, case_of, tensor):
    made = compare([case_of(tensor)], PROTOCOL, Results())
    assert made.choices["toy"][0][BEST]["Shifted"] == (("rank", 2),)


def test_every_split_may_choose_for_itself():
    full = Observations.from_array(np.ones((5, 4, 3)))
    case = Case("toy", full, candidates(["HOSVD"], [1, 2]))
    protocol = Protocol(repeats=3, folds=5, folds_per_repeat=1)
    better = {0: 1, 1: 2, 2: 1}  # by split
    results = Results()
    results.add(
        [
            execution.describe(run) | {"rmse": 1.0 if run.rank == better[run.repeat] else 2.0}
            for run in fold_runs(case, protocol)
        ]
    )
    assert len(results) == 3 * 2
    choices = [choose(case, protocol, results, repeat) for repeat in range(3)]
    made = {run.repeat: run.rank for run in repeat_runs(case, protocol, choices)}
    assert made == better


@pytest.mark.slow
def test_the_choice_does_not_see_the_test_entries(random):
    tensor = Observations.from_array(
        np.einsum("ir,jr,kr->ijk", *(random.normal(size=(n, 2)) for n in (8, 7, 6)))
    )
    case = Case("toy", tensor, candidates(["HOSVD", "FBCP"], [1, 2, 3]))
    repeat = repeat_runs(case, PROTOCOL, [{BEST: {"HOSVD": (("rank", 1),)}}])[0]
    _, test = runs.parts(repeat, case.tensor)
    flat = [np.ravel_multi_index(part.indices.T, tensor.shape) for part in (tensor, test)]
    values = np.where(np.isin(*flat), 1e6, tensor.values)
    poisoned = replace(case, observations=tensor.with_values(values))

    def outcome(case):
        results = Results()
        listed = [*fold_runs(case, PROTOCOL), rank_finder(case, PROTOCOL)]
        carry_out(listed, [case.tensor], results)
        folds = [run for run in listed if run.comparison == CHOICE]
        errors = [record["rmse"] for record in results.of(folds)]
        return choose(case, PROTOCOL, results), errors

    clean, dirty = outcome(case), outcome(poisoned)
    assert clean[0] == dirty[0]
    np.testing.assert_array_equal(clean[1], dirty[1])


def test_baselines_share_the_rank_that_fbcp_finds_as_in_the_paper(shifted, case_of, tensor):
    case = case_of(tensor, [1, 9], ["Shifted", "FBCP"])
    made = compare([case], PROTOCOL, Results(), comparisons=(PAPER, BEST))
    (chosen,) = made.choices["toy"]
    assert dict(chosen[PAPER]["Shifted"])["rank"] == 2
    assert dict(chosen[PAPER]["FBCP"])["rank"] == 9
    assert dict(chosen[BEST]["Shifted"])["rank"] == 1


@pytest.mark.parametrize(
    ("methods", "ranks", "error", "line"),
    [
        (["Magic"], [1], MethodError, "no method 'Magic': use one of VAECP"),
        (["HOSVD"], [], ObservationError, "give integers from 1"),
        (["HOSVD"], [0, 2], ObservationError, "give integers from 1"),
    ],
)
def test_what_cannot_be_tried_is_refused(methods, ranks, error, line):
    with pytest.raises(error, match=line):
        candidates(methods, ranks)


def test_too_few_folds_are_refused():
    with pytest.raises(ObservationError, match="folds is 1: use an integer from 2"):
        Protocol(folds=1)
