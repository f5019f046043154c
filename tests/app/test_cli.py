"""The command line: what it writes, what it prints, and how it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from command_line import assert_refused, run

from vaecp.app import cli


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
    given = source.read_text()
    assert_refused(run("complete", source, "-o", tmp_path / output), line)
    assert asked == []
    assert source.read_text() == given


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


def program(*arguments):
    command = [sys.executable, "-m", "vaecp.app.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_names_the_commands():
    outcome = program("--help")
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


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_a_name_that_is_no_text_is_shown_with_its_bytes(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("a,b,y\n" + "".join(f"{i},{j},{i * j}\n" for i in range(4) for j in range(4)))
    target = tmp_path / os.fsdecode(b"out\xff.csv")
    outcome = program("complete", source, "-o", target, "--method", "HOSVD", "--rank", 1)
    assert outcome.returncode == 0, outcome.stderr
    assert target.exists()
    assert "udcff" in outcome.stdout


def test_version_is_that_of_the_package():
    import vaecp

    assert run("--version").stdout == f"vaecp {vaecp.__version__}\n"
