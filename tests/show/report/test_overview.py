"""What the data look like, counted by hand."""

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.show.report import overview


@pytest.fixture
def observations():
    """Two of six entries, one of them measured twice; the last column was never seen."""
    return Observations([[0, 0], [0, 0], [1, 1]], [1.0, 3.0, 2.0], (2, 3))


def test_missing_shares_count_a_repeated_entry_once(observations):
    rows, columns = overview.data_overview(observations)["missing"]
    np.testing.assert_allclose(rows["share"], [2 / 3, 2 / 3], rtol=1e-3)
    np.testing.assert_allclose(columns["share"], [0.5, 0.5, 1.0])
    assert overview.count_cells(observations) == 2


def test_labels_without_an_entry_are_named_with_their_mode(observations):
    assert overview.never_observed(observations) == [("mode 1", ["2"])]


def test_many_labels_are_shown_as_groups(monkeypatch, observations):
    monkeypatch.setattr(overview, "MAX_BARS", 2)
    columns = overview.data_overview(observations)["missing"][1]
    assert (columns["first"], columns["last"], columns["grouped"]) == ([0, 2], [1, 2], True)
    np.testing.assert_allclose(columns["share"], [0.5, 1.0])


def test_the_histogram_counts_every_value(observations):
    assert sum(overview.data_overview(observations)["histogram"]["counts"]) == 3
