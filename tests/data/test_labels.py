"""Labels and their codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaecp.data.labels import UNSEEN, are_quantities, columns_of, encode, joined, lookup
from vaecp.errors import LabelTypeError, ObservationError

COLUMNS = st.one_of(
    st.lists(st.integers(-(2**62), 2**62), min_size=1),
    st.lists(st.integers(-50, 50), min_size=1),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1),
    st.lists(st.tuples(st.integers(0, 3), st.text("ab")), min_size=1),
)


def column_of(values: list) -> np.ndarray:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


@settings(deadline=None, max_examples=40)
@given(values=COLUMNS)
def test_codes_are_positions_in_the_sorted_distinct_labels(values):
    codes, labels = encode(column_of(values), "m")
    assert labels.tolist() == sorted(set(values))
    assert [labels[code] for code in codes] == values


@settings(deadline=None, max_examples=40)
@given(values=COLUMNS)
def test_looking_up_what_was_encoded_gives_the_same_codes(values):
    codes, labels = encode(column_of(values), "m")
    np.testing.assert_array_equal(lookup(column_of(values), labels, "m"), codes)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64])
def test_small_integer_types_do_not_overflow(dtype):
    codes, labels = encode(np.array([100, -100, 100], dtype=dtype), "m")
    assert codes.tolist() == [1, 0, 1]
    assert labels.tolist() == [-100, 100]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64])
def test_unsigned_integers_are_encoded(dtype):
    top = np.iinfo(dtype).max
    codes, labels = encode(np.array([top, top - 3], dtype=dtype), "m")
    assert codes.tolist() == [1, 0]
    assert labels.tolist() == [top - 3, top]


@pytest.mark.parametrize(
    ("known", "asked"),
    [([1, 2], [3, 1]), (["a", "b"], ["c", "a"]), ([0.5, 1.5], [7.0, 0.5]), ([1, 2], ["1", "2"])],
)
def test_a_label_that_was_not_seen_has_code_minus_one(known, asked):
    codes = lookup(np.array(asked), np.array(known), "m")
    expected = [known.index(label) if label in known else UNSEEN for label in asked]
    assert codes.tolist() == expected


def test_integers_find_equal_floats():
    assert lookup(np.array([2, 3]), np.array([1.0, 2.0]), "m").tolist() == [1, UNSEEN]


def test_labels_without_an_order_keep_that_of_their_first_appearance():
    sets = [frozenset("ab"), frozenset("c"), frozenset("ab")]
    codes, labels = encode(column_of(sets), "m")
    assert codes.tolist() == [0, 1, 0]
    assert labels.tolist() == sets[:2]


def test_labels_of_mixed_type_are_refused_with_both_rows():
    with pytest.raises(LabelTypeError, match=r"mixed type: row 0 has 1 .* row 1 has 'a' .*str"):
        encode(column_of([1, "a"]), "m")


def test_labels_that_cannot_be_hashed_are_refused():
    with pytest.raises(
        LabelTypeError, match=r"label \[1\] \(list\) in row 0, which cannot be hash"
    ):
        encode(column_of([[1], [2]]), "m")


@pytest.mark.parametrize(
    "column",
    [
        np.array([1.0, np.nan]),
        np.array([1.0, np.inf]),
        column_of(["a", None]),
        np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"),
    ],
)
def test_a_missing_label_is_refused_with_its_row(column):
    with pytest.raises(
        ObservationError, match=r"mode 'm' in row 1 is .*fill it in, or delete the row"
    ):
        encode(column, "m")


def test_complex_labels_are_refused():
    with pytest.raises(ObservationError, match="Complex data not supported"):
        encode(np.array([1j]), "m")


@pytest.mark.parametrize(
    "keys",
    [
        pd.DataFrame({"a": ["p", "q"], "b": [1, 2]}),
        [("p", 1), ("q", 2)],
        np.array([["p", 1], ["q", 2]], dtype=object),
    ],
    ids=["DataFrame", "list", "array"],
)
def test_tables_of_keys_split_into_the_same_columns(keys):
    assert [column.tolist() for column in columns_of(keys)] == [["p", "q"], [1, 2]]


def test_tuples_stay_labels_in_a_list_of_keys():
    first, _ = columns_of([((1, 2), "a"), ((3, 4), "b")])
    assert first.tolist() == [(1, 2), (3, 4)]


def test_keys_of_different_lengths_are_refused():
    with pytest.raises(ObservationError, match="rows of 2 and of 3 labels"):
        columns_of([(1, 2), (1, 2, 3)])


def test_keys_in_one_dimension_are_refused():
    with pytest.raises(ObservationError, match="expected 2D array, got 1D array"):
        columns_of(np.arange(3))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array([250.0, 260.0]), True),
        (np.array([1990, 2000]), True),
        (np.array(["2024-01-01"], dtype="datetime64[D]"), True),
        (np.arange(1, 6), False),  # samples, counted
        (np.arange(500), True),
        (np.array(["a", "b"], dtype=object), False),
    ],
)
def test_quantities_are_told_from_names(labels, expected):
    assert are_quantities(labels) is expected


@pytest.mark.parametrize(
    ("old", "column", "everything", "places"),
    [
        ([1, 3], [2, 3, 2], [1, 2, 3], [0, 2]),
        (["b", "d"], ["c", "a"], ["a", "b", "c", "d"], [1, 3]),
        ([3, 1], [2], [3, 1, 2], [0, 1]),
        ([1, 2], [1.5], [1, 1.5, 2], [0, 2]),
        ([frozenset("a")], [frozenset("b")], [frozenset("a"), frozenset("b")], [0]),
        ([1, 2], [2], [1, 2], [0, 1]),
    ],
    ids=["numbers", "texts", "unsorted", "between integers", "without order", "nothing new"],
)
def test_new_labels_join_in_order_where_there_is_one(old, column, everything, places):
    old, column = (labels_array(each) for each in (old, column))
    codes, found, moved = joined(old, column, "mode")
    assert list(found) == everything
    assert list(moved) == places
    assert [found[code] for code in codes] == list(column)


def labels_array(labels: list) -> np.ndarray:
    if not isinstance(labels[0], (str, frozenset)):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
