"""Values of which only limits are known, on their way in."""

import numpy as np
import pandas as pd
import pytest

from vaecp.data.families import Logarithm, LogOdds
from vaecp.data.hints import hints_about
from vaecp.data.limits import Limits, saturated
from vaecp.data.observations import Observations
from vaecp.data.standardising import OwnUnits, Standardiser
from vaecp.errors import ObservationError

INF, NAN = np.inf, np.nan


def limits(lower, upper):
    return Limits(np.zeros((1, 2), dtype=int), [lower], [upper])


@pytest.mark.parametrize(("lower", "upper"), [(2.0, 1.0), (1.0, 1.0), (-INF, INF), (NAN, 1.0)])
def test_limits_that_limit_nothing_are_refused(lower, upper):
    with pytest.raises(ObservationError, match=r"limits at \(0, 0\) are .*at least one of them"):
        Observations([[0, 1]], [1.0], (2, 2), limits=limits(lower, upper))


def test_limits_outside_the_tensor_are_refused():
    outside = Limits([[0, 2]], [1.0], [INF])
    with pytest.raises(ObservationError, match="mode 1 has size 2"):
        Observations([[0, 1]], [1.0], (2, 2), limits=outside)


def test_only_values_that_are_unknown_take_limits():
    keys = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    found = Observations.from_keys(
        keys, [1.0, NAN, NAN, 2.0], lower=[0.5, 3.0, NAN, NAN], upper=[NAN, NAN, 0.2, 9.0]
    )
    assert found.values.tolist() == [1.0, 2.0]
    assert found.limits is not None
    assert found.limits.indices.tolist() == [[0, 1], [1, 0]]
    assert found.limits.lower.tolist() == [3.0, -INF]
    assert found.limits.upper.tolist() == [INF, 0.2]
    assert found.known.tolist() == [[0, 0], [1, 1], [0, 1], [1, 0]]
    assert "limits of 2 others" in repr(found)


def test_a_table_has_columns_of_limits():
    table = pd.DataFrame({"i": [0, 0, 1], "j": [0, 1, 0], "y": [1, NAN, 2], "low": [0, 5, NAN]})
    found = Observations.from_table(table, ["i", "j"], "y", lower="low")
    assert found.limits is not None
    assert found.limits.lower.tolist() == [5.0]
    with pytest.raises(ObservationError, match="has no column 'high'"):
        Observations.from_table(table, ["i", "j"], "y", upper="high")


def test_limits_in_the_wrong_order_are_refused_with_their_place():
    with pytest.raises(ObservationError, match=r"y\[1\] has the limits 5 and 3"):
        Observations.from_keys([(0, 0), (0, 1)], [1.0, NAN], lower=[NAN, 5], upper=[NAN, 3])
    with pytest.raises(ObservationError, match=r"lower has shape \(1,\), but there are 2 values"):
        Observations.from_keys([(0, 0), (0, 1)], [1.0, NAN], lower=[5.0])


def test_a_value_and_a_limit_of_one_entry_are_listed_twice():
    table = pd.DataFrame({"i": [0, 0], "j": [0, 0], "y": [1, NAN], "low": [NAN, 5]})
    with pytest.raises(ObservationError, match=r"i=0, j=0 is listed more than once \(row 0 and"):
        Observations.from_table(table, ["i", "j"], "y", lower="low")
    kept = Observations.from_table(table, ["i", "j"], "y", lower="low", duplicates="mean")
    assert len(kept) == 1
    assert kept.limits is not None


def test_of_saturated_values_only_that_they_are_is_known():
    tensor = Observations.from_array([[1.0, 5.0], [5.0, 2.0]])
    found = saturated(tensor, 5.0)
    assert found.values.tolist() == [1.0, 2.0]
    assert found.limits is not None
    assert found.limits.indices.tolist() == [[0, 1], [1, 0]]
    assert found.limits.lower.tolist() == [5.0, 5.0]
    assert any("2 values are known only by a limit" in hint for hint in hints_about(found))


@pytest.mark.parametrize(("level", "how_many"), [(9.0, "none"), (0.5, "all")])
def test_a_level_that_no_value_or_every_value_reaches_is_refused(level, how_many):
    with pytest.raises(ObservationError, match=rf"{how_many} of the values reach it \(1 to 5\)"):
        saturated(Observations.from_array([[1.0, 5.0]]), level)


def test_limits_are_scaled_as_values_are():
    given = Limits([[0, 0], [0, 1]], [3.0, -INF], [INF, 1.0])
    scaled = given.scaled(Standardiser(1.0, 2.0))
    assert scaled.lower.tolist() == [1.0, -INF]
    assert scaled.upper.tolist() == [INF, 0.0]
    assert given.scaled(OwnUnits(0.0, 1.0)).lower.tolist() == [3.0, -INF]


def test_a_limit_at_the_end_of_what_values_can_be_says_nothing():
    amounts = OwnUnits(1.0, 1.0, Logarithm(0.0, 1.0))
    given = Limits([[0, 0], [0, 1], [1, 0]], [0.0, 0.0, -3.0], [INF, 1.0, 1.0])
    scaled = given.scaled(amounts)
    assert scaled is not None
    assert scaled.indices.tolist() == [[0, 1], [1, 0]]
    assert scaled.lower.tolist() == [-INF, -INF]
    assert scaled.upper.tolist() == [0.0, 0.0]
    assert given.take([0]).scaled(amounts) is None


@pytest.mark.parametrize(
    ("given", "transform", "words"),
    [
        (limits(-INF, 0.0), Logarithm(0.0, 1.0), "limit <0, .*between 0 and inf"),
        (limits(-5.0, -1.0), Logarithm(0.0, 1.0), "limit <-1, .*between 0 and inf"),
        (limits(1.5, INF), LogOdds(0.0, 1.0), "limit >1.5, .*between 0 and 1"),
    ],
)
def test_a_limit_beyond_all_that_values_can_be_is_named_in_the_units_of_the_data(
    given, transform, words
):
    with pytest.raises(
        ObservationError, match=rf"entry at \(0, 0\) has the {words}.*--values real"
    ):
        given.scaled(OwnUnits(1.0, 1.0, transform))


def test_open_ends_reach_beyond_the_exact_values():
    low, high = Limits([[0, 0]], [4.0], [INF]).reach(1.0, 3.0)
    assert low == 1.0
    assert high > 20
