"""A likelihood from outside the package: one class, and one registration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from command_line import run
from drawn_values import SHAPE, hidden_part, small_vaecp
from installed_package import help_with
from method_contract import MethodContract

import vaecp
from vaecp.models.vaecp.likelihoods import Gaussian, Working, register, registry


@dataclass(frozen=True, eq=False)
class Laplace(Gaussian):
    """Errors whose absolute values count, not their squares."""

    name: ClassVar[str] = "laplace"
    words: ClassVar[str] = "real numbers with sharp errors"
    aliases: ClassVar[tuple[str, ...]] = ("double-exponential",)

    def working(self, values, mean, variance):
        size = np.sqrt((values - mean) ** 2 + variance + 1e-6)
        return Working(values, np.sqrt(2 / self.noise_variance) / size)

    def eager(self, values, mean, share):
        return self.working(values, mean, np.zeros_like(mean))

    def log_prob(self, outputs, values):
        import jax.numpy as jnp

        mean, log_variance = outputs
        scale = jnp.exp(log_variance / 2) / jnp.sqrt(2.0)
        return -jnp.log(2 * scale) - jnp.abs(values - mean) / scale


@pytest.fixture
def laplace(monkeypatch):
    """Register the likelihood until the test ends."""
    monkeypatch.setattr(registry, "_KINDS", registry.kinds())
    return register(Laplace)


@pytest.fixture
def values():
    random = np.random.default_rng(0)
    rows = [random.normal(size=(size, 2)) for size in SHAPE]
    return np.einsum("ir,jr,kr->ijk", *rows) + random.laplace(0, 0.3, SHAPE)


def test_it_is_fitted_saved_and_loaded(laplace, values, tmp_path):
    hidden = hidden_part()
    tensor = vaecp.Observations.from_array(np.where(hidden, np.nan, values))
    model = small_vaecp(likelihood="double-exponential").fit_tensor(tensor)
    copy = vaecp.load(vaecp.save(model, tmp_path / "model.vaecp"))
    gaps = np.argwhere(hidden)
    found = model.predict_at(gaps)
    np.testing.assert_array_equal(copy.predict_at(gaps).quantile(0.2), found.quantile(0.2))
    assert (model.likelihood_, copy.likelihood_) == ("laplace", "laplace")
    assert np.sqrt(np.mean((found.mean - values[hidden]) ** 2)) < 0.6
    assert vaecp.metrics.coverage(found, values[hidden]) == pytest.approx(0.9, abs=0.06)


class TestLaplace(MethodContract):
    @pytest.fixture
    def model(self, laplace):
        return small_vaecp(likelihood="laplace", rank=3)


def test_it_is_compared_and_drawn(laplace, values, tmp_path):
    pytest.importorskip("matplotlib")
    path, folder = tmp_path / "in.npy", tmp_path / "out"
    np.save(path, values[:6, :5, :4])
    arguments = ("--methods", "VAECP", "--values", "laplace", "--quick", "--jobs", 1, "-o", folder)
    outcome = run("compare", path, *arguments)
    assert outcome.exit_code == 0, outcome.output
    assert "--values laplace" in " ".join(outcome.stdout.split())
    model = small_vaecp(likelihood="laplace", rank=2).fit_tensor(
        vaecp.Observations.from_array(values)
    )
    cells = np.argwhere(np.ones(SHAPE))
    prediction = model.predict_at(cells)
    assert vaecp.plots.plot_calibration(prediction, values.ravel()).get_xlabel()
    assert vaecp.plots.plot_loadings(model, "mode 0").lines


def test_a_file_is_filled_with_it_and_the_report_names_it(laplace, values, tmp_path):
    pytest.importorskip("plotly")
    path, page = tmp_path / "in.npy", tmp_path / "page.html"
    np.save(path, np.where(hidden_part(), np.nan, values)[:, :4, :4])
    targets = ("-o", tmp_path / "out.npz", "--report", page, "--no-check")
    arguments = ("complete", path, *targets, "--rank", 2, "--values", "laplace")
    outcome = run(*arguments)
    assert outcome.exit_code == 0, outcome.output
    assert "real numbers with sharp errors (laplace): it was asked for" in " ".join(
        outcome.stdout.split()
    )
    assert "laplace" in page.read_text()


def test_a_package_that_is_installed_brings_its_likelihood_to_the_help(tmp_path):
    source = (
        "from vaecp.models.vaecp.likelihoods import Gaussian, register\n\n\n"
        '@register\nclass Laplace(Gaussian):\n    name = "laplace"\n    aliases = ("sharp",)\n'
    )
    for command in ("complete", "compare"):
        assert "laplace (sharp)" in help_with(tmp_path, source, command)
