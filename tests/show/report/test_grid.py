"""Which entries of a tensor are on the page."""

from __future__ import annotations

import numpy as np
import pytest
from report_pages import figures_of, named, tensor, unpacked

import vaecp
from vaecp.data.observations import Observations
from vaecp.show.report import grid as grids
from vaecp.show.report import model_report

pytest.importorskip("plotly")
pytest.importorskip("jinja2")
# Fits are stopped early here: how good they are is not the question.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_large_tensor_is_thinned_out_and_the_page_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(grids.thinned, "__defaults__", (50, 400))
    data = named(tensor())
    model = vaecp.CPALS(rank=1, n_starts=1, max_iter=5, random_state=0).fit_tensor(data)
    page = model_report(model, tmp_path / "r.html", data, check=False).read_text()
    figures = figures_of(page)
    assert [len(rows) for rows in figures["kept"]] == [4, 4, 3]
    assert "48 of 120 entries are in it" in page
    kept = np.ix_(*figures["kept"])
    packed = figures["grid"]
    given = packed["location"] + packed["scale"] * unpacked(packed["given"])
    np.testing.assert_allclose(given, data.to_array()[kept].ravel(), rtol=1e-5)


def test_thinning_keeps_small_modes_whole_and_both_ends():
    kept = grids.thinned((3, 100_000, 500), max_cells=30_000, max_rows=400)
    assert [len(rows) for rows in kept] == [3, 100, 100]
    assert all(rows[0] == 0 for rows in kept)
    assert [rows[-1] for rows in kept] == [2, 99_999, 499]


def test_a_tensor_too_vast_to_list_has_a_page(tmp_path):
    random = np.random.default_rng(0)
    indices = random.integers(0, 5_000, (300, 3))
    data = Observations(indices, random.normal(size=300), (5_000, 5_000, 5_000))
    model = vaecp.CPALS(rank=1, n_starts=1, max_iter=2, random_state=0).fit_tensor(data)
    page = model_report(model, tmp_path / "r.html", data, check=False)
    assert page.stat().st_size < 12e6
    assert "125,000,000,000 entries" in page.read_text()
