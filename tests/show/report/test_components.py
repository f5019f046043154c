"""Which components, settings and folded rows a page shows."""

from __future__ import annotations

import pytest
from quick_models import QUICK_MODELS
from sklearn.base import clone

import vaecp
from vaecp.outcomes.components import relevance
from vaecp.show.report import model_report
from vaecp.show.report.components import component_figures
from vaecp.show.report.folded import folded_rows
from vaecp.show.report.settings import settings_shown

pytest.importorskip("plotly")
pytest.importorskip("jinja2")
# Fits are stopped early here: how good they are is not the question.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_only_components_that_matter_are_shown(data):
    fitted = vaecp.CPALS(rank=5, n_starts=1, max_iter=200, random_state=0).fit_tensor(data)
    weights = relevance(fitted)
    matter = weights["relevance"] >= 0.05 * weights.groupby("mode")["relevance"].transform("max")
    figures = component_figures(fitted)
    assert figures["n"] == matter.groupby(weights["mode"]).sum().max() < 5
    assert figures["n_all"] == 5
    assert len(figures["relevance"]["groups"][0]["values"]) == figures["n"]


def test_settings_name_what_the_method_chose(data):
    model = clone(QUICK_MODELS[0]).fit_tensor(data)
    given = dict(settings_shown(model))
    assert given["rank"] == "2"
    model = clone(QUICK_MODELS[0]).set_params(rank=None, n_members=None).fit_tensor(data)
    chosen = dict(settings_shown(model))
    rank, n_members = model.factors_[0].shape[1], len(model.fitted_.ensemble)
    assert chosen["rank"] == f"{rank}, chosen by the method"
    assert chosen["n_members"] == f"{n_members}, chosen by the method"


def test_rows_that_were_folded_in_are_listed_apart(tmp_path):
    keys = [(f"s{i}", j) for i in range(6) for j in range(5)]
    model = vaecp.CPALS(rank=1, random_state=0).fit(
        keys, [(1 + i // 5) * (1 + i % 5) for i in range(30)]
    )
    assert folded_rows(model) == []
    grown = model.fold_in([("later", 0), ("later", 3)], [2.0, 8.0])
    ((mode, label, own, usual),) = folded_rows(grown)
    assert (mode, label) == (model.mode_names_[0], "later")
    assert float(own) > 0
    assert float(usual) > 0
    page = model_report(grown, tmp_path / "page.html").read_text()
    assert "Rows that were folded in" in page
    assert "Rows that were folded in" not in model_report(model, tmp_path / "p.html").read_text()
