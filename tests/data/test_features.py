"""Tables about rows become numbers, and bad ones are refused in one line."""

import numpy as np
import pandas as pd
import pytest

from vaecp.data.features import with_features
from vaecp.data.observations import Observations
from vaecp.data.selecting import select
from vaecp.errors import ObservationError


@pytest.fixture
def ratings() -> Observations:
    keys = pd.DataFrame({"user": [1, 1, 2, 3, 3], "film": ["a", "b", "c", "a", "d"]})
    return Observations.from_keys(keys, np.arange(5.0), ["user", "film"])


def films(**columns) -> pd.DataFrame:
    return pd.DataFrame({"film": ["a", "b", "c", "d"], **columns})


def numbers(ratings: Observations, **columns) -> np.ndarray:
    described = with_features(ratings, {"film": films(**columns)})
    return described.feature_tables[1]


def test_numbers_are_standardised(ratings):
    found = numbers(ratings, year=[1990, 1991, 1993, 2000])[:, 0]
    np.testing.assert_allclose([found.mean(), found.std()], [0, 1], atol=1e-6)
    np.testing.assert_allclose(np.diff(found)[2] / np.diff(found)[0], 7, rtol=1e-5)


def test_categories_have_a_column_for_each_value_that_occurs_twice(ratings):
    found = numbers(ratings, genre=["war", "love", "war", "art"])
    assert found.shape == (4, 1)
    np.testing.assert_allclose(found[:, 0], [0.5, -0.5, 0.5, -0.5])


def test_a_missing_value_is_the_mean_and_is_marked(ratings):
    found = numbers(ratings, year=[1990, np.nan, 1992, 1997])
    assert found[1, 0] == 0
    np.testing.assert_allclose(found[:, 1], [-0.25, 0.75, -0.25, -0.25])


def test_dates_are_numbers(ratings):
    days = pd.to_datetime(["2020-01-01", None, "2020-01-02", "2020-01-05"])
    found = numbers(ratings, day=days)
    assert found.shape == (4, 2)
    np.testing.assert_allclose((found[3, 0] - found[0, 0]) / (found[2, 0] - found[0, 0]), 4)


def test_labels_without_entries_become_rows_and_are_counted(ratings):
    table = pd.DataFrame({"year": [1, 2, 3, 4]}, index=["a", "bb", "b", "e"])
    found = with_features(ratings, {"film": table})
    assert list(found.labels[1]) == ["a", "b", "bb", "c", "d", "e"]
    pd.testing.assert_frame_equal(found.keys(), ratings.keys())
    assert np.isnan(found.feature_tables[1][[3, 4]]).all()
    assert "describe 2 of 4 rows" in found.notes[-1]
    assert "2 more labels have features and no entries" in found.notes[-1]


def test_features_of_labels_that_the_data_lack_can_be_ignored_with_a_count(ratings):
    table = pd.DataFrame({"year": [1, 2, 3, 4]}, index=["a", "bb", "b", "e"])
    found = with_features(ratings, {"film": table}, add_rows=False)
    assert found.shape == ratings.shape
    assert "features of 2 labels that the data lack are ignored" in found.notes[-1]


def test_columns_that_say_nothing_are_named(ratings):
    table = films(title=["A", "B", "C", "D"], same=[1, 1, 1, 1], year=[1, 2, 3, 4])
    assert "all are equal: title, same." in with_features(ratings, {"film": table}).notes[-1]


def test_rows_that_are_selected_keep_their_features(ratings):
    found = with_features(ratings, {"film": films(year=[1, 2, 3, 4])})
    kept = select(found, 1, np.array([3, 0]))
    np.testing.assert_array_equal(kept.feature_tables[1], found.feature_tables[1][[3, 0]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"movie": films(year=1)}, "mode 'movie', which does not exist: use 'user', 'film'"),
        ([films(year=1)], "row_features is a list: give a dictionary"),
        ({"film": [1, 2]}, r"row_features\['film'\] is a list: give a DataFrame"),
        ({"film": films()}, "4 rows and 0 columns beside the labels"),
        ({"film": films(year=1)[:0]}, "0 rows and 1 columns"),
        ({"film": pd.concat([films(year=1)] * 2)}, "lists the label 'a' more than once"),
        ({"film": pd.DataFrame({"year": [1, 2]}, index=["x", "y"])}, "has no label of the mode"),
        ({"film": films(year=1, title=list("abcd"))}, "nothing to learn from"),
        ({"film": films(year=[1, 2, 3, np.inf])}, "column 'year', has inf at the label 'd'"),
        ({"film": films(tags=[[1], [2], [1], [2]])}, "values that cannot be hashed"),
        (
            {"film": pd.DataFrame({"film": ["a", None], "year": [1, 2]})},
            r"has no label in row 1: give every row one",
        ),
    ],
)
def test_bad_features_are_refused_in_one_line(ratings, given, message):
    with pytest.raises(ObservationError, match=message):
        with_features(ratings, given)
