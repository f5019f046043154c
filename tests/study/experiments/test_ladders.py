"""Larger ranks are tried as long as they help, and by the same rule whatever the order of the runs."""

from dataclasses import replace

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.study.experiments import (
    BEST,
    Case,
    Protocol,
    Results,
    choose,
    compare,
    execution,
    settings_of,
)
from vaecp.study.experiments.ladders import ladders, n_rungs
from vaecp.study.experiments.protocol import next_fold_runs

RANKS = (1, 2, 3, 4, 5, 6, 7)
PROTOCOL = Protocol(repeats=2, folds=5, folds_per_repeat=1, patience=2)


def case_with(*others):
    """A tensor on which HOSVD has every rank, with each of these settings beside."""
    candidates = [settings_of(rank=rank, **other) for other in others or ({},) for rank in RANKS]
    return Case("toy", Observations.from_array(np.ones((5, 4, 3))), {"HOSVD": candidates})


def climb(case, error_of, protocol=PROTOCOL):
    """Make what comes next until nothing does, with these errors; the runs in the order they were made."""
    results, made = Results(), []
    while more := [run for run in next_fold_runs(case, protocol, results) if run not in results]:
        made += more
        results.add([execution.describe(run) | {"rmse": error_of(run)} for run in more])
    return results, made


@pytest.mark.parametrize(
    ("errors", "tried"),
    [
        ([5, 4, 3, 2, 1, 0.5, 0.4], 7),  # the largest is the best
        ([5, 4, 3, 3.1, 3.2, 1, 0], 5),  # two in a row do not help
        ([5, 4, 4.1, 3, 3.1, 2, 1], 7),  # one worse rank ends nothing
        ([5, 4, 4, 4, 1, 1, 1], 4),  # as good is not better
        ([1, 2, 3, 4, 5, 6, 7], 3),
        ([np.nan, np.nan, 1, 2, 3, 4, 5], 2),  # fits that fail do not help either
    ],
)
def test_a_ladder_ends_after_two_ranks_in_a_row_that_do_not_help(errors, tried):
    results, made = climb(case_with(), lambda run: errors[run.rank - 1])
    assert {run.rank for run in made if run.repeat == 0} == set(RANKS[:tried])
    assert len(made) == len(set(made)) == len(results)


def test_no_run_is_made_that_the_rule_would_leave_out():
    """Step by step, one run at a time, the rule comes to the same ranks."""
    random = np.random.default_rng(0)
    for _ in range(50):
        errors = random.normal(size=len(RANKS)).round(1)
        _, made = climb(case_with(), lambda run, errors=errors: errors[run.rank - 1])
        best, quiet, expected = np.inf, 0, []
        for rank, error in zip(RANKS, errors, strict=True):
            if quiet == PROTOCOL.patience:
                break
            expected.append(rank)
            quiet = 0 if error < best else quiet + 1
            best = min(best, error)
        assert sorted({run.rank for run in made}) == expected


def test_every_split_and_every_setting_beside_the_rank_has_a_ladder_of_its_own():
    def error(run):
        ridge = dict(run.settings).get("ridge", 0.0)
        return abs(run.rank - (2 + 3 * run.repeat)) + (0.5 if ridge else 0.0)

    _, made = climb(case_with({}, {"ridge": 0.1}), error)
    tried = {
        (run.repeat, dict(run.settings).get("ridge")): max(
            other.rank
            for other in made
            if other.repeat == run.repeat
            and dict(other.settings).get("ridge") == dict(run.settings).get("ridge")
        )
        for run in made
    }
    assert tried == {(0, None): 4, (0, 0.1): 4, (1, None): 7, (1, 0.1): 7}


def test_a_rank_beyond_the_end_of_a_ladder_is_not_chosen_though_it_was_made():
    case, errors = case_with(), [5, 4, 3, 3.1, 3.2, 1, 0]
    results, _ = climb(case, lambda run: errors[run.rank - 1], replace(PROTOCOL, patience=None))
    assert choose(case, PROTOCOL, results)[BEST]["HOSVD"] == (("rank", 3),)
    assert choose(case, replace(PROTOCOL, patience=None), results)[BEST]["HOSVD"] == (("rank", 7),)


def test_without_patience_all_are_tried_at_once():
    assert n_rungs([None] * 7, None) == 7
    assert len(next_fold_runs(case_with(), replace(PROTOCOL, patience=None), Results())) == 2 * 7


def test_settings_without_a_rank_are_ladders_of_one():
    found = ladders([settings_of(ridge=0.1), settings_of(ridge=1.0)])
    assert found == [[(("ridge", 0.1),)], [(("ridge", 1.0),)]]


def test_a_case_may_have_fewer_splits_than_the_protocol():
    case = replace(case_with(), most_repeats=1)
    made = compare([case], PROTOCOL, Results())
    assert {run.repeat for run in made.runs} == {0}
    assert {run.repeat for run in compare([case_with()], PROTOCOL, Results()).runs} == {0, 1}


def test_what_is_made_beside_the_folds_is_not_part_of_the_comparison():
    case = case_with()
    (beside, *_) = compare([case], replace(PROTOCOL, seed=1), Results()).runs
    results = Results()
    made = compare([case], PROTOCOL, results, beside=[beside])
    assert beside in results
    assert beside not in made.runs
