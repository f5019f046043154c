"""The entries that a page lists as surprising or uncertain."""

from __future__ import annotations

import numpy as np
import pytest

import vaecp
from vaecp.show.report import grid as grids
from vaecp.show.report.notable import most_surprising, most_uncertain

pytest.importorskip("plotly")
pytest.importorskip("jinja2")
# Fits are stopped early here: how good they are is not the question.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_typing_error_is_the_most_surprising_entry(data):
    slip = int(np.flatnonzero((data.indices == data.indices[17]).all(1))[0])
    values = np.array(data.values)
    values[slip] *= 3
    wrong = data.with_values(values)
    fitted = vaecp.FBCP(rank=2, n_starts=1, max_iter=50, random_state=0).fit_tensor(data)
    found = most_surprising(wrong, grids.predict_grid(fitted, wrong))
    np.testing.assert_array_equal(found.indices[0], data.indices[slip])
    assert found.values[0] == values[slip]


def test_the_most_uncertain_entries_are_gaps_of_the_widest_std(model, data):
    grid = grids.predict_grid(model, data)
    found = most_uncertain(grid)
    result = vaecp.outcomes.completion.fill(model, data)
    widest = np.sort(result.std[~result.observed])[::-1][: len(found)]
    np.testing.assert_allclose(found.prediction.std, widest)
    assert np.isnan(data.to_array()[tuple(found.indices.T)]).all()
