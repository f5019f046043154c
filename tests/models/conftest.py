"""The table that every method is fitted to, and fits that tests share."""

import pytest
from method_contract import Table
from sklearn.base import clone


@pytest.fixture(scope="module")
def table() -> Table:
    return Table()


@pytest.fixture(scope="module")
def fitted(table):
    """Fit every model once; tests that only read share the fits."""
    fits = {}

    def fit(model):
        name = type(model).__name__
        if name not in fits:
            fits[name] = clone(model).fit(table.keys, table.values)
        return fits[name]

    return fit
