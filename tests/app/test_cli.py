"""The command line: what it writes, what it prints, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import types
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from row_means import RowMeanModel
from typer.testing import CliRunner

from vaecp.app import cli
from vaecp.data.observations import Observations
from vaecp.models import registry
from vaecp.models.fitted import FitResult

runner = CliRunner()
TABLE = "user,week,stars\nann,1,5\nann,2,3\nbob,1,2\nbob,2,\n"


@pytest.fixture
def asked(monkeypatch):
    """Replace the model, and record which rank and seed the command asked for."""
    requests = []

    def model(rank, seed):
        requests.append((rank, seed))
        return RowMeanModel(random_state=seed)

    monkeypatch.setattr(cli, "default_model", model)
    return requests


@pytest.fixture
def shelf(monkeypatch):
    """Keep saved models in a dictionary, by path."""
    store = types.ModuleType("vaecp.outcomes.store")
    models = {}
    store.save = lambda model, path: models.__setitem__(str(path), model)
    store.load = lambda path: models[str(path)]
    monkeypatch.setitem(sys.modules, "vaecp.outcomes.store", store)
    return models


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(TABLE)
    return path


def run(*arguments):
    return runner.invoke(cli.app, [str(argument) for argument in arguments])


# ---- complete --------------------------------------------------------------------------


def test_complete_fills_every_gap_and_keeps_what_was_observed(asked, source, tmp_path):
    outcome = run("complete", source, "-o", tmp_path / "out.csv")
    assert outcome.exit_code == 0, outcome.stderr
    filled = pd.read_csv(tmp_path / "out.csv")
    assert filled["observed"].tolist() == [True, True, True, False]
    np.testing.assert_allclose(filled["stars"], [5, 3, 2, 2])
    assert list(filled)[:3] == ["user", "week", "stars"]
    assert list(filled)[-4:] == ["mean", "std", "low", "high"]
    assert "gaps filled" in outcome.stdout


def test_rank_seed_and_coverage_reach_the_model(asked, source, tmp_path):
    options = ("--rank", 7, "--seed", 3, "--coverage", 0.5)
    assert run("complete", source, "-o", tmp_path / "out.csv", *options).exit_code == 0
    assert asked == [(7, 3)]
    filled = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_allclose(
        filled["high"] - filled["low"], 2 * 0.6744897501960817 * filled["std"], atol=0.01
    )


def test_json_prints_one_object_and_quiet_prints_nothing(asked, source, tmp_path):
    outcome = run("complete", source, "-o", tmp_path / "out.npz", "--json")
    summary = json.loads(outcome.stdout)
    assert summary["shape"] == [2, 2]
    assert summary["observed"] == 3
    assert summary["gaps_filled"] == 1
    outcome = run("complete", source, "-o", tmp_path / "out.npz", "--quiet")
    assert outcome.output == ""


def test_columns_are_chosen_with_modes_and_value(asked, tmp_path):
    (tmp_path / "in.csv").write_text("y,b,note,a\n1,p,n,q\n2,r,n,q\n")
    arguments = (tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--modes", "a, b", "--value", "y")
    outcome = run("complete", *arguments)
    assert outcome.exit_code == 0, outcome.stderr
    filled = pd.read_csv(tmp_path / "out.csv")
    assert list(filled)[:5] == ["y", "b", "note", "a", "observed"]
    assert filled["note"].tolist() == ["n", "n"]


def test_absent_zero_observes_zeros(asked, tmp_path):
    (tmp_path / "in.tns").write_text("1 1 4\n2 2 6\n")
    arguments = (tmp_path / "in.tns", "-o", tmp_path / "out.csv", "--absent", "zero")
    assert run("complete", *arguments).exit_code == 0
    assert pd.read_csv(tmp_path / "out.csv")["value"].tolist() == [4, 0, 0, 6]


# ---- predict ---------------------------------------------------------------------------


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


# ---- compare, rank, reproduce, datasets ------------------------------------------------


@pytest.fixture
def ratings(tmp_path, random):
    """Text labels; two thirds of a 9 x 8 x 5 tensor that has rank 2 without its mean."""
    path = tmp_path / "ratings.csv"
    users, films, weeks = (1 + random.random(size) for size in (9, 8, 5))
    rows = [
        f"user {i},film {j},w{k},{users[i] * films[j] * weeks[k] + 0.05 * random.normal()}"
        for i in range(9)
        for j in range(8)
        for k in range(5)
        if random.random() < 0.67
    ]
    path.write_text("\n".join(["user,film,week,stars", *rows]))
    return path


SMALL = ("--ranks", "2,6", "--folds", 2, "--jobs", 1)


def test_compare_names_the_winner_and_the_command_that_fits_it(ratings, tmp_path):
    pytest.importorskip("matplotlib")
    arguments = (ratings, "--methods", "HOSVD, TuckerALS", "--repeats", 2, *SMALL)
    outcome = run("compare", *arguments, "-o", tmp_path / "out")
    assert outcome.exit_code == 0, outcome.output
    assert "a test needs at least 5" in outcome.stdout
    command = next(line for line in outcome.stdout.splitlines() if "vaecp complete" in line)
    assert "--method " in command
    assert "--rank 2" in command
    assert (tmp_path / "out" / "rmse.png").read_bytes().startswith(b"\x89PNG")
    assert "| HOSVD | 2 |" in (tmp_path / "out" / "table.md").read_text()
    records = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert len(records) == 2 * (2 * 2 + 2)


@pytest.mark.parametrize("command", ["compare", "rank"])
def test_values_that_are_all_equal_are_not_compared(command, tmp_path):
    path = tmp_path / "same.csv"
    path.write_text("a,b,y\n" + "\n".join(f"{a},{b},5" for a in range(4) for b in range(4)))
    line = "same.csv: all observed values are 5, so that there is nothing to compare"
    assert_refused(run(command, path, "-o", tmp_path / "out"), line)


def test_compare_hides_what_it_is_told_to_hide(ratings, tmp_path):
    pytest.importorskip("matplotlib")
    arguments = (ratings, "--methods", "HOSVD", "--repeats", 1, *SMALL)
    outcome = run("compare", *arguments, "--gaps", "fibres:week", "-o", tmp_path / "out")
    assert outcome.exit_code == 0, outcome.output
    records = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert {json.loads(record)["gaps"] for record in records} == {"fibres:2"}


def test_an_interrupted_comparison_says_that_it_goes_on_and_does(monkeypatch, ratings, tmp_path):
    pytest.importorskip("matplotlib")
    from vaecp.models.registry import Method
    from vaecp.models.tucker.estimators import HOSVD

    made = []

    def build(**settings):
        if len(made) == 3:
            made.append(None)
            raise KeyboardInterrupt
        made.append(settings)
        return HOSVD(**settings)

    stand_in(monkeypatch, Method("HOSVD", build))
    arguments = ("compare", ratings, "--methods", "HOSVD", "--repeats", 1, *SMALL)
    outcome = run(*arguments, "-o", tmp_path / "out")
    assert outcome.exit_code == 130
    assert "run the same command to continue" in outcome.stderr
    outcome = run(*arguments, "-o", tmp_path / "out")
    assert outcome.exit_code == 0, outcome.output
    assert len(made) == 1 + 2 * 2 + 1


def test_the_command_of_the_winner_fits(ratings, tmp_path):
    arguments = ("complete", ratings, "-o", tmp_path / "filled.csv", "--method", "HOSVD")
    assert run(*arguments, "--rank", 1).exit_code == 0
    assert len(pd.read_csv(tmp_path / "filled.csv")) == 9 * 8 * 5
    assert_refused(run(*arguments[:-1], "Magic"), "there is no method 'Magic'")


def test_rank_draws_the_curve_of_the_folds(monkeypatch, ratings, tmp_path):
    pytest.importorskip("matplotlib")
    from vaecp.models.registry import Method
    from vaecp.models.tucker.estimators import HOSVD

    stand_in(monkeypatch, Method("VAECP", HOSVD))
    outcome = run("rank", ratings, *SMALL, "-o", tmp_path / "out")
    assert outcome.exit_code == 0, outcome.output
    assert "The lowest error is at rank 2" in outcome.stdout
    assert "components above the noise" in " ".join(outcome.stdout.split())
    assert (tmp_path / "out" / "rank.png").exists()


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (("--ranks", "many"), "give integers from 1, such as 5,10,20"),
        (("--methods", "Magic"), "there is no method 'Magic'"),
        (("--folds", 1), "folds"),
        (
            ("--gaps", "fibres:month"),
            "'month' is no mode: use numbers or names of modes (user, film",
        ),
        (("--gaps", "holes"), "use one of scattered, fibres, slabs, blocks, moved"),
    ],
)
def test_compare_refuses_wrong_options_before_any_run(ratings, tmp_path, wrong, line):
    pytest.importorskip("matplotlib")
    assert_refused(run("compare", ratings, *wrong, "-o", tmp_path / "out"), line)
    assert not (tmp_path / "out").exists()


def test_compare_says_when_every_run_failed(monkeypatch, ratings, tmp_path):
    pytest.importorskip("matplotlib")
    from vaecp.models.registry import Method

    stand_in(monkeypatch, Method("HOSVD", lambda **settings: 1 / 0))
    arguments = (ratings, "--methods", "HOSVD", "--repeats", 1, *SMALL)
    outcome = run("compare", *arguments, "-o", tmp_path / "out")
    assert outcome.exit_code == 2
    assert "ZeroDivisionError" in outcome.stderr
    assert "every run failed" in outcome.stderr


@pytest.mark.slow
def test_reproduce_draws_the_figures_and_says_that_it_was_quick(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    from vaecp.models.registry import Method
    from vaecp.models.tucker.estimators import HOSVD

    class Brief(HOSVD):
        def _fit(self, observations, random):
            self.max_iter = 2
            fitted, diagnostics = super()._fit(observations, random)
            return FitResult(fitted, replace(diagnostics, found={"rank": 2}))

    for name in registry.methods():
        baseline = not name.startswith("VAECP")
        stand_in(monkeypatch, Method(name, lambda **s: Brief(s["rank"]), baseline=baseline))
    arguments = ("reproduce", "--quick", "--only", "synthetic r=9", "--jobs", 1)
    outcome = run(*arguments, "-o", tmp_path / "out")
    assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "out" / "figure-2-synthetic.png").exists()
    assert (tmp_path / "out" / "figure-6-rank.png").exists()
    page = (tmp_path / "out" / "README.md").read_text()
    assert "quick run" in page
    assert "vaecp reproduce --quick --only 'synthetic r=9'" in page
    assert "**synthetic r=9**: VAECP" in page
    assert "## synthetic r=9, at its best" in (tmp_path / "out" / "tables.md").read_text()


def test_reproduce_names_the_tensors_it_knows(tmp_path):
    pytest.importorskip("matplotlib")
    outcome = run("reproduce", "--only", "moon", "-o", tmp_path / "out")
    assert_refused(outcome, "'moon' is not one of the paper's tensors: use synthetic r=9")


def test_reproduce_names_the_parts_it_has(tmp_path):
    pytest.importorskip("matplotlib")
    outcome = run("reproduce", "--parts", "moon", "-o", tmp_path / "out")
    assert_refused(outcome, "--parts has 'moon': use comparison, ranks, readings")


def test_evaluate_makes_a_part_of_the_table_and_writes_it_again_without_runs(tmp_path):
    asked = ("--only", "synthetic", "--gaps", "slabs:0", "--methods", "mean, Row effects")
    outcome = run("evaluate", *asked, "--splits", 1, "--jobs", 1, "-o", tmp_path)
    assert outcome.exit_code == 0, outcome.output
    page = (tmp_path / "README.md").read_text()
    assert "| synthetic | slabs of row | mean | defaults | 1 |" in page
    lines = (tmp_path / "results.jsonl").read_text()
    (tmp_path / "README.md").unlink()
    assert run("evaluate", "-o", tmp_path, "--tables-only").exit_code == 0
    assert (tmp_path / "README.md").read_text() == page
    assert (tmp_path / "results.jsonl").read_text() == lines
    elsewhere = tmp_path / "pages"
    outcome = run("evaluate", "-o", tmp_path, "--tables-only", "--pages", elsewhere)
    assert outcome.exit_code == 0, outcome.output
    assert (elsewhere / "README.md").read_text() == page
    assert_refused(run("evaluate", "--only", "moon", "-o", tmp_path), "use amino, fia, sugar")


def test_datasets_lists_every_name_and_fetch_refuses_others():
    from vaecp import datasets

    listed = run("datasets", "list").stdout
    assert all(name in listed for name in datasets.names())
    assert_refused(run("datasets", "fetch", "moon"), "there is no dataset 'moon'")
    assert "made on the spot" in run("datasets", "fetch", "synthetic").stderr


# ---- failing ---------------------------------------------------------------------------


def assert_refused(outcome, line):
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stderr.startswith("vaecp: error: ")
    assert outcome.stderr.count("\n") == 1
    assert line in outcome.stderr
    assert outcome.stdout == ""


BAD_INPUT = {
    "an infinite value": ("in.csv", "a,b,y\np,q,inf\n", "values must be finite"),
    "a value that is no number": ("in.csv", "a,b,y\np,q,x\n", "values must be numbers"),
    "a duplicate": ("in.csv", "a,b,y\np,q,1\np,q,2\n", "listed more than once"),
    "one mode": ("in.csv", "a,y\np,1\n", "a tensor needs two or more"),
    "nothing observed": ("in.csv", "a,b,y\np,q,\n", "at least one is needed"),
    "a missing label": ("in.csv", "a,b,y\np,q,1\n,q,2\n", "the label of mode 'a' in line 3"),
    "an entry beyond the shape": ("in.tns", "# shape: 1 1\n2 1 3\n", "mode 0 has size 1"),
    "a file of the wrong kind": ("in.npz", "a,b,y\n", "is not a .npz archive"),
    "an unknown kind": ("in.foo", "x", "the suffix '.foo' is unknown"),
    "a text": ("in.txt", "x", "if it is a table in text, call it in.csv"),
    "an empty file": ("in.csv", "", "is empty"),
}


@pytest.mark.parametrize(("name", "text", "line"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_gets_one_line_and_no_output(asked, tmp_path, name, text, line):
    (tmp_path / name).write_text(text)
    assert_refused(run("complete", tmp_path / name, "-o", tmp_path / "out.csv"), line)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_repeated_labels_get_one_line_and_no_output(asked, tmp_path):
    np.savez(tmp_path / "in.npz", X=np.array([[1.0, np.nan]]), labels_0=["a"], labels_1=["x", "x"])
    outcome = run("complete", tmp_path / "in.npz", "-o", tmp_path / "out.csv")
    assert_refused(outcome, "labels[1] repeats x (rows 0 and 1)")
    assert not (tmp_path / "out.csv").exists()


def test_a_constant_tensor_is_filled_with_its_constant_and_no_spread(asked, tmp_path):
    (tmp_path / "in.csv").write_text("a,b,y\np,q,3\nr,s,3\n")
    assert run("complete", tmp_path / "in.csv", "-o", tmp_path / "out.csv").exit_code == 0
    filled = pd.read_csv(tmp_path / "out.csv")
    assert set(filled["mean"]) == {3.0}
    assert filled["std"].isna().all()


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("out.ods", "out.ods: is a spreadsheet: save it as .xlsx or .csv"),
        ("nowhere/out.csv", "does not exist: create it"),
        ("in.csv", "is the input, which is not overwritten"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_fitting(
    asked, source, tmp_path, output, line
):
    assert_refused(run("complete", source, "-o", tmp_path / output), line)
    assert asked == []
    assert source.read_text() == TABLE


def test_a_missing_input_is_named(asked, tmp_path):
    outcome = run("complete", tmp_path / "missing.csv", "-o", tmp_path / "out.csv")
    assert_refused(outcome, "missing.csv: no such file")


@pytest.mark.parametrize("wrong", [("--coverage", "90"), ("--rank", "0"), ("--absent", "maybe")])
def test_a_wrong_option_gets_one_line(asked, source, tmp_path, wrong):
    outcome = run("complete", source, "-o", tmp_path / "out.csv", *wrong)
    assert_refused(outcome, wrong[0].strip("-"))


def test_an_interruption_exits_with_130_and_leaves_no_output(monkeypatch, source, tmp_path):
    def interrupted(rank, seed):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "default_model", interrupted)
    outcome = run("complete", source, "-o", tmp_path / "out.csv")
    assert outcome.exit_code == 130
    assert "run the same command to start again" in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


def test_a_bug_is_not_hidden_as_an_error_of_the_user(monkeypatch, source, tmp_path):
    monkeypatch.setattr(cli, "default_model", lambda rank, seed: 1 / 0)
    outcome = run("complete", source, "-o", tmp_path / "out.csv")
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith("vaecp: defect: ZeroDivisionError: division by zero (test_cli")
    assert "with --debug, and report" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_debug_shows_the_traceback_wherever_it_stands(monkeypatch, source, tmp_path):
    monkeypatch.setattr(cli, "default_model", lambda rank, seed: 1 / 0)
    command = ["complete", source, "-o", tmp_path / "out.csv"]
    for place in (0, 2, 4):
        outcome = run(*command[:place], "--debug", *command[place:])
        assert outcome.exit_code == 1
        assert "Traceback (most recent call last)" in outcome.stderr
        assert "vaecp: defect: ZeroDivisionError" in outcome.stderr


def test_too_little_memory_is_said_in_one_line(monkeypatch, source, tmp_path):
    def exhausted(rank, seed):
        raise MemoryError

    monkeypatch.setattr(cli, "default_model", exhausted)
    outcome = run("complete", source, "-o", tmp_path / "out.csv")
    assert_refused(outcome, "there is not enough memory for this")


# ---- the whole program -----------------------------------------------------------------


def program(*arguments):
    command = [sys.executable, "-m", "vaecp.app.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_answers_at_once():
    program("--help")
    started = time.perf_counter()
    outcome = program("--help")
    assert time.perf_counter() - started < 1
    assert outcome.returncode == 0
    assert all(command in outcome.stdout for command in ("complete", "predict", "demo", "compare"))


def test_no_heavy_library_is_imported_for_help():
    code = (
        "import sys, vaecp.app.cli; print({'jax', 'numpy', 'pandas', 'sklearn'} & set(sys.modules))"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert outcome.stdout == "set()\n"


def test_the_program_fails_in_one_line_with_code_2(tmp_path):
    outcome = program("complete", tmp_path / "missing.csv", "-o", tmp_path / "out.csv")
    assert outcome.returncode == 2
    assert outcome.stderr.count("\n") == 1
    assert "Traceback" not in outcome.stderr


def test_version_is_that_of_the_package():
    import vaecp

    assert run("--version").stdout == f"vaecp {vaecp.__version__}\n"


# ---- demo ------------------------------------------------------------------------------


@pytest.mark.slow
def test_demo_writes_a_table_and_a_picture_of_real_gaps(asked, tmp_path):
    pytest.importorskip("matplotlib")
    outcome = run("demo", "--output", tmp_path / "demo")
    assert outcome.exit_code == 0, outcome.output
    table = pd.read_csv(tmp_path / "demo" / "interleukin.csv")
    assert len(table) == 13 * 4 * 12 * 8
    gaps = table[~table["observed"]]
    assert len(gaps) == 192
    assert set(gaps["times"]) == {0.5}
    hidden = table[table["hidden"]]
    assert len(hidden) == 480
    assert hidden["observed"].all()
    errors = hidden["response"] - hidden["mean"]
    assert f"{np.sqrt(np.mean(errors**2)):.4f}" in outcome.stdout
    assert (tmp_path / "demo" / "interleukin.png").read_bytes().startswith(b"\x89PNG")
    assert "RMSE there: the mean" in outcome.stdout


def test_demo_refuses_a_file_as_folder_before_fitting(asked, tmp_path):
    (tmp_path / "demo").touch()
    assert_refused(run("demo", "--output", tmp_path / "demo"), "is a file")
    assert asked == []


def stand_in(monkeypatch, method):
    """Let a method stand in for the one of its name, until the test ends."""
    monkeypatch.setitem(registry._METHODS, method.name, method)
