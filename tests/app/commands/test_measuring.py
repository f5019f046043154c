"""`vaecp compare` and `vaecp rank`: the best method or rank, and the command that fits it."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from command_line import assert_refused, run, stand_in


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
        (("--ranks", "1-99999999999999999999"), "at most 1,000 of them"),
        (("--ranks", "9" * 5_000), "give integers from 1, such as 5,10,20"),
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
