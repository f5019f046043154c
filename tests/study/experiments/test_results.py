"""Records on disk: one line each, whatever happens to the process that writes them."""

import json

import numpy as np
import pandas as pd
import pytest

from vaecp.errors import FormatError
from vaecp.study.experiments import Protocol, Results, compare, execution, fold_runs
from vaecp.study.experiments.results import of_one_version

PROTOCOL = Protocol(repeats=3, folds=2)


def test_the_tidy_table_has_one_row_per_run_and_outlives_the_process(
    shifted, case_of, tensor, tmp_path
):
    pytest.importorskip("pyarrow")
    results = Results(tmp_path)
    compare([case_of(tensor)], PROTOCOL, results)
    stored = pd.read_parquet(tmp_path / "results.parquet")
    assert len(stored) == len(results) == 9
    assert stored["key"].is_unique
    assert json.loads(stored["settings"].iloc[0]) == {"rank": stored["rank"].iloc[0]}
    pd.testing.assert_frame_equal(Results(tmp_path).frame(), results.frame())
    assert {"fold", "mae", "crps", "seconds", "versions", "device"} <= set(stored)


def test_infinite_and_missing_scores_survive_strict_json(shifted, case_of, tensor, tmp_path):
    results = Results(tmp_path)
    record = execution.describe(fold_runs(case_of(tensor), PROTOCOL)[0]) | {"nll": np.inf}
    results.add([record])
    json.loads(results.path.read_text(), parse_constant=pytest.fail)  # one line
    back = Results(tmp_path).records[0]
    assert back["nll"] == np.inf
    assert np.isnan(back["rmse"])


LIES = [
    '{"key": [], "work": "w", "settings": {}}',
    '{"key": "k", "work": "w", "settings": {"rank": 1.5}}',
    '{"key": "k", "work": "w", "settings": {}, "rmse": "low"}',
    '{"key": "k", "work": "w", "settings": {}, "fold": 0.5}',
    '{"key": "k", "work": "w", "settings": {}, "versions": 3}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", ["[{", "{}", '{"a": 1}', "", '["key", "work", "settings"]', *LIES])
def test_a_damaged_line_is_named_and_the_file_left_alone(tmp_path, text):
    good = '{"key": "k", "work": "w", "settings": {}}'
    (tmp_path / "results.jsonl").write_text(f"{good}\n{text}\n{good}\n")
    with pytest.raises(FormatError, match="line 2 is not a record of a run"):
        Results(tmp_path)
    assert (tmp_path / "results.jsonl").read_text() == f"{good}\n{text}\n{good}\n"


def records_of(case):
    return [execution.describe(run) for run in fold_runs(case, PROTOCOL)]


def test_a_last_line_that_was_cut_short_is_dropped_with_a_note(shifted, case_of, tensor, tmp_path):
    first, second, third = records_of(case_of(tensor))[:3]
    results = Results(tmp_path)
    results.add([first, second])
    whole = results.path.read_bytes()
    results.path.write_bytes(whole[:-30])
    with pytest.warns(UserWarning, match="the last line was cut short"):
        results = Results(tmp_path)
    assert [record["key"] for record in results.records] == [first["key"]]
    results.add([third])
    again = Results(tmp_path)
    assert [record["key"] for record in again.records] == [first["key"], third["key"]]


def test_records_are_appended_and_the_last_of_a_run_counts(shifted, case_of, tensor, tmp_path):
    first, second = records_of(case_of(tensor))[:2]
    results = Results(tmp_path)
    results.add([first])
    before = results.path.read_bytes()
    results.add([second, first | {"rmse": 0.5}])
    assert results.path.read_bytes().startswith(before)
    back = Results.read(results.path)
    assert back.records[0]["rmse"] == 0.5
    assert len(back) == 2
    assert back.folder is None


def test_records_of_earlier_versions_are_read(tmp_path):
    line = '{"key": "k", "work": "w", "settings": {"rank": 3}, "versions": {}, "rmse": 1.5}'
    (tmp_path / "results.jsonl").write_text(f"{line}\n")
    (row,) = Results(tmp_path).frame().to_dict("records")
    assert (row["gaps"], row["code"], row["rank"], row["rmse"]) == ("scattered", "", 3, 1.5)
    assert np.isnan(row["trimmed_rmse"])


def test_a_table_has_the_runs_of_the_last_version_alone():
    made = [("old", "a"), ("new", "b"), ("old", "a"), ("new", "c"), ("new", "c")]
    records = [{"code": code, "commit": commit} for code, commit in made]
    assert of_one_version(records) == [records[1], *records[3:]]
    assert of_one_version([]) == []
    earlier = [{"code": code, "commit": ""} for code in ("x", "y")]
    assert of_one_version(earlier) == earlier


def test_records_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "results.jsonl").write_bytes(b'{"key": "\xff"}\n')
    with pytest.raises(FormatError, match=r"results.jsonl: is not UTF-8 text .* at byte 9"):
        Results(tmp_path)
