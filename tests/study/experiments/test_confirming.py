"""Runs of other code that come out the same today."""

import itertools

import pytest

from vaecp.study import experiments
from vaecp.study.experiments import Protocol, Results, Tensor, confirming, fold_runs, runner
from vaecp.study.experiments.confirming import confirm
from vaecp.study.experiments.tables import code_in_words

PROTOCOL = Protocol(repeats=1, folds=5)


@pytest.fixture
def made(shifted, case_of, tensor, tmp_path, monkeypatch):
    """Five runs, made by code that is not today's any more; and what makes the code another one."""

    def change(name):
        for module in (runner, confirming, experiments.results, experiments.execution):
            monkeypatch.setattr(module, "code", lambda method: f"{name} {method}")
        for module in (experiments.results, experiments.execution):
            monkeypatch.setattr(module, "commit", lambda: name)
        found = {"Shifted": f"{name} Shifted"}
        monkeypatch.setattr(experiments.results, "codes", lambda: found)

    runs = fold_runs(case_of(tensor, ranks=[2]), PROTOCOL, always=True)
    change("first")
    runner.carry_out(runs, [Tensor(tensor)], Results(tmp_path))
    change("second")
    shifted.fits.clear()
    return runs, [Tensor(tensor)], tmp_path, change


def test_a_few_runs_that_come_out_the_same_stand_for_all(made, shifted):
    runs, tensors, folder, change = made
    assert confirm(runs, tensors, Results(folder), 2) == {"Shifted": True}
    assert len(shifted.fits) == 2
    runner.carry_out(runs, tensors, Results(folder))
    assert len(shifted.fits) == 2
    results = Results(folder)
    assert len(results.of_one_version()) == len(runs)
    frame = experiments.results.frame_of(results.of_one_version())
    assert "commit second" in code_in_words(frame)
    assert "(Shifted 2)" in code_in_words(frame)
    change("third")  # runs that stood for others are confirmed as these were
    assert confirm(runs, tensors, Results(folder), 1) == {"Shifted": True}
    assert len(Results(folder).of_one_version()) == len(runs)


def test_runs_that_come_out_otherwise_are_all_made_again(made, shifted, monkeypatch):
    runs, tensors, folder, _ = made
    monkeypatch.setattr(shifted, "_fit", lambda self, *given: _moved(self, *given))
    assert confirm(runs, tensors, Results(folder), 2) == {"Shifted": False}
    assert len(Results(folder).of_one_version()) == 2
    assert not all(Results(folder).has_made(run) for run in runs)
    runner.carry_out(runs, tensors, Results(folder))
    assert all(Results(folder).has_made(run) for run in runs)


@pytest.fixture
def one_moves(shifted, monkeypatch):
    """Returns a function after which the fit of this number comes out otherwise, others as before."""
    usual = shifted._fit

    def arrange(number):
        numbers = itertools.count()

        def fit(self, *given):
            return (_moved if next(numbers) == number else usual)(self, *given)

        monkeypatch.setattr(shifted, "_fit", fit)

    return arrange


def test_code_with_a_run_that_came_out_otherwise_is_not_confirmed_by_others_later(made, one_moves):
    runs, tensors, folder, _ = made
    one_moves(0)
    for _ in range(2):
        assert confirm(runs, tensors, Results(folder), 1) == {"Shifted": False}
        assert len(Results(folder).of_one_version()) == 1


@pytest.mark.parametrize(
    ("moves", "n_made"), [(0, 1), (1, 2)], ids=["of the second code", "of the first"]
)
def test_codes_that_were_the_same_are_not_taken_where_a_run_of_one_differs(
    moves, n_made, made, one_moves
):
    runs, tensors, folder, change = made
    assert confirm(runs, tensors, Results(folder), 1) == {"Shifted": True}
    change("third")
    one_moves(moves)  # the run of the second code is the first to be made again
    assert confirm(runs, tensors, Results(folder), 1) == {"Shifted": False}
    assert sum(map(Results(folder).has_made, runs)) == n_made


@pytest.mark.parametrize(("step", "same"), [(0.01, True), (0.5, False)])
def test_a_method_that_does_not_repeat_itself_need_only_be_near(
    step, same, made, shifted, monkeypatch
):
    runs, tensors, folder, _ = made
    numbers = itertools.count(1)
    monkeypatch.setattr(
        shifted, "_fit", lambda self, *given: _moved(self, *given, level=step * next(numbers))
    )
    assert confirm(runs, tensors, Results(folder), 1) == {"Shifted": same}


def _moved(model, observations, random, level=2.0):
    from vaecp.models.fitted import Diagnostics, FitResult

    kind = type(model).fitted_type
    return FitResult(kind(level), Diagnostics(found={"rank": 2}))
