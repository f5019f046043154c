"""Predictive distributions against SciPy and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from vaecp.error_shapes import GAUSSIAN_ERRORS, ScaleMixture, StudentT
from vaecp.observations import Standardiser
from vaecp.prediction import Prediction

PEAKED = ScaleMixture((0.5, 0.5), (0.2, np.sqrt(1.96)))
SHAPES = [GAUSSIAN_ERRORS, StudentT(3.0), StudentT(10.0), PEAKED]


def prediction(shape=GAUSSIAN_ERRORS) -> Prediction:
    return Prediction(np.array([0.0, 5.0]), np.array([3.0, 0.6]), np.array([4.0, 0.8]), shape)


def test_noise_and_ignorance_add_in_squares():
    np.testing.assert_allclose(prediction().std, [5, 1])


def test_a_normal_interval_has_the_known_width():
    low, high = prediction().interval(0.9)
    np.testing.assert_allclose(high - low, 2 * 1.6448536269514722 * np.array([5, 1]))
    np.testing.assert_allclose((low + high) / 2, [0, 5], atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_standard_deviation_of_draws_is_std(shape):
    draws = prediction(shape).sample(200_000, np.random.default_rng(0))
    assert draws.shape == (200_000, 2)
    np.testing.assert_allclose(draws.mean(axis=0), [0, 5], atol=0.05)
    np.testing.assert_allclose(
        draws.std(axis=0), [5, 1], rtol=0.1 if shape == StudentT(3.0) else 0.02
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_an_interval_holds_the_share_of_draws_that_it_promises(shape):
    low, high = prediction(shape).interval(0.8)
    draws = prediction(shape).sample(50_000, np.random.default_rng(1))
    np.testing.assert_allclose(((low <= draws) & (draws <= high)).mean(axis=0), 0.8, atol=0.01)


def test_the_log_density_is_that_of_scipy():
    values = np.array([1.0, 4.0])
    np.testing.assert_allclose(
        prediction().log_density(values), stats.norm([0, 5], [5, 1]).logpdf(values)
    )
    scale = np.array([5, 1]) / np.sqrt(4 / 2)  # a t of 4 degrees has variance 2
    np.testing.assert_allclose(
        prediction(StudentT(4.0)).log_density(values), stats.t(4, [0, 5], scale).logpdf(values)
    )


def test_the_density_integrates_to_one():
    grid = np.linspace(-400, 400, 80_001)
    single = Prediction(np.zeros(1), np.full(1, 3.0), np.full(1, 4.0), StudentT(5.0))
    assert np.exp(single.log_density(grid)).sum() * 0.01 == pytest.approx(1, abs=1e-4)


def test_units_shift_the_mean_and_stretch_the_spread():
    scaled = prediction(StudentT(7.0)).in_units_of(Standardiser(location=10.0, scale=2.0))
    np.testing.assert_allclose(scaled.mean, [10, 20])
    np.testing.assert_allclose(scaled.std, [10, 2])
    assert scaled.shape == StudentT(7.0)
    assert len(scaled) == 2


@pytest.mark.parametrize("coverage", [0, 1, 90, -0.1])
def test_a_coverage_outside_zero_to_one_is_refused(coverage):
    with pytest.raises(ValueError, match=f"coverage is {coverage}: use a number between 0 and 1"):
        prediction().interval(coverage)
