"""`--values`: what kind of values there are, on the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from command_line import run

from vaecp.app.commands.suggestions import VALUES, values
from vaecp.models.vaecp.likelihoods import find, kinds


@pytest.fixture
def file(tmp_path):
    """Stars by user and film, with two gaps."""
    random = np.random.default_rng(0)
    likes, good = random.normal(size=9), random.normal(size=8)
    stars = np.clip(np.round(3 + likes[:, None] + good + 0.5 * random.normal(size=(9, 8))), 1, 5)
    rows = [f"u{i},f{j},{stars[i, j]:g}" for i in range(9) for j in range(8)]
    rows[3], rows[40] = "u0,f3,", "u5,f0,"
    path = tmp_path / "stars.csv"
    path.write_text("\n".join(["user,film,stars", *rows, ""]))
    return path


def test_the_names_that_the_help_lists_are_those_that_there_are():
    assert list(VALUES) == ["auto", *kinds()]
    for name, others in VALUES.items():
        assert all(find(other).name == name for other in others)
    assert values("co") == ["counts"]


@pytest.mark.parametrize(
    ("layout", "columns"), [("input", ["user", "film"]), ("long", ["user", "film"])]
)
def test_ratings_are_filled_with_probabilities_of_stars(file, tmp_path, layout, columns):
    output = tmp_path / "out.csv"
    options = ("--values", "ratings", "--rank", 1, "--layout", layout)
    outcome = run("complete", file, "-o", output, *options)
    assert outcome.exit_code == 0, outcome.output
    assert "ordered classes (ordinal): it was asked for" in " ".join(outcome.stdout.split())
    filled = pd.read_csv(output)
    assert list(filled)[:2] == columns
    probabilities = filled[[f"p_{star}" for star in range(1, 6)]]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=0.01)
    np.testing.assert_allclose(probabilities @ np.arange(1, 6), filled["mean"], atol=0.02)
    assert filled["low"].isin(range(1, 6)).all()
    assert filled["high"].isin(range(1, 6)).all()


def test_fit_and_predict_answer_with_probabilities(file, tmp_path):
    model, queries, answers = (tmp_path / name for name in ("m.vaecp", "q.csv", "a.csv"))
    summary = run("fit", file, "-o", model, "--values", "stars", "--rank", 1, "--json")
    told = json.loads(summary.stdout)
    assert (told["likelihood"], told["likelihood_reason"]) == ("ordinal", "it was asked for")
    queries.write_text("user,film\nu0,f3\nnobody,f1\n")
    assert run("predict", model, queries, "-o", answers).exit_code == 0
    assert list(pd.read_csv(answers))[-5:] == [f"p_{star}" for star in range(1, 6)]


def test_a_kind_that_there_is_not_is_named_with_those_that_there_are(file, tmp_path):
    outcome = run("complete", file, "-o", tmp_path / "out.csv", "--values", "moods")
    assert outcome.exit_code == 2
    assert "--values is 'moods': use 'auto', 'gaussian'" in outcome.stderr


def test_methods_for_real_numbers_take_no_kind(file, tmp_path):
    options = ("--values", "counts", "--method", "CPALS", "--rank", 1)
    outcome = run("complete", file, "-o", tmp_path / "out.csv", *options)
    assert outcome.exit_code == 2
    assert "CPALS takes all values for real numbers" in outcome.stderr


def test_values_of_another_kind_are_refused_in_one_line(file, tmp_path):
    outcome = run("complete", file, "-o", tmp_path / "out.csv", "--values", "yes-no")
    assert outcome.exit_code == 2
    assert "cannot be one of bernoulli values: they are 0 or 1" in outcome.stderr


def test_a_comparison_says_who_takes_values_for_real_numbers(file, tmp_path):
    options = ("--methods", "VAECP,HOSVD", "--ranks", 1, "--repeats", 1, "--jobs", 1)
    outcome = run(
        "compare", file, *options, "--values", "ratings", "-o", tmp_path / "out", "--json"
    )
    assert outcome.exit_code == 0, outcome.output
    told = json.loads(outcome.stdout)
    assert told["notes"][-1] == "HOSVD take all values for real numbers, whatever they are."
    if told["best"] == "VAECP":
        assert "--values ratings" in told["command"]
