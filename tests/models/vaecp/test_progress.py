"""How far a fit is, as it tells whoever watches."""

import numpy as np
import pytest

import vaecp
from vaecp.models.vaecp.effort import EFFORTS, effort_of
from vaecp.models.vaecp.progress import Progress
from vaecp.runtime.progress import watched, watcher_of


@pytest.fixture
def told():
    return []


def test_a_fit_tells_its_stages_and_never_that_less_is_done(told, random):
    array = np.outer(random.normal(size=9), random.normal(size=8))
    tensor = vaecp.Observations.from_array(array + 0.1 * random.normal(size=array.shape))
    with watched(lambda *report: told.append(report)):
        vaecp.VAECP(random_state=0, verbose=True).fit_tensor(tensor)
    shares, stages = [done for done, _, _ in told], [unit.split()[1] for _, _, unit in told]
    assert shares == sorted(shares)
    assert shares[-1] < 100
    order = list(dict.fromkeys(stage.strip(",;") for stage in stages))
    assert order == ["preparing", "searching", "calibrating", "predicting"]


def test_comparing_kinds_of_values_is_a_part_of_the_whole(told, random):
    rates = np.exp(random.normal(size=(12, 1)) + random.normal(size=(1, 10)))
    tensor = vaecp.Observations.from_array(random.poisson(rates).astype(float))
    with watched(lambda *report: told.append(report)):
        vaecp.VAECP(random_state=0, verbose=True, effort="quick").fit_tensor(tensor)
    shares = [done for done, _, _ in told]
    assert shares == sorted(shares)
    compared = [done for done, _, unit in told if unit == "% comparing kinds of values"]
    assert compared[0] == 0
    assert 0 < max(compared) < min(done for done, _, unit in told if "searching" in unit)


def test_the_error_that_is_told_is_that_of_the_best_member_so_far(told):
    progress = Progress(lambda *report: told.append(report), EFFORTS["normal"], 1000)
    progress.searched(3, 1e9, 0.25)
    assert told[-1][2] == "% searching, error 0.25 std"
    progress.searched(4, 1e9, None)  # a likelihood without residuals
    assert told[-1][2] == "% searching"


def test_more_trainings_and_more_multiplications_are_more_of_a_search(told):
    progress = Progress(lambda *report: told.append(report), EFFORTS["normal"], 1000)
    for n_trainings, spent in [(5, 1e9), (10, 1e9), (10, 5e9), (1000, 1e15)]:
        progress.searched(n_trainings, spent, None)
    shares = [done for done, _, _ in told]
    assert len(set(shares)) == 4
    assert shares == sorted(shares)
    assert shares[-1] == 90


def test_a_loop_is_a_part_of_the_whole(told):
    progress = Progress(lambda *report: told.append(report), EFFORTS["normal"], 1000)
    epochs = progress.part(0.5, 0.9, "training networks")
    epochs(1, 4, "epochs")
    epochs(4, 4, "epochs")
    assert told == [(60, 100, "% training networks"), (90, 100, "% training networks")]


def test_seconds_that_are_asked_for_are_the_measure_of_a_search(told, monkeypatch):
    now = iter([100.0, 100.0, 103.0])
    monkeypatch.setattr("vaecp.models.vaecp.progress.time.monotonic", lambda: next(now))
    progress = Progress(lambda *report: told.append(report), effort_of(6), 1000)
    progress.searched(1, 1.0, None)
    progress.searched(2, 2.0, None)
    assert [done for done, _, _ in told] == [0, 45]


def test_a_bar_counts_steps_and_tells_shares_of_a_whole():
    moves = []
    watcher = watcher_of(lambda *move: moves.append(move))
    watcher(3, 9, "sweeps")
    watcher(40, 100, "% searching")
    assert moves == [(3, 9, "3/9 sweeps"), (40, 100, "40 % searching")]
