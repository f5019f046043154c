"""A method from outside the package: one class of its own, and one registration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from command_line import run
from installed_package import help_with
from method_contract import MethodContract, Table, small_model

import vaecp
from vaecp.data.prediction import Prediction
from vaecp.errors import ObservationError
from vaecp.models import registry
from vaecp.models.base import TensorEstimator
from vaecp.models.fitted import FitResult, Fitted

COLOUR = "#123456"


@dataclass(frozen=True, eq=False)
class Effects(Fitted):
    entries: np.ndarray
    values: np.ndarray
    sizes: np.ndarray
    ridge: float

    @property
    def factors(self):
        weights = np.linalg.solve(self._covariance(), self.values)
        columns = zip(self.entries.T, self.sizes, strict=True)
        return tuple(np.bincount(rows, weights, size)[:, None] for rows, size in columns)

    def predict(self, indices):
        shared = alike(indices, self.entries)
        solved = np.linalg.solve(self._covariance(), shared.T)
        variance = 1 - np.sum(shared * solved.T, axis=1)
        noise = np.full(len(indices), np.sqrt(self.ridge))
        return Prediction(solved.T @ self.values, noise, np.sqrt(np.maximum(variance, 0)))

    def _covariance(self):
        return alike(self.entries, self.entries) + self.ridge * np.eye(len(self.values))


def alike(some, others):
    """Effects of rows and of their combinations are independent, so those in common count."""
    same = (some[:, None] == others) & (some[:, None] >= 0)
    return np.prod(1 + same, axis=2) / 2 ** some.shape[1]


class RowEffects(TensorEstimator):
    """One number per row and per combination of rows, with a ridge: a Gaussian process."""

    fitted_type = Effects

    def __init__(self, ridge=0.01, random_state=None):
        self.ridge = ridge
        self.random_state = random_state

    def _fit(self, observations, random):
        sizes = np.array(observations.shape)
        return FitResult(Effects(observations.indices, observations.values, sizes, self.ridge))


METHOD = vaecp.Method("RowEffects", RowEffects, colour=COLOUR, takes_rank=False)


@pytest.fixture
def method(monkeypatch):
    """Register the method until the test ends."""
    monkeypatch.setattr(registry, "_METHODS", dict(registry.methods()))
    return vaecp.register(METHOD)


@pytest.fixture
def file(tmp_path):
    table = Table()
    path = tmp_path / "table.csv"
    table.keys.assign(y=table.values).to_csv(path, index=False)
    return path


class TestRowEffects(MethodContract):
    @pytest.fixture
    def model(self, method):
        return small_model(method)


def test_a_file_is_filled_reported_saved_and_read_again(method, file, tmp_path):
    pytest.importorskip("plotly")
    filled, saved, page = (tmp_path / name for name in ("filled.csv", "m.vaecp", "page.html"))
    targets = ("-o", filled, "--save", saved, "--report", page)
    outcome = run("complete", file, "--method", "roweffects", *targets)
    assert outcome.exit_code == 0, outcome.output
    text = page.read_text()
    assert "RowEffects" in text
    assert f"from {RowEffects.__module__} import RowEffects" in text
    model, table = vaecp.load(saved), pd.read_csv(filled)
    keys = table[["who", "dose", "time"]]
    np.testing.assert_allclose(model.predict(keys), table["mean"], atol=6e-4)


def test_it_is_compared_and_drawn_in_its_colour(method, file, tmp_path):
    from matplotlib.colors import to_hex

    from vaecp.show.plots import plot_rmse_boxes
    from vaecp.study.experiments import Results

    arguments = ("--methods", "RowEffects,HOSVD", "--ranks", "1,2", "--repeats", 2, "--jobs", 1)
    outcome = run("compare", file, *arguments, "-o", tmp_path / "out")
    assert outcome.exit_code == 0, outcome.output
    assert "RowEffects" in (tmp_path / "out" / "table.md").read_text()
    frame = Results(tmp_path / "out").frame()
    ax = plot_rmse_boxes(frame[frame["method"] == "RowEffects"])
    assert to_hex(ax.patches[0].get_facecolor()) == COLOUR


def test_its_rows_are_drawn_in_the_order_that_they_have(method):
    table = Table()
    model = RowEffects().fit(table.keys, table.values)
    assert vaecp.plots.plot_loadings(model, "dose").get_xlabel() == "dose"
    with pytest.raises(ObservationError, match="RowEffects has no components"):
        vaecp.plots.plot_relevance(model)


def test_a_package_that_is_installed_brings_its_method_to_the_help(tmp_path):
    """An entry point names a module that registers the method, which is loaded when it is built."""
    source = (
        'import vaecp\nvaecp.register(vaecp.Method("RowEffects", "test_toy_method:RowEffects"))\n'
    )
    for command in ("complete", "compare"):
        assert "RowEffects" in help_with(tmp_path, source, command)
