"""The sentences of the summary."""

from __future__ import annotations

import numpy as np
import pytest
from report_pages import named

import vaecp
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.outcomes.holdout import MEAN, HeldOutCheck, check_on_held_out
from vaecp.show.report import grid as grids
from vaecp.show.report import model_report
from vaecp.show.report.words import summary_sentences

pytest.importorskip("plotly")
pytest.importorskip("jinja2")
# Fits are stopped early here: how good they are is not the question.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_the_summary_compares_with_the_mean(model, data, tmp_path):
    check = check_on_held_out(model, data)
    page = model_report(model, tmp_path / "r.html", data, check=check).read_text()
    own, guess = check.measures["CPALS"]["rmse"], check.measures[MEAN]["rmse"]
    assert f"{guess / own:.1f} times smaller than with the mean of all values" in page
    assert f"With only {len(check.held_out)} hidden entries" in page
    assert "level (mg)" in page


@pytest.mark.parametrize(
    ("spread", "outliers", "verdict"),
    [
        (1.0, 0, "are reliable there"),
        (0.5, 0, "so its standard deviations are too small"),
        (2.0, 0, "somewhat too large"),
        (
            9.0,
            200,
            "but its 50 % intervals contained 90 %: its errors are mostly smaller than it says",
        ),
    ],
)
def test_the_intervals_are_judged_by_how_many_hidden_values_they_hold(
    model, data, spread, outliers, verdict
):
    random, n = np.random.default_rng(0), 2_000
    errors = random.normal(size=n)
    errors[:outliers] = 100
    held_out = Observations(random.integers(0, 4, (n, 3)), errors, data.shape)
    prediction = Prediction(np.zeros(n), np.full(n, spread), np.zeros(n))
    check = HeldOutCheck(held_out, 10, {"CPALS": prediction, MEAN: prediction}, {})
    assert verdict in " ".join(
        summary_sentences(model, None, check, grids.predict_grid(model, None))
    )


def test_gaps_that_are_harder_than_the_check_are_said_to_be(data):
    array = data.to_array()
    array[3] = np.nan
    block = named(array)
    fitted = vaecp.FBCP(rank=2, n_starts=1, max_iter=50, random_state=0).fit_tensor(block)
    check = check_on_held_out(fitted, block)
    words = " ".join(summary_sentences(fitted, block, check, grids.predict_grid(fitted, block)))
    assert "the gaps are harder than the check" in words
    assert "1 of who had no observed entry at all (d)" in words


def test_gaps_beside_the_largest_values_are_said_to_be():
    grid = np.linspace(-3, 3, 20)
    array = np.exp(-(grid[:, None, None] ** 2) - grid[:, None] ** 2) * np.array([1.0, 1.1, 1.2])
    array[array > np.quantile(array, 0.9)] = np.nan
    labels = (grid, 10 * grid, np.array(["a", "b", "c"]))
    cut = Observations.from_array(array, labels=labels)
    fitted = vaecp.CPALS(rank=1, n_starts=1, random_state=0).fit_tensor(cut)
    words = " ".join(summary_sentences(fitted, cut, None, grids.predict_grid(fitted, cut)))
    assert "of the values beside a gap are among the largest tenth" in words
