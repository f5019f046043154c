"""Predictions of values that lie within limits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from vaecp.data.families import Logarithm
from vaecp.data.limited import LimitedPrediction
from vaecp.data.prediction import Prediction, join
from vaecp.data.standardising import Standardiser
from vaecp.data.transformed import TransformedPrediction

INF, NAN = np.inf, np.nan


@pytest.fixture
def prediction():
    """Without a limit; above 4; below 4; between 0 and 1."""
    plain = Prediction(np.array([2.0, 5.0, 3.0, 0.5]), np.full(4, 0.3), np.full(4, 0.4))
    return LimitedPrediction.of(
        plain,
        np.array([-INF, 4.0, -INF, 0.0]),
        np.array([INF, INF, 4.0, 1.0]),
        np.array([NAN, 0.2, 0.1, NAN]),
        np.array([NAN, 0.5, 0.6, NAN]),
    )


ABOVE = stats.lognorm(0.5, loc=4.0, scale=np.exp(0.2))
BELOW = stats.lognorm(0.6, scale=np.exp(0.1))  # of 4 less the value


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9])
def test_the_excess_is_log_normal(prediction, p):
    expected = [2 + 0.5 * stats.norm.ppf(p), ABOVE.ppf(p), 4 - BELOW.ppf(1 - p)]
    np.testing.assert_allclose(prediction.quantile(p)[:3], expected)
    assert 0 <= prediction.quantile(p)[3] <= 1
    np.testing.assert_allclose(prediction.cdf(prediction.quantile(p))[:3], p)


def test_densities_are_those_of_the_excess_and_nothing_lies_beyond(prediction):
    values = np.array([2.0, 5.5, 2.5, 0.5])
    expected = [stats.norm(2, 0.5).logpdf(2.0), ABOVE.logpdf(5.5), BELOW.logpdf(1.5)]
    np.testing.assert_allclose(prediction.log_density(values)[:3], expected)
    beyond = np.array([2.0, 3.9, 4.1, 0.5])
    assert np.isneginf(prediction.log_density(beyond)[1:3]).all()
    assert prediction.cdf(beyond)[1:3].tolist() == [0.0, 1.0]


def test_mean_std_and_draws_agree(prediction):
    draws = prediction.sample(20_000, np.random.default_rng(0))
    np.testing.assert_allclose(prediction.mean[:3], draws.mean(axis=0)[:3], rtol=0.02)
    np.testing.assert_allclose(prediction.std[:3], draws.std(axis=0)[:3], rtol=0.06)
    assert (draws[:, 1] > 4).all()
    assert (draws[:, 2] < 4).all()


def test_the_score_is_that_of_the_draws(prediction):
    values = np.array([2.2, 5.5, 2.5, 0.6])
    first, second = prediction.sample(40_000, np.random.default_rng(1)).reshape(2, 20_000, 4)
    by_draws = np.abs(first - values).mean(axis=0) - 0.5 * np.abs(first - second).mean(axis=0)
    np.testing.assert_allclose(prediction.crps(values)[:3], by_draws[:3], rtol=0.05)


def test_units_of_the_data_move_the_limits_too(prediction):
    moved = prediction.in_units_of(Standardiser(10.0, 3.0), np.zeros((4, 2), dtype=int))
    for p in (0.1, 0.5, 0.95):
        np.testing.assert_allclose(moved.quantile(p), 10 + 3 * prediction.quantile(p))


def test_parts_are_cut_and_joined(prediction):
    parts = [prediction.take(slice(0, 2)), prediction.take(slice(2, 4))]
    np.testing.assert_array_equal(join(parts).quantile(0.3), prediction.quantile(0.3))
    assert join(parts).limited.tolist() == [False, True, True, True]


def test_beyond_a_limit_of_a_logarithm_the_mean_is_the_median_which_stays_finite(prediction):
    wide = replace(prediction, log_std=np.array([NAN, 3.0, 3.0, NAN]))
    found = TransformedPrediction.of(wide, Logarithm(0.0, 1.0))
    np.testing.assert_allclose(found.mean[1:3], np.exp(wide.quantile(0.5))[1:3])
    assert found.std[1] == pytest.approx(
        (found.quantile(0.8413)[1] - found.quantile(0.1587)[1]) / 2, rel=1e-6
    )
    plain = TransformedPrediction.of(prediction, Logarithm(0.0, 1.0))
    assert plain.mean[0] > np.exp(
        prediction.mean[0]
    )  # the mean of a log-normal is above its median
