"""How the command line behaves: JSON, silence, progress, interruptions, the tab key, help."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from command_line import run

import vaecp
from vaecp.app import cli
from vaecp.app.commands import suggestions
from vaecp.data.observations import Observations
from vaecp.models import registry
from vaecp.outcomes.holdout import check_on_held_out
from vaecp.runtime.progress import _clock, progress_bar, watched

COMMANDS = (
    "complete",
    "predict",
    "demo",
    "compare",
    "rank",
    "diagnose",
    "reproduce",
    "evaluate",
    "datasets fetch",
    "datasets write",
)


@pytest.fixture
def table(tmp_path, random):
    """A 6 x 5 x 4 tensor of rank 1 with text labels, of which about a quarter is missing."""
    rows = np.einsum("i,j,k->ijk", *(1 + random.random(size) for size in (6, 5, 4)))
    lines = [
        f"s{i},{250 + 10 * j},{k},{'' if random.random() < 0.25 else round(value, 6)}"
        for (i, j, k), value in np.ndenumerate(rows)
    ]
    path = tmp_path / "spectra.csv"
    path.write_text("\n".join(["sample,nm,minute,signal", *lines]) + "\n")
    return path


def complete(table, *options):
    output = table.with_name("filled.csv")
    return run("complete", table, "-o", output, "--method", "HOSVD", "--rank", 1, *options)


# ---- for machines, and for nobody ------------------------------------------------------


def test_json_of_complete_says_what_was_done_with_what_and_how_well(table):
    summary = json.loads(complete(table, "--json").stdout)
    filled = pd.read_csv(summary["output"])
    assert summary["shape"] == [6, 5, 4]
    assert summary["modes"] == ["sample", "nm", "minute"]
    assert summary["observed"] + summary["gaps_filled"] == len(filled) == 120
    assert summary["method"] == "HOSVD"
    assert summary["settings"]["rank"] == 1
    observed = filled[filled["observed"]]
    rmse = np.sqrt(np.mean((observed["signal"] - observed["mean"]) ** 2))
    np.testing.assert_allclose(summary["quality"]["rmse_of_observed"], rmse, rtol=0.01)
    gaps = filled[~filled["observed"]]
    np.testing.assert_allclose(
        summary["quality"]["mean_std_of_gaps"], gaps["std"].mean(), rtol=0.01
    )


@pytest.fixture
def one_of_each(table, tmp_path, monkeypatch):
    """A quick run of every command, VAECP being replaced by a Tucker decomposition."""
    pytest.importorskip("matplotlib")
    from vaecp.models.registry import Method

    stand_in(monkeypatch, Method("VAECP", vaecp.HOSVD))
    monkeypatch.setattr(cli, "default_model", lambda rank, seed: vaecp.HOSVD(2))
    model, small = tmp_path / "m.vaecp", ("--ranks", "1,2", "--folds", 2, "--jobs", 1)
    assert complete(table, "--save", model).exit_code == 0
    return {
        "complete": (table, "-o", tmp_path / "out.csv"),
        "predict": (model, table, "-o", tmp_path / "answers.csv"),
        "demo": ("-o", tmp_path / "demo"),
        "compare": (table, "--methods", "HOSVD", "--repeats", 1, "-o", tmp_path / "c", *small),
        "rank": (table, "-o", tmp_path / "r", *small),
        "datasets list": (),
        "datasets fetch": ("synthetic",),
        "datasets write": ("il2", "-o", tmp_path / "il2.csv"),
    }


def test_json_is_one_object_alone_on_standard_output(one_of_each):
    for command, arguments in one_of_each.items():
        outcome = run(*command.split(), *arguments, "--json")
        assert outcome.exit_code == 0, outcome.output
        assert isinstance(json.loads(outcome.stdout), dict)
        assert outcome.stdout.count("\n") == 1
        assert outcome.stderr == ""


def test_quiet_prints_nothing(one_of_each):
    for command, arguments in one_of_each.items():
        outcome = run(*command.split(), *arguments, "--quiet")
        assert (outcome.exit_code, outcome.output) == (0, ""), command


def test_quiet_still_prints_errors(table):
    outcome = run("complete", table.with_name("none.csv"), "-o", "out.csv", "--quiet")
    assert outcome.exit_code == 2
    assert "no such file" in outcome.stderr


def test_the_command_that_compare_proposes_reads_the_input_as_it_was_read(one_of_each, tmp_path):
    """One row per sample, one column per wavelength."""
    wide = tmp_path / "wide.csv"
    values = np.outer(np.arange(1.0, 9), np.arange(1.0, 7))
    pd.DataFrame(values, columns=range(300, 306)).rename_axis("sample").to_csv(wide)
    small = ("--ranks", "1", "--folds", 2, "--jobs", 1, "-o", tmp_path / "w")
    outcome = run("rank", wide, "--wide", "nm", *small, "--json")
    assert json.loads(outcome.stdout)["command"].endswith("--rank 1 --wide nm")


# ---- warnings and progress -------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch):
    """A model that stops long before it has converged, and says so."""
    model = vaecp.CPALS(rank=2, max_iter=2, n_starts=1, tol=0.0)
    monkeypatch.setattr(cli, "default_model", lambda rank, seed: model)


def test_a_warning_is_one_line_to_people_a_field_to_machines_and_nothing_when_quiet(
    impatient, table
):
    arguments = ("complete", table, "-o", table.with_name("out.csv"))
    shown, silent = run(*arguments), run(*arguments, "--quiet")
    assert shown.stderr.startswith("vaecp: warning: CPALS stopped after max_iter=2 sweeps")
    assert shown.stderr.count("\n") == 1
    assert silent.output == ""
    assert "raise max_iter" in json.loads(run(*arguments, "--json").stdout)["warnings"][0]


@pytest.mark.parametrize(
    ("model", "unit"),
    [
        (vaecp.CPALS(2), "sweeps"),
        (vaecp.NCP(2, max_iter=50), "sweeps"),
        (vaecp.HOSVD(2), "fillings"),
        (vaecp.FBCP(2, max_iter=60), "sweeps"),
        (vaecp.InfTucker(2, max_iter=3), "rounds"),
    ],
    ids=lambda item: type(item).__name__ if hasattr(item, "fit") else item,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_method_reports_how_far_it_is(model, unit, table):
    reports = []
    with watched(lambda *report: reports.append(report)):
        model.fit_tensor(vaecp.read(table))
    counted = [(done, total) for done, total, name in reports if name == unit]
    assert counted
    assert all(0 <= done <= total for done, total in counted)


def test_training_reports_its_steps_to_whoever_watches_and_draws_no_bar(capsys):
    reports = []
    with watched(lambda *report: reports.append(report)), progress_bar("VAECP") as update:
        update(4, 9, "epochs")
    assert reports == [(4, 9, "epochs")]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_a_person_at_a_terminal_sees_the_steps_and_the_time_left(table, monkeypatch, columns):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", columns)
    outcome = complete(table)
    assert outcome.exit_code == 0
    assert "Fitting 6 x 5 x 4" in outcome.stderr
    assert re.search(r"\d+ % \w+", outcome.stderr)
    assert re.search(r"\d:\d\d, left (\d|-)+:(\d\d|--)\W", outcome.stderr)
    assert "Fitting" not in outcome.stdout


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.9, "0:00"), (83, "1:23"), (754, "12:34"), (4 * 3600 + 83, "4:01:23")]
)
def test_times_are_short(seconds, shown):
    assert _clock(seconds) == shown


def test_the_check_of_a_report_reports_how_far_it_is():
    data = Observations.from_array(np.arange(48.0).reshape(8, 6))
    units = set()
    with watched(lambda done, total, unit: units.add(unit)):
        check_on_held_out(vaecp.VAECP(rank=1, n_members=1), data)
    assert any(unit.startswith("% searching") for unit in units)


def test_a_wrong_option_points_to_the_help_of_its_command(table):
    outcome = run("complete", table, "-o", "x.csv", "--rank", "many")
    assert outcome.stderr.endswith(". Try 'vaecp complete --help'.\n")


# ---- interruptions and refusals --------------------------------------------------------


def test_ctrl_c_while_writing_leaves_the_earlier_file_and_no_other(table, monkeypatch):
    assert complete(table).exit_code == 0
    before = table.with_name("filled.csv").read_bytes()

    def half_written(frame, path, **settings):
        path.write_text("sample,nm")
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", half_written)
    outcome = complete(table)
    assert outcome.exit_code == 130
    assert "run the same command to start again" in outcome.stderr
    assert table.with_name("filled.csv").read_bytes() == before
    assert {path.name for path in table.parent.iterdir()} == {"spectra.csv", "filled.csv"}


@pytest.mark.parametrize(
    ("header", "label", "output", "line"),
    [
        ("std,b,y", "p", "out.csv", "'std' has the name of a column of the result"),
        ("a,b,y", "naïve", "out.mat", "holds only ASCII text"),
        ("a/c,b,y", "p", "out.nc", "cannot be a name in a .nc file"),
    ],
)
def test_what_the_output_cannot_hold_is_refused_before_the_fit(
    tmp_path, monkeypatch, header, label, output, line
):
    monkeypatch.setattr(vaecp.HOSVD, "fit_tensor", None)  # would fail, if it came so far
    (tmp_path / "in.csv").write_text(f"{header}\n{label},q,1\nr,q,2\n", encoding="utf-8")
    arguments = (tmp_path / "in.csv", "-o", tmp_path / output, "--method", "HOSVD")
    outcome = run("complete", *arguments)
    assert outcome.exit_code == 2, outcome.output
    assert line in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_a_data_frame_is_refused_with_both_ways_to_pass_it():
    frame = pd.DataFrame({"user": [1, 2], "week": [1, 1], "stars": [3.0, 4.0]})
    with pytest.raises(vaecp.errors.ObservationError, match=r"pass modes=.*or frame\.to_numpy"):
        vaecp.complete(frame)


def test_a_reader_that_closes_the_pipe_gets_no_traceback():
    command = f"{sys.executable} -m vaecp datasets list | true"
    outcome = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=dict(os.environ)
    )
    assert "Traceback" not in outcome.stderr


# ---- the tab key, and help -------------------------------------------------------------


def offered(words, monkeypatch):
    """Return what the shell would offer for the last of these words."""
    monkeypatch.setenv("_VAECP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(["vaecp", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    return run(prog_name="vaecp").stdout.split()


def test_commands_methods_datasets_and_columns_complete(table, monkeypatch):
    assert offered(["com"], monkeypatch) == ["complete", "compare"]
    assert offered(["complete", str(table), "--method", "H"], monkeypatch) == ["HOSVD"]
    assert offered(["compare", str(table), "--methods", "CPALS,N"], monkeypatch) == ["CPALS,NCP"]
    assert offered(["datasets", "fetch", "am"], monkeypatch) == ["amino"]
    assert offered(["rank", str(table), "--value", "s"], monkeypatch) == ["sample", "signal"]
    chosen = offered(["rank", str(table), "--modes", "sample,"], monkeypatch)
    assert chosen == ["sample,nm", "sample,minute", "sample,signal"]


def test_the_names_offered_are_those_that_there_are():
    from vaecp import datasets
    from vaecp.study.evaluation import SUBJECTS
    from vaecp.study.reproduction.study import NAMES

    assert set(suggestions.DATASETS) == set(datasets.names())
    assert suggestions.STUDIED == NAMES
    assert tuple(SUBJECTS) == suggestions.EVALUATED


@pytest.mark.parametrize("command", COMMANDS)
def test_help_gives_an_example_that_begins_with_the_command(command):
    outcome = run(*command.split(), "--help")
    assert outcome.exit_code == 0
    assert f"$ vaecp {command}" in outcome.stdout


def stand_in(monkeypatch, method):
    """Let a method stand in for the one of its name, until the test ends."""
    monkeypatch.setitem(registry._METHODS, method.name, method)


def test_a_rank_that_a_method_chooses_by_itself_is_null_in_json(capsys):
    from vaecp.app.commands.printing import as_json

    as_json({"rank": pd.NA, "median": np.float64(0.5)})
    assert json.loads(capsys.readouterr().out) == {"rank": None, "median": 0.5}
