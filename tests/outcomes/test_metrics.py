"""Scores of predictions, against integrals, exact cases and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from vaecp.data.error_shapes import GAUSSIAN_ERRORS, StudentT
from vaecp.data.prediction import Prediction
from vaecp.errors import ObservationError
from vaecp.outcomes import metrics

FINITE = st.floats(-5, 5)
POSITIVE = st.floats(0.1, 5)


def shape_of(degrees_of_freedom):
    return StudentT(degrees_of_freedom) if np.isfinite(degrees_of_freedom) else GAUSSIAN_ERRORS


def one_entry(mean, std, degrees_of_freedom=np.inf):
    shape = shape_of(degrees_of_freedom)
    return Prediction(np.array([mean]), np.array([std]), np.zeros(1), shape)


def integrated_crps(distribution, value):
    below = integrate.quad(lambda x: distribution.cdf(x) ** 2, -np.inf, value)[0]
    return below + integrate.quad(lambda x: distribution.sf(x) ** 2, value, np.inf)[0]


def calibrated(degrees_of_freedom, n_entries=20_000):
    random = np.random.default_rng(0)
    mean, std = random.normal(size=n_entries), random.uniform(0.5, 2, size=n_entries)
    prediction = Prediction(mean, 0.6 * std, 0.8 * std, shape_of(degrees_of_freedom))
    return prediction, prediction.sample(1, random)[0]


def test_rmse_and_mae_of_errors_3_and_4_are_known():
    prediction = Prediction(np.array([1.0, 1.0]), np.ones(2), np.ones(2))
    values = np.array([4.0, -3.0])
    assert metrics.rmse(prediction, values) == pytest.approx(np.sqrt(12.5))
    assert metrics.mae(prediction, values) == pytest.approx(3.5)


def test_the_trimmed_rmse_leaves_out_the_worst_hundredth():
    values = np.append(np.ones(99), 1e200)
    certain = Prediction(np.zeros(100), np.zeros(100), np.zeros(100))
    assert metrics.trimmed_rmse(certain, values) == 1.0
    assert metrics.trimmed_rmse(certain, values, share=0.0) == metrics.rmse(certain, values)
    few = Prediction(np.zeros(1), np.zeros(1), np.zeros(1))
    assert metrics.trimmed_rmse(few, np.array([3.0]), share=0.5) == 3.0


def test_nll_of_a_standard_normal_at_its_mean_is_half_log_two_pi():
    assert metrics.nll(one_entry(0.0, 1.0), np.zeros(1)) == pytest.approx(0.5 * np.log(2 * np.pi))


def test_nll_of_a_student_t_matches_scipy_at_the_same_standard_deviation():
    scale = 2.0 * np.sqrt(3 / 5)
    expected = -stats.t.logpdf(1.5, 5, loc=0.5, scale=scale)
    assert metrics.nll(one_entry(0.5, 2.0, 5.0), np.array([1.5])) == pytest.approx(expected)


def test_crps_of_a_standard_normal_at_its_mean_is_known():
    expected = (np.sqrt(2) - 1) / np.sqrt(np.pi)
    assert metrics.crps(one_entry(0.0, 1.0), np.zeros(1)) == pytest.approx(expected)


@settings(deadline=None, max_examples=25)
@given(mean=FINITE, std=POSITIVE, value=FINITE)
def test_gaussian_crps_is_the_integral_that_defines_it(mean, std, value):
    expected = integrated_crps(stats.norm(mean, std), value)
    assert metrics.crps(one_entry(mean, std), np.array([value])) == pytest.approx(
        expected, rel=1e-5, abs=1e-7
    )


@settings(deadline=None, max_examples=25)
@given(mean=FINITE, std=POSITIVE, value=FINITE, df=st.floats(2.2, 60))
def test_student_crps_is_the_integral_that_defines_it(mean, std, value, df):
    expected = integrated_crps(stats.t(df, mean, std * np.sqrt((df - 2) / df)), value)
    assert metrics.crps(one_entry(mean, std, df), np.array([value])) == pytest.approx(
        expected, rel=1e-5, abs=1e-7
    )


def test_student_crps_tends_to_the_gaussian_one():
    value = np.array([0.7])
    gaussian = metrics.crps(one_entry(0.0, 1.0), value)
    assert metrics.crps(one_entry(0.0, 1.0, 1e8), value) == pytest.approx(gaussian, rel=1e-6)


def test_crps_averages_over_entries():
    prediction = Prediction(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.zeros(2))
    each = [
        metrics.crps(one_entry(0.0, 1.0), np.ones(1)),
        metrics.crps(one_entry(1.0, 3.0), np.full(1, 5.0)),
    ]
    assert metrics.crps(prediction, np.array([1.0, 5.0])) == pytest.approx(np.mean(each))


@pytest.mark.parametrize("df", [np.inf, 4.0])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_coverage_of_a_true_model_is_its_level(df, level):
    prediction, values = calibrated(df)
    # Four standard errors of a share among 20,000 draws.
    assert metrics.coverage(prediction, values, level) == pytest.approx(level, abs=0.014)


def test_coverage_counts_the_values_inside():
    prediction = Prediction(np.zeros(4), np.ones(4), np.zeros(4))
    # The central 95 % of a standard normal is [-1.96, 1.96].
    values = np.array([-1.97, -1.95, 1.95, 1.97])
    assert metrics.coverage(prediction, values, 0.95) == 0.5


def test_a_certain_prediction_scores_its_absolute_error():
    assert metrics.crps(one_entry(1.0, 0.0), np.array([3.0])) == 2.0
    assert metrics.crps(one_entry(1.0, 0.0, 5.0), np.array([3.0])) == 2.0


def test_a_certain_prediction_that_is_wrong_has_infinite_nll_and_one_that_is_right_covers():
    assert metrics.nll(one_entry(1.0, 0.0), np.array([3.0])) == np.inf
    assert metrics.nll(one_entry(1.0, 0.0), np.ones(1)) == -np.inf
    assert metrics.coverage(one_entry(1.0, 0.0), np.ones(1), 0.9) == 1.0


def test_the_true_spread_scores_better_than_a_narrower_or_a_wider_one():
    truth, values = calibrated(np.inf)
    for factor in (0.5, 2.0):
        other = Prediction(truth.mean, factor * truth.std, np.zeros(len(truth)))
        assert metrics.nll(truth, values) < metrics.nll(other, values)
        assert metrics.crps(truth, values) < metrics.crps(other, values)


def test_summary_holds_every_measure_as_a_plain_number():
    prediction, values = calibrated(np.inf, n_entries=50)
    scores = metrics.summary(prediction, values)
    assert list(scores) == [
        "rmse",
        "mae",
        "nll",
        "crps",
        "coverage_50",
        "coverage_90",
        "coverage_95",
    ]
    assert all(type(score) is float for score in scores.values())
    assert scores["coverage_90"] == metrics.coverage(prediction, values, 0.9)


def test_values_of_another_shape_are_refused_rather_than_broadcast():
    prediction = Prediction(np.zeros(3), np.ones(3), np.zeros(3))
    with pytest.raises(ObservationError, match=r"values has shape \(1,\), but the prediction"):
        metrics.rmse(prediction, np.zeros(1))


def test_an_unknown_value_is_refused_with_its_place():
    prediction = Prediction(np.zeros(3), np.ones(3), np.zeros(3))
    with pytest.raises(ObservationError, match=r"values\[1\] is nan"):
        metrics.mae(prediction, np.array([0.0, np.nan, 0.0]))


def test_no_values_are_refused():
    empty = Prediction(np.zeros(0), np.ones(0), np.zeros(0))
    with pytest.raises(ObservationError, match="values is empty"):
        metrics.crps(empty, np.zeros(0))


@pytest.mark.parametrize("level", [0, 1, 90])
def test_a_level_that_is_no_probability_is_refused(level):
    with pytest.raises(ValueError, match=f"level is {level}"):
        metrics.coverage(one_entry(0.0, 1.0), np.zeros(1), level)
