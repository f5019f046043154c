"""What limits say about the mean, against SciPy's truncated normal."""

import numpy as np
import pytest
from scipy import stats

from vaecp.models.vaecp.likelihoods.tails import tail_derivatives

INF = np.inf
ENDS = [(0.3, INF), (-2.0, INF), (4.0, INF), (-INF, -1.0), (-INF, 3.0), (-1.0, 0.5), (2.0, 2.5)]


@pytest.mark.parametrize(("low", "high"), ENDS)
def test_derivatives_are_moments_of_the_truncated_normal(low, high):
    slope, bend = tail_derivatives(np.array([low]), np.array([high]))
    np.testing.assert_allclose(slope, stats.truncnorm.mean(low, high), rtol=1e-6)
    np.testing.assert_allclose(bend, 1 - stats.truncnorm.var(low, high), rtol=1e-5)


def test_far_beyond_a_limit_the_mean_is_drawn_to_it():
    """The mean beyond x is x + 1/x - 2/x^3 ..., the variance 1/x^2 - 6/x^4 ..."""
    far = np.array([1e3, 1e4, 1e5, 1e6])
    slope, bend = tail_derivatives(far, np.full(4, INF))
    np.testing.assert_allclose(slope, far + 1 / far - 2 / far**3, rtol=1e-15)
    np.testing.assert_allclose(bend, 1 - far**-2 + 6 * far**-4, rtol=1e-15)


@pytest.mark.parametrize("first", [0.0, 20.0, 1e4, 1e6])
def test_in_a_narrow_range_the_variable_is_uniform(first):
    low, width = np.array([first]), 1e-3 / max(first, 1.0)
    slope, bend = tail_derivatives(low, low + width)
    np.testing.assert_allclose(slope - first, width / 2, rtol=1e-3, atol=1e-10 * first)
    np.testing.assert_allclose(bend, 1 - width**2 / 12, rtol=1e-9)


def test_a_far_range_is_as_good_as_open():
    ends = np.array([50.0, 1e4])
    np.testing.assert_allclose(tail_derivatives(ends, ends + 5), tail_derivatives(ends, ends + INF))


def test_derivatives_are_reflected_with_the_range():
    low, high = np.array([-7.0, 0.2, 40.0]), np.array([3.0, 0.21, 41.0])
    slope, bend = tail_derivatives(low, high)
    again, same = tail_derivatives(-high, -low)
    np.testing.assert_array_equal(again, -slope)
    np.testing.assert_array_equal(same, bend)


def test_far_inside_a_limit_says_nothing():
    slope, bend = tail_derivatives(np.array([-30.0]), np.array([INF]))
    assert abs(slope[0]) < 1e-9
    assert bend[0] < 1e-5
