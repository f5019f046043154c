"""Numbers of cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from vaecp.data import cells

SHAPES = array_shapes(min_dims=2, max_dims=4, max_side=5)
few = settings(deadline=None, max_examples=30)


@few
@given(shape=SHAPES, seed=st.integers(0, 99))
def test_cells_are_numbered_as_numpy_counts_them(shape, seed):
    indices = np.random.default_rng(seed).integers(shape, size=(7, len(shape)))
    keys = cells.cell_keys(indices, shape)
    np.testing.assert_array_equal(keys, np.ravel_multi_index(tuple(indices.T), shape))
    np.testing.assert_array_equal(cells.coordinates(keys, shape), indices)


@few
@given(shape=SHAPES, seed=st.integers(0, 99))
def test_distinct_cells_are_those_of_sorted_rows_whether_numbers_fit_or_not(shape, seed):
    indices = np.random.default_rng(seed).integers(shape, size=(20, len(shape)))
    rows, expected = np.unique(indices, axis=0, return_inverse=True)
    with pytest.MonkeyPatch.context() as patch:
        for most in (cells.MAX_NUMBER, 0):
            patch.setattr(cells, "MAX_NUMBER", most)
            first, group = cells.distinct_cells(indices, shape)
            np.testing.assert_array_equal(indices[first], rows)
            np.testing.assert_array_equal(group, expected.ravel())
            assert all((indices[:place] != indices[place]).any(axis=1).all() for place in first)


def test_unlisted_cells_are_all_others_in_order():
    assert cells.unlisted_cells(np.array([[0, 1], [1, 2], [0, 1]]), (2, 3)).tolist() == [0, 2, 3, 4]
