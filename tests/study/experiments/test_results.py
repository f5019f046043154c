"""Records on disk: one line each, whatever happens to the process that writes them."""

import json

import numpy as np
import pandas as pd
import pytest

from vaecp.errors import FormatError
from vaecp.study.experiments import Protocol, Results, compare, execution, fold_runs

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
    assert back.records[-1]["rmse"] == 0.5  # the newest stands last
    assert len(back) == 2
    assert back.folder is None


def test_records_of_earlier_versions_are_read(tmp_path):
    line = '{"key": "k", "work": "w", "settings": {"rank": 3}, "versions": {}, "rmse": 1.5}'
    (tmp_path / "results.jsonl").write_text(f"{line}\n")
    (row,) = Results(tmp_path).frame().to_dict("records")
    assert (row["gaps"], row["code"], row["rank"], row["rmse"]) == ("scattered", "", 3, 1.5)
    assert np.isnan(row["trimmed_rmse"])


def record_of(key, method, code, commit):
    record = {"key": key, "work": key, "settings": {}, "method": method}
    return record | {"code": code, "commit": commit}


def keys_of(results):
    return [record["key"] for record in results.of_one_version()]


def test_a_table_has_the_runs_of_the_last_ones_version_whatever_their_commit(tmp_path, monkeypatch):
    def at(commit, codes, *records):
        monkeypatch.setattr("vaecp.study.experiments.results.commit", lambda: commit)
        monkeypatch.setattr("vaecp.study.experiments.results.codes", lambda: codes)
        Results(tmp_path).add([record_of(*record, commit) for record in records])

    at("a", {"A": "1", "B": "1"}, ("k", "A", "1"), ("l", "B", "1"))
    at("b", {"A": "2", "B": "1"}, ("m", "A", "2"))
    assert keys_of(Results(tmp_path)) == ["l", "m"]  # the code of B is as it was
    at("a", {"A": "1", "B": "1"}, ("k", "A", "1"))
    assert keys_of(Results.read(tmp_path / "results.jsonl")) == ["l", "k"]
    assert len((tmp_path / "code.jsonl").read_text().splitlines()) == 2
    (tmp_path / "code.jsonl").unlink()
    assert keys_of(Results(tmp_path)) == ["l", "k"]  # of the same commit
    at("b", {"A": "2", "B": "3"}, ("n", "B", "3"))
    assert keys_of(Results(tmp_path)) == ["m", "n"]


def test_runs_that_name_no_commit_are_not_told_apart():
    results = Results()
    assert results.of_one_version() == []
    results.add([record_of(code, "A", code, "") for code in ("x", "y")])
    assert keys_of(results) == ["x", "y"]


def test_records_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "results.jsonl").write_bytes(b'{"key": "\xff"}\n')
    with pytest.raises(FormatError, match=r"results.jsonl: is not UTF-8 text .* at byte 9"):
        Results(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b"[1, 2]",
        b'{"commit": "a"}',
        b'{"commit": "a", "codes": {"A": [1]}}',
        b"[" * 9999,
    ],
)
def test_damaged_lines_about_code_are_left_out(tmp_path, line):
    good = b'{"commit": "b", "codes": {"A": "1"}}'
    (tmp_path / "code.jsonl").write_bytes(line + b"\n" + good + b"\n")
    (tmp_path / "results.jsonl").write_text("")
    assert Results(tmp_path)._codes == {"b": {"A": "1"}}
