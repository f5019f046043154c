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
    slope, bend = tail_derivatives(np.array([1e4]), np.array([INF]))
    np.testing.assert_allclose(slope, 1e4 + 1e-4, rtol=1e-7)
    np.testing.assert_allclose(bend, 1.0, rtol=1e-2)


def test_far_inside_a_limit_says_nothing():
    slope, bend = tail_derivatives(np.array([-30.0]), np.array([INF]))
    assert abs(slope[0]) < 1e-9
    assert bend[0] < 1e-5
