"""Hints: given where something looks wrong, and nowhere else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from vaecp.data.hints import hints_about, hints_about_gaps
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction


def filled(means):
    return Prediction(np.array(means), np.ones(len(means)), np.ones(len(means)))


def values(*numbers):
    return Observations.from_array(np.array([numbers, numbers[::-1]], dtype=float))


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ((-999, 3, -999, 12.5, 8), "-999"),
        ((0, 300, 310, 0, 355), "0"),
        ((9999, 1, 2, 9999, 500), "9999"),
        ((-1, 0.2, 0.7, -1, 0.5), "-1"),
    ],
)
def test_a_frequent_value_far_from_all_others_may_mean_missing(numbers, code):
    (hint,) = hints_about(values(*numbers))
    assert f"is {code} in 4 entries" in hint
    assert f"--missing {code} (missing=[{code}])" in hint


@pytest.mark.parametrize(
    ("numbers", "said"), [((-1, 1, 1, 1, -1), "-1 or 1"), ((1, 2) * 3, "1 or 2")]
)
def test_two_numbers_that_are_no_0_and_1_may_be_classes(numbers, said):
    (hint,) = hints_about(values(*numbers))
    assert f"is always {said}: if these are two classes, pass --values ordinal" in hint


@pytest.mark.parametrize(
    "numbers",
    [
        (-1, 1),  # too few to tell
        (3, 3, 3, 3, 3, 3),
        (0, 1, 0, 1, 1),  # yes and no
        (0, 0, 0, 1, 5),  # counts
        (1, 2, 3, 4, 5),  # ratings
        (5, 5, 5, 5, 5),
        (1e6, 1, 2, 3, 4),  # an outlier, once in each row
    ],
)
def test_ordinary_values_get_no_hint(numbers):
    assert hints_about(values(*numbers)) == []


def test_labels_that_differ_in_case_or_accents_are_named():
    labels = (np.array(["Zürich", "zurich", "Bonn"], dtype=object), np.array(["a b", "ab"]))
    data = Observations([[0, 0], [1, 1]], [1.0, 2.0], (3, 2), ("city", "kind"), labels)
    first, second = hints_about(data)
    assert "'city' has the labels 'Zürich' and 'zurich', which count as different" in first
    assert "'a b' and 'ab'" in second


def peak(n=30):
    grid = np.linspace(-3, 3, n)
    return np.exp(-(grid[:, None] ** 2) - grid**2)


def observed(array):
    labels = [np.arange(len(array)) * 2.5, np.arange(len(array)) * 0.1]
    return Observations.from_array(array, mode_names="xy", labels=labels)


def test_gaps_where_a_detector_is_saturated_are_noticed():
    array = peak()
    array[array > np.quantile(array, 0.9)] = np.nan
    (hint,) = hints_about_gaps(observed(array), filled([0.1]))
    assert "of the values beside a gap are among the largest tenth" in hint
    assert "write the limit in place of the gap, such as >1000" in hint
    (hint,) = hints_about_gaps(observed(-array), filled([-0.1]))
    assert "smallest tenth" in hint
    assert "limit of detection" in hint


def test_gaps_at_random_are_not(random):
    array = peak()
    array[random.random(array.shape) < 0.05] = np.nan
    assert hints_about_gaps(observed(array), filled([0.1])) == []


def test_names_have_no_neighbours():
    array = peak()
    array[array > np.quantile(array, 0.9)] = np.nan
    names = [np.array([f"n{row}" for row in range(30)], dtype=object)] * 2
    data = Observations.from_array(array, labels=names)
    assert hints_about_gaps(data, filled([0.1])) == []


def test_filled_values_beyond_the_observed_range_are_counted():
    data = Observations.from_array([[1.0, 2.0, np.nan], [3.0, np.nan, 5.0]])
    (hint,) = hints_about_gaps(data, filled([5.1, 9.5, 0.0]))
    assert "2 of 3 filled values lie outside the range of the observed ones (1 to 5)" in hint
    assert "the farthest at 9.5" in hint


def test_a_mode_that_only_describes_another_one_is_noticed():
    wells, contents = np.repeat(np.arange(6), 4), np.repeat([0, 1, 2, 0, 1, 2], 4)
    indices = np.column_stack([wells, contents, np.tile(np.arange(4), 6)])
    data = Observations(indices, np.arange(24.0), (6, 3, 4), ("well", "content", "time"))
    (hint,) = hints_about(data)
    assert "Every label of 'well' has only one label of 'content'" in hint
    crossed = Observations.from_array(np.arange(24.0).reshape(2, 3, 4))
    assert hints_about(crossed) == []


def test_a_mode_whose_labels_each_have_one_entry_is_named():
    indices = np.array([[row, row % 2, row % 3] for row in range(6)])
    names = ("visit", "shop", "day")
    (hint,) = hints_about(Observations(indices, np.arange(6.0), (6, 2, 3), names))
    assert "Every entry has its own label of 'visit'" in hint
    assert "--wide NAME --modes visit" in hint


def test_a_mode_of_many_different_fractions_may_hold_the_values():
    table = pd.DataFrame({"price": [1.5, 2.5, 3.5, 1.5], "shop": list("abab"), "day": [1, 1, 2, 2]})
    (hint,) = hints_about(Observations.from_table(table, ["price", "shop"], "day"))
    assert "'price' has 3 different numbers in 4 entries: if it holds the values" in hint


def test_many_entries_at_exactly_the_largest_value_may_be_saturated(random):
    array = random.normal(size=(20, 15))
    (hint,) = hints_about(Observations.from_array(np.minimum(array, 1.5)))
    assert "is 1.5, the largest value, in" in hint
    assert "--saturated-at 1.5" in hint
    assert hints_about(Observations.from_array(array)) == []
    rounded = np.round(np.minimum(array, 1.5), 1)  # others are repeated as well
    assert hints_about(Observations.from_array(rounded)) == []


@pytest.mark.parametrize(
    ("end", "said"), [(1, "saturated, write >1"), (-1, "detection, write <-1")]
)
def test_gaps_that_are_filled_beyond_one_end_may_have_a_limit(random, end, said):
    array = end * np.minimum(np.abs(random.normal(size=(20, 15))), 1.0)
    (hint,) = hints_about_gaps(Observations.from_array(array), filled([end * 2.0] * 12))
    assert said in hint
    (both,) = hints_about_gaps(Observations.from_array(array), filled([end * 2.0, -2.0 * end] * 6))
    assert "write" not in both


def test_a_regular_scale_that_skips_labels_is_named(random):
    days = pd.date_range("2024-01-01", periods=30).delete([7, 8, 20])
    tensor = Observations.from_array(random.normal(size=(27, 4)), labels=[days, list("abcd")])
    (hint,) = hints_about(tensor)
    assert "skip 3 of 30, the first after 2024-01-07" in hint
    weekdays = pd.bdate_range("2024-01-01", periods=27)
    usual = Observations.from_array(random.normal(size=(27, 4)), labels=[weekdays, list("abcd")])
    assert hints_about(usual) == []


def test_a_mode_with_a_label_for_every_entry_is_named_also_where_other_rows_are_gaps(random):
    table = pd.DataFrame(
        {
            "site": range(12),
            "ash": np.arange(12) % 5,
            "oak": np.arange(12) % 7,
            "yew": random.random(12),
        }
    )
    table.loc[3, "yew"] = np.nan
    tensor = Observations.from_table(table, modes=["site", "ash", "oak"], value="yew")
    assert any("Every entry has its own label of 'site'" in hint for hint in hints_about(tensor))
