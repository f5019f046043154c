"""Scaling of values: undone exactly, and safe at any size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vaecp.data.standardising import Standardiser


@settings(deadline=None, max_examples=30)
@given(values=arrays(np.float64, 7, elements=st.floats(-1e6, 1e6)))
def test_standardising_is_undone(values):
    standardiser = Standardiser.of(values)
    again = standardiser.invert(standardiser.apply(values))
    np.testing.assert_allclose(again, values, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_the_scale_is_the_standard_deviation_at_any_size(size):
    standardiser = Standardiser.of(size * np.array([-1.0, 1.0, -1.0, 1.0]))
    assert standardiser.scale == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("constant", [0.0, 0.1, -3e200, 1e-300])
def test_constant_values_have_a_scale_of_zero(constant):
    standardiser = Standardiser.of(np.full(1000, constant))
    assert standardiser.scale == 0
    assert standardiser.apply([constant]).tolist() == [0]
    assert standardiser.invert([0.0])[0] == pytest.approx(constant)
