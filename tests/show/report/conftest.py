"""What the tests of the report share: a small tensor with gaps, and a model of it."""

from __future__ import annotations

import pytest
from report_pages import named, tensor

import vaecp


@pytest.fixture(scope="module")
def data():
    return named(tensor())


@pytest.fixture(scope="module")
def model(data):
    return vaecp.CPALS(rank=2, n_starts=1, max_iter=50, random_state=0).fit_tensor(data)
