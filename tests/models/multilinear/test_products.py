"""Products of one row per mode are what einsum makes of the tables."""

import numpy as np
import pytest

from vaecp.models.multilinear.products import effects_of_components, product, products_at


@pytest.fixture
def tables(random):
    return [random.normal(size=(size, 3)) for size in (4, 5, 2)]


def test_products_at_cells_are_those_of_the_whole_array(tables, random):
    whole = np.einsum("ir,jr,kr->ijkr", *tables)
    cells = np.stack([random.integers(0, size, 20) for size in (4, 5, 2)], axis=1)
    np.testing.assert_allclose(products_at(tables, cells), whole[tuple(cells.T)])


def test_tables_stay_as_they_are(tables):
    before = [table.copy() for table in tables]
    products_at(tables, np.zeros((3, 3), dtype=int))
    product(tables[:1] * 2)
    for table, copy in zip(tables, before, strict=True):
        np.testing.assert_array_equal(table, copy)


def test_a_component_whose_rows_are_alike_has_no_effect(tables):
    for table in tables:
        table[:, 1] = 2.0
        table[-1] = 1e6  # the row of unseen labels has no part in the average
    effects = effects_of_components(tables, np.zeros((4, 3), dtype=int))
    np.testing.assert_allclose(effects[:, 1], 0, atol=1e-12)
    assert np.abs(effects[:, 0]).max() < 1e6
