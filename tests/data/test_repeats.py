"""Entries that are listed more than once: refused, kept, or averaged by hand."""

from dataclasses import replace

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.data.repeats import settled
from vaecp.errors import ObservationError


@pytest.fixture
def observations():
    return Observations([[0, 1], [1, 1], [0, 1]], [1.0, 5.0, 4.0], (2, 2))


def place(row):
    return f"line {row + 2}"


def test_an_average_has_every_entry_once(observations):
    found = settled(observations, "mean", place)
    assert dict(zip(map(tuple, found.indices.tolist()), found.values, strict=True)) == {
        (0, 1): 2.5,
        (1, 1): 5.0,
    }


def test_an_average_is_by_weight_and_has_the_mean_weight(observations):
    weighted = replace(observations, weights=np.array([3.0, 1.0, 1.0]))
    found = settled(weighted, "mean", place)
    here = found.indices[:, 0] == 0
    assert found.values[here].tolist() == [(3 * 1.0 + 1 * 4.0) / 4]
    assert found.weights[here].tolist() == [2.0]


def test_the_first_two_places_of_an_entry_are_named(observations):
    with pytest.raises(ObservationError, match=r"mode 0=0, mode 1=1 .* \(line 2 and line 4\)"):
        settled(observations, "error", place)


def test_what_is_kept_or_not_repeated_stays_the_same_object(observations):
    assert settled(observations, "keep", place) is observations
    once = observations.take(np.array([0, 1]))
    assert settled(once, "error", place) is once
    assert settled(once, "mean", place) is once


def test_another_choice_is_refused(observations):
    with pytest.raises(ObservationError, match="duplicates is 'sum'"):
        settled(observations, "sum", place)
