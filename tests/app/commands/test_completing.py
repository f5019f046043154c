"""`vaecp complete` and `vaecp fit`: which entries are written, and what is said of them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from command_line import run

from vaecp.app.commands import completing
from vaecp.outcomes.store import load


def told(*arguments):
    """Run with --json, and return what it says."""
    outcome = run(*arguments, "--json")
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)


QUICK = ("--method", "parafac", "--rank", 1)


@pytest.fixture
def ratings(tmp_path, random):
    """A sparse log: 60 rows of 30 x 30 x 2, two of them without a value."""
    rows = [f"u{random.integers(30)},f{i % 30},{i % 2},{random.integers(1, 6)}" for i in range(58)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["user,film,week,stars", *rows, "u1,f1,0,", "u2,f2,1,", ""]))
    return path


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(completing, "MOST_CELLS", 100)


def test_a_large_tensor_gets_only_the_rows_that_are_listed(small_limit, ratings, tmp_path):
    options = ("--duplicates", "mean", *QUICK)
    summary = told("complete", ratings, "-o", tmp_path / "out.csv", *options)
    filled = pd.read_csv(tmp_path / "out.csv")
    assert len(filled) == 60
    assert filled["observed"].sum() == 58
    assert filled["stars"].notna().all()
    assert (summary["cells"], summary["gaps_filled"]) == ("listed", 2)
    assert "of which the table lists 60: only these are written" in summary["notes"][0]


def test_all_entries_are_written_where_that_is_asked_for(small_limit, ratings, tmp_path):
    options = ("--duplicates", "mean", "--cells", "all", *QUICK)
    summary = told("complete", ratings, "-o", tmp_path / "out.csv", *options)
    assert len(pd.read_csv(tmp_path / "out.csv")) >= np.prod(summary["shape"])


def test_a_log_without_gaps_is_answered_with_fit_and_predict(small_limit, ratings, tmp_path):
    lines = ratings.read_text().splitlines()[:-2]
    ratings.write_text("\n".join(lines))
    options = ("--duplicates", "mean", *QUICK)
    outcome = run("complete", ratings, "-o", tmp_path / "out.csv", *options)
    assert outcome.exit_code == 2
    assert "none without a value" in outcome.stderr
    assert f"run vaecp fit {ratings} -o MODEL, then vaecp predict MODEL" in outcome.stderr
    model = tmp_path / "log.vaecp"
    summary = told("fit", ratings, "-o", model, *options)
    assert summary["observed"] <= 58
    assert load(model).mode_names_ == ("user", "film", "week")
    (tmp_path / "q.csv").write_text("user;film;week\nu1; f1 ;0\n")
    answers = told("predict", model, tmp_path / "q.csv", "-o", tmp_path / "a.csv")
    assert answers["with_unseen_labels"] == 0
    assert (tmp_path / "a.csv").read_text().startswith("user;film;week;mean;std;low;high\nu1;")
    assert "," in (tmp_path / "a.csv").read_text().splitlines()[1]


@pytest.mark.parametrize(
    ("output", "options", "line"),
    [
        ("out.npz", (), "too many for an array: write those that are listed to .csv"),
        ("out.csv", ("--layout", "long"), "--cells listed needs a table and its layout"),
    ],
)
def test_listed_entries_need_a_table(small_limit, ratings, tmp_path, output, options, line):
    more = ("--duplicates", "mean", *QUICK, *options)
    outcome = run("complete", ratings, "-o", tmp_path / output, *more)
    assert outcome.exit_code == 2
    assert line in outcome.stderr


def test_the_long_layout_has_one_sorted_row_per_entry(tmp_path):
    (tmp_path / "in.csv").write_text("who,250,260\nb,1,2\na,3,\n")
    options = ("--wide", "nm", "--layout", "long", *QUICK)
    assert run("complete", tmp_path / "in.csv", "-o", tmp_path / "o.csv", *options).exit_code == 0
    frame = pd.read_csv(tmp_path / "o.csv")
    assert list(frame)[:4] == ["who", "nm", "value", "observed"]
    assert frame["who"].tolist() == ["a", "a", "b", "b"]


def test_notes_are_printed_to_people_listed_for_machines_and_silent_when_quiet(tmp_path):
    (tmp_path / "in.csv").write_text("a;b;y\np;q;1,5\np;r;\ns;q;2,5\n")
    arguments = ("complete", tmp_path / "in.csv", "-o", tmp_path / "out.csv", *QUICK)
    shown = run(*arguments).stdout
    assert "note: The columns are separated by semicolons.\n" in shown
    assert "note: 'y': 1,5 is read as 1.5.\n" in shown
    assert told(*arguments)["notes"][0] == "The columns are separated by semicolons."
    assert run(*arguments, "--quiet").output == ""


def test_a_file_without_gaps_is_told_so(tmp_path):
    (tmp_path / "in.csv").write_text("a,b,y\np,q,1\np,r,2\ns,q,3\ns,r,6\n")
    arguments = ("complete", tmp_path / "in.csv", "-o", tmp_path / "out.csv", *QUICK)
    assert "No entry is missing, so nothing is filled" in told(*arguments)["notes"][0]


def test_missing_values_are_named_on_the_command_line(tmp_path):
    (tmp_path / "in.csv").write_text("a,b,y\np,q,-999\np,r,2\ns,q,x\ns,r,6\n")
    arguments = ("complete", tmp_path / "in.csv", "-o", tmp_path / "out.csv", *QUICK)
    summary = told(*arguments, "--missing", "-999", "--missing", "x")
    assert (summary["observed"], summary["gaps_filled"]) == (2, 2)
    filled = pd.read_csv(tmp_path / "out.csv")
    assert filled["observed"].tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    ("text", "options", "first"),
    [
        ("p;q;1.234\np;r;\ns;q;2.345\n", ("--no-header", "--decimal", ","), 1234.0),
        ("a;b;y\np;q;1,234\np;r;\ns;q;7\n", ("--thousands", ",", "--decimal", "."), 1234.0),
        ("a|b|y\np|q|5\np|r|\ns|q|7\n", ("--separator", "|", "--header"), 5.0),
    ],
)
def test_text_options_reach_the_reader(tmp_path, text, options, first):
    (tmp_path / "in.csv").write_text(text)
    output = tmp_path / "out.parquet"
    told("complete", tmp_path / "in.csv", "-o", output, *QUICK, *options)
    assert pd.read_parquet(output).iloc[0, 2] == first


def test_a_wrong_sign_is_refused_with_those_that_there_are(tmp_path):
    (tmp_path / "in.csv").write_text("a,b,y\np,q,1\n")
    outcome = run("complete", tmp_path / "in.csv", "-o", "out.csv", "--decimal", "x")
    assert outcome.exit_code == 2
    assert "decimal is 'x': use one of '.' ','" in outcome.stderr


def test_dates_reach_the_queries(tmp_path):
    (tmp_path / "in.csv").write_text("a,day,y\np,31.01.2024,1\nq,31.01.2024,2\np,01.02.2024,3\n")
    assert run("fit", tmp_path / "in.csv", "-o", tmp_path / "m", *QUICK).exit_code == 0
    (tmp_path / "q.csv").write_text("a,day\np,2024-02-01\nq,2024-02-01\n")
    arguments = ("predict", tmp_path / "m", tmp_path / "q.csv", "-o", tmp_path / "a.csv")
    assert told(*arguments)["with_unseen_labels"] == 0
    (tmp_path / "q.csv").write_text("a,day\np,02/01/2024\n")
    outcome = run(*arguments)
    assert "--date-format" in outcome.stderr
    assert told(*arguments, "--date-format", "%m/%d/%Y")["with_unseen_labels"] == 0


def test_few_entries_are_told_to_tell_little(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [f"{i},{j},{i + j}" for i in range(4) for j in range(5)]
    (tmp_path / "in.csv").write_text("\n".join(["a,b,y", *rows]))
    small = ("--methods", "HOSVD", "--repeats", 1, "--ranks", 1, "--folds", 2, "--jobs", 1)
    summary = told("compare", tmp_path / "in.csv", *small, "-o", tmp_path / "c")
    assert "only 20 observed entries" in summary["notes"][0]
