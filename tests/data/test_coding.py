"""From arrays, tables and keys to coordinates."""

import numpy as np
import pandas as pd
import pytest

from vaecp.data.coding import coded_keys, coded_table, dense_entries, narrowed, read_only
from vaecp.errors import ObservationError


def test_what_is_nan_masked_or_ruled_out_is_no_entry():
    array = np.ma.array([[1.0, np.nan], [3.0, 4.0]], mask=[[0, 0], [1, 0]])
    indices, values, shape = dense_entries(array)
    assert (indices.tolist(), values.tolist(), shape) == ([[0, 0], [1, 1]], [1.0, 4.0], (2, 2))
    indices, _, _ = dense_entries(array, mask=[[0, 1], [1, 1]])
    assert indices.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("array", "mask", "line"),
    [
        (np.ones((2, 2), complex), None, "the array is complex"),
        (np.array([["a"]]), None, "the array has dtype <U1: use numbers"),
        (np.ones((2, 2)), np.ones(2), r"mask has shape \(2,\), but the array has \(2, 2\)"),
    ],
)
def test_an_array_that_holds_no_tensor_is_refused(array, mask, line):
    with pytest.raises(ObservationError, match=line):
        dense_entries(array, mask)


def test_rows_of_a_table_have_the_codes_of_their_sorted_labels():
    table = pd.DataFrame({"film": ["b", "a", "b"], "week": [3, 1, 1], "stars": [1, 2, 3]})
    indices, labels, _ = coded_table(table, ["film", "week"], ["stars"])
    assert [each.tolist() for each in labels] == [["a", "b"], [1, 3]]
    assert indices.tolist() == [[1, 1], [0, 0], [1, 0]]
    with pytest.raises(ObservationError, match="no column 'price': it has 'film', 'week', 'stars'"):
        coded_table(table, ["film", "week"], ["price"])


def test_keys_have_one_column_per_mode():
    indices, labels, names = coded_keys([("b", 1), ("a", 2)], ())
    assert (indices.tolist(), names) == ([[1, 0], [0, 1]], ("mode 0", "mode 1"))
    assert [each.tolist() for each in labels] == [["a", "b"], [1, 2]]


def test_wide_coordinates_become_narrow_only_where_all_rows_can_be_numbered():
    wide = np.array([[0, 1]], dtype=np.int64)
    assert narrowed(wide, (1, 2)).dtype == np.int32
    assert narrowed(wide, (1, 2**31)) is wide
    with pytest.raises(ObservationError, match=r"indices\[0, 1\] is 4294967296"):
        narrowed(np.array([[0, 2**32]]), (1, 2))


def test_a_view_that_is_read_only_leaves_the_array_as_it_is():
    array = np.zeros(2)
    view = read_only(array)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    array[0] = 1
    assert view[0] == 1
