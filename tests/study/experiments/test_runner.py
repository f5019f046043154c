"""Carrying runs out: what is run, what is not run again, what fails."""

import re

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.errors import FormatError
from vaecp.models import registry
from vaecp.models.registry import Method
from vaecp.study import experiments
from vaecp.study.experiments import (
    BEST,
    CHOICE,
    PAPER,
    Case,
    Protocol,
    Results,
    Tensor,
    candidates,
    carry_out,
    compare,
    execution,
    fold_runs,
    runner,
)

PROTOCOL = Protocol(repeats=3, folds=2)


def test_a_finished_run_is_not_run_again(shifted, case_of, tensor, tmp_path):
    compare([case_of(tensor)], PROTOCOL, Results(tmp_path))
    assert len(shifted.fits) == 3 * 2 + 3
    compare([case_of(tensor)], PROTOCOL, Results(tmp_path))
    assert len(shifted.fits) == 3 * 2 + 3


def test_the_longest_runs_are_started_first(tensor, monkeypatch):
    """By rank, entries and epochs, whatever order they are asked for in."""
    started = []
    monkeypatch.setattr(
        runner, "execute", lambda run, _: started.append(run) or execution.describe(run)
    )
    large = Observations.from_array(np.ones((9, 9, 9)))
    runs = [
        fold_runs(Case(name, data, {method: [settings]}), PROTOCOL, always=True)[0]
        for name, data, method, settings in (
            ("small", tensor, "HOSVD", (("rank", 2),)),
            ("small", tensor, "HOSVD", (("rank", 9),)),
            ("large", large, "HOSVD", (("rank", 9),)),
            ("small", tensor, "VAECP.paper", (("max_epochs", 50), ("rank", 2))),
            ("small", tensor, "VAECP.paper", (("max_epochs", 5000), ("rank", 2))),
        )
    ]
    carry_out(runs, [Tensor(tensor), Tensor(large)], Results())
    epochs = [dict(run.settings).get("max_epochs") for run in started]
    assert epochs[0] == 5000
    assert [run.rank for run in started if run.method == "HOSVD"] == [9, 9, 2]
    assert [run.dataset for run in started if run.rank == 9] == ["large", "small"]


def test_an_interrupted_comparison_goes_on_where_it_stopped(
    shifted, case_of, tensor, tmp_path, monkeypatch
):
    monkeypatch.setattr(shifted, "interrupt_at", 4)
    with pytest.raises(KeyboardInterrupt):
        compare([case_of(tensor)], PROTOCOL, Results(tmp_path))
    kept = Results(tmp_path)
    assert len(kept) == 4
    monkeypatch.setattr(shifted, "interrupt_at", None)
    compare([case_of(tensor)], PROTOCOL, kept)
    assert len(shifted.fits) == 3 * 2 + 3
    assert len(kept) == 3 * 2 + 3


def test_changed_data_are_other_runs(shifted, case_of, tensor, tmp_path):
    compare([case_of(tensor, ranks=[2])], PROTOCOL, Results(tmp_path))
    changed = tensor.with_values(tensor.values + 1)
    compare([case_of(changed, ranks=[2])], PROTOCOL, Results(tmp_path))
    assert len(shifted.fits) == 6


def test_what_two_comparisons_share_is_computed_once_and_has_a_row_in_both(
    shifted, case_of, tensor
):
    results = Results()
    case = case_of(tensor, [2], ["Shifted", "FBCP"])
    made = compare([case], PROTOCOL, results, comparisons=(PAPER, BEST))
    assert len(shifted.fits) == 2 * 3
    counts = results.frame(made.runs)["comparison"].value_counts()
    assert counts.to_dict() == {PAPER: 6, BEST: 6}


def test_a_comparison_alone_has_no_rows_of_the_other(shifted, case_of, tensor):
    results = Results()
    made = compare([case_of(tensor, [1, 9], ["Shifted", "FBCP"])], PROTOCOL, results)
    frame = results.frame(made.runs)
    assert set(frame["comparison"]) == {CHOICE, BEST}
    assert (experiments.summarise(frame)["repeats"] == PROTOCOL.repeats).all()


@pytest.mark.slow
def test_runs_over_processes_measure_what_runs_in_one_do(random):
    tensor = Observations.from_array(random.normal(size=(5, 4, 3)))
    case = Case("toy", tensor, candidates(["HOSVD"], [1, 2]))
    one, two = Results(), Results()
    listed = fold_runs(case, PROTOCOL)
    for results, jobs in ((one, 1), (two, 2)):
        carry_out(listed, [case.tensor], results, jobs=jobs)
    np.testing.assert_array_equal(
        [record["rmse"] for record in one.of(listed)],
        [record["rmse"] for record in two.of(listed)],
    )


def test_a_folder_that_another_process_writes_to_is_refused(shifted, case_of, tensor, tmp_path):
    with (
        Results(tmp_path).locked(),
        pytest.raises(FormatError, match="another process is adding results"),
    ):
        compare([case_of(tensor)], PROTOCOL, Results(tmp_path))


def test_a_failed_run_is_recorded_and_its_candidate_is_out(shifted, case_of, tensor):
    results = Results()
    made = compare([case_of(tensor, [3, 13])], PROTOCOL, results)
    frame = results.frame(made.runs)
    failed = frame[frame["error"] != ""]
    assert set(failed["error"]) == {"ValueError: rank 13 brings bad luck"}
    assert failed["rmse"].isna().all()
    assert dict(made.choices["toy"][0][BEST]["Shifted"])["rank"] == 3
    assert "2 of 7 runs failed" in experiments.failures(frame)[0]


def test_failed_runs_are_made_again_only_when_asked(shifted, case_of, tensor, monkeypatch):
    results = Results()
    case = case_of(tensor, [13])
    for retry, expected in ((False, 0), (False, 0), (True, 3)):
        if retry:
            monkeypatch.setitem(
                registry._METHODS, "Shifted", Method("Shifted", lambda **s: shifted(rank=2))
            )
        compare([case], PROTOCOL, results, retry_failed=retry)
        assert len(shifted.fits) == expected


def test_runs_of_other_code_are_made_again(shifted, case_of, tensor, tmp_path, monkeypatch):
    case = case_of(tensor, ranks=[2])
    compare([case], PROTOCOL, Results(tmp_path))
    for module in (runner, experiments.results, experiments.execution):
        monkeypatch.setattr(module, "code", lambda method: f"other {method}")
    results = Results(tmp_path)
    compare([case], PROTOCOL, results)
    assert len(shifted.fits) == 6
    assert {record["code"] for record in results.records} == {"other Shifted"}
    assert len(results) == 3
    assert len(results.path.read_text().splitlines()) == 6


def test_the_bar_leaves_room_for_every_method_on_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"Method{number}" for number in range(8)]
    with runner._progress("Folds", len(names), 1.0, show=True) as report:
        for name in names:
            report({"method": name, "rmse": 0.123, "dataset": "my [own].csv"}, 0.1)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    assert "8/8 runs" in shown
    assert "my [own].csv" in shown
    assert all(f"{name} 0.123" in " ".join(shown.split()) for name in names)
