"""The section of the report about sums of products."""

import json
import re

import numpy as np
import pytest

import vaecp
from vaecp.data.observations import Observations
from vaecp.outcomes import diagnostics
from vaecp.show.report import model_report

pytest.importorskip("plotly", reason="plotly is not installed")
pytest.importorskip("jinja2", reason="jinja2 is not installed")


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    factors = [random.random(size=(size, 2)) for size in (12, 7, 6)]
    array = np.einsum("ir,jr,kr->ijk", *factors) + 0.01 * random.normal(size=(12, 7, 6))
    array[random.random(array.shape) < 0.2] = np.nan
    return Observations.from_array(
        array,
        mode_names=["sample", "emission", "excitation"],
        labels=[range(12), range(300, 370, 10), range(240, 300, 10)],
    )


def page_of(model, data, folder, **settings):
    path = model_report(model, folder / "page.html", data, check=False, **settings)
    text = path.read_text()
    figures = re.search(r'id="figures">(.*?)</script>', text, flags=re.DOTALL)[1]
    return text, json.loads(figures)


def test_a_sum_of_products_is_judged_by_the_figures_of_chemometrics(data, tmp_path):
    model = vaecp.CPALS(2, random_state=0).fit_tensor(data)
    text, figures = page_of(model, data, tmp_path)
    entries, factors = diagnostics.decomposition(model, data)
    assert f"explain {diagnostics.explained_variation(entries, factors):.5g} % of" in text
    assert f"core consistency is {diagnostics.core_consistency(entries, factors):.1f} %" in text
    expected = diagnostics.influence(entries, factors, 0)
    np.testing.assert_allclose(figures["influence"][0]["leverage"], expected["leverage"], rtol=1e-3)
    assert figures["influence"][1]["labels"][0] == "300"
    assert set(figures["components"]["names"]) == set(vaecp.eem.peak_names(model))
    assert "How many components" not in text


def test_a_diagnosis_is_shown_with_its_verdict(data, tmp_path):
    model = vaecp.CPALS(2, random_state=0).fit_tensor(data)
    found = diagnostics.diagnose(data, [1, 2, 3], n_starts=3, n_splits=1)
    text, _ = page_of(model, data, tmp_path, diagnosis=found)
    assert "How many components" in text
    assert found.verdict() in text
    assert text.count('<tr><th scope="row">') >= 3


def test_components_that_cancel_each_other_are_named(tmp_path, random):
    first, second = random.normal(size=(2, 3, 8))  # a limit of rank 2 that no rank-2 tensor reaches
    array = sum(
        np.einsum("i,j,k->ijk", *(second[m] if m == mode else first[m] for m in range(3)))
        for mode in range(3)
    )
    model = vaecp.CPALS(2, ridge=1e-12, tol=1e-12, max_iter=3000, random_state=0)
    data = Observations.from_array(array)
    text, _ = page_of(model.fit_tensor(data), data, tmp_path)
    assert "1 pair of components cancel each other" in text


def test_other_models_and_pages_without_data_have_no_such_section(data, tmp_path):
    model = vaecp.HOSVD(rank=2).fit_tensor(data)
    text, figures = page_of(model, data, tmp_path)
    assert 'id="parafac"' not in text
    assert figures["influence"] is None
    alone, _ = page_of(vaecp.CPALS(2, random_state=0).fit_tensor(data), None, tmp_path)
    assert 'id="parafac"' not in alone
