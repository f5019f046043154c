"""`vaecp reproduce`: figures and a page, and which tensors and parts it knows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from command_line import assert_refused, run, stand_in

from vaecp.models import registry
from vaecp.models.fitted import FitResult


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
