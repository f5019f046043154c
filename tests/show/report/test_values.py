"""The page about values that are no real numbers: where they live, classes, reliability."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest
from drawn_values import drawn_values, hidden_part, small_vaecp

import vaecp

pytest.importorskip("plotly")


def page_of(name, tmp_path, *, check):
    array = np.where(hidden_part(), np.nan, drawn_values(name))[:, :6, :6]
    data = vaecp.Observations.from_array(array)
    model = small_vaecp(likelihood=name, rank=2).fit_tensor(data)
    page = vaecp.model_report(model, tmp_path / "page.html", data, check=check).read_text()
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    return page, json.loads(found[1]), model


@pytest.mark.parametrize("name", ["poisson", "log-normal"])
def test_intervals_in_the_slices_are_those_of_the_model(name, tmp_path):
    page, figures, model = page_of(name, tmp_path, check=False)
    packed = figures["grid"]
    low = np.frombuffer(base64.b64decode(packed["low"]), dtype="<f4")
    low = packed["location"] + packed["scale"] * low
    indices = np.argwhere(np.ones(model.shape_))
    expected = model.predict_at(indices).interval(0.9)[0]
    np.testing.assert_allclose(low, expected, rtol=1e-4, atol=1e-4 * packed["scale"])
    assert "why this likelihood" in page


@pytest.mark.parametrize(("name", "n_classes"), [("bernoulli", 2), ("ordinal", 5)])
def test_classes_have_a_reliability_diagram_and_probabilities(name, n_classes, tmp_path):
    page, figures, _ = page_of(name, tmp_path, check=True)
    table = figures["quality"]["reliability"]
    assert sum(table["n"]) == figures["quality"]["scatter"]["n"] * (
        n_classes if n_classes > 2 else 1
    )
    assert 'id="reliability"' in page
    assert re.search(r"<td[^>]*>[01]: [\d.&lt;]+ %, [12]: ", page)


def test_real_numbers_have_neither(tmp_path):
    page, figures, _ = page_of("gaussian", tmp_path, check=True)
    assert figures["quality"]["reliability"] is None
    assert figures["grid"]["low"] is None
    assert 'id="reliability"' not in page
