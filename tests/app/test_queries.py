"""`vaecp predict` answers a table of queries, whatever types its file could keep."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from command_line import assert_refused, run
from row_means import RowMeanModel

from vaecp.data.observations import Observations


def test_predict_adds_four_columns_to_the_queries(asked, shelf, source, tmp_path):
    assert run("complete", source, "-o", tmp_path / "o.csv", "--save", "m").exit_code == 0
    (tmp_path / "q.csv").write_text("note,week,user\n007,2,bob\nx,99,zoe\n")
    outcome = run("predict", "m", tmp_path / "q.csv", "-o", tmp_path / "a.csv", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    answers = pd.read_csv(tmp_path / "a.csv", dtype={"note": str})
    assert list(answers) == ["note", "week", "user", "mean", "std", "low", "high"]
    assert answers["note"].tolist() == ["007", "x"]
    np.testing.assert_allclose(answers["mean"], [2.0, 10 / 3], atol=0.005)
    assert json.loads(outcome.stdout)["with_unseen_labels"] == 1


def test_queries_take_the_type_of_the_labels_that_the_model_knows(shelf, tmp_path):
    keys = pd.DataFrame({"room": ["7", "A1"], "day": [1.5, 2.0]})
    observations = Observations.from_table(keys.assign(y=[1.0, 5.0]), ["room", "day"], "y")
    shelf["m"] = RowMeanModel().fit_tensor(observations)
    (tmp_path / "q.csv").write_text("room,day\n7,2\n")
    outcome = run("predict", "m", tmp_path / "q.csv", "-o", tmp_path / "a.csv", "--json")
    assert json.loads(outcome.stdout)["with_unseen_labels"] == 0
    np.testing.assert_allclose(pd.read_csv(tmp_path / "a.csv")["mean"], [1.0])


def test_a_text_among_numbers_is_unseen_and_leaves_the_numbers_as_they_are(shelf, tmp_path):
    keys = pd.DataFrame({"sample": [7, 8], "day": [1, 2]})
    observations = Observations.from_table(keys.assign(y=[1.0, 5.0]), ["sample", "day"], "y")
    shelf["m"] = RowMeanModel().fit_tensor(observations)
    (tmp_path / "q.csv").write_text("sample,day\n8,2\nnew,2\n")
    outcome = run("predict", "m", tmp_path / "q.csv", "-o", tmp_path / "a.csv", "--json")
    assert json.loads(outcome.stdout)["with_unseen_labels"] == 1
    np.testing.assert_allclose(pd.read_csv(tmp_path / "a.csv")["mean"], [5.0, 3.0])


def test_a_label_of_5_000_digits_in_queries_is_unseen(shelf, tmp_path):
    keys = pd.DataFrame({"sample": [7, 8], "day": [1, 2]})
    observations = Observations.from_table(keys.assign(y=[1.0, 5.0]), ["sample", "day"], "y")
    shelf["m"] = RowMeanModel().fit_tensor(observations)
    (tmp_path / "q.csv").write_text(f"sample,day\n8,2\n{'9' * 5_000},2\n")
    outcome = run("predict", "m", tmp_path / "q.csv", "-o", tmp_path / "a.csv", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["with_unseen_labels"] == 1
    np.testing.assert_allclose(pd.read_csv(tmp_path / "a.csv")["mean"], [5.0, 3.0])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("user,day\nann,1\n", "has no column 'week', which the model needs: it has 'user', 'day'"),
        ("user,week,mean\nann,1,2\n", "has a column 'mean' already"),
        ("user,week\n", "has a header but no rows"),
        ("user,week\n,1\n", "label of mode 'user' in line 2 is missing"),
    ],
)
def test_bad_queries_get_one_line_and_no_output(asked, shelf, source, tmp_path, text, line):
    run("complete", source, "-o", tmp_path / "o.csv", "--save", "m")
    (tmp_path / "q.csv").write_text(text)
    assert_refused(run("predict", "m", tmp_path / "q.csv", "-o", tmp_path / "a.csv"), line)
    assert not (tmp_path / "a.csv").exists()
