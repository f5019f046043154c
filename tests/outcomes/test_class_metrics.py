"""Scores of classes and counts, against scikit-learn and exact cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from sklearn import metrics as sklearn_metrics

from vaecp.data.families import Bernoulli, Counts, Ordinal
from vaecp.data.prediction import LatentPrediction, Prediction
from vaecp.errors import ObservationError
from vaecp.outcomes import metrics

STARS = Ordinal(np.arange(1.0, 4.0), np.array([-1.0, 1.0]))


def drawn(family, n=4_000, std=0.5):
    """Predictions, and values that are drawn from them."""
    random = np.random.default_rng(0)
    prediction = LatentPrediction.of(random.normal(0.5, 1.5, n), np.full(n, std), family)
    return prediction, prediction.sample(1, random)[0]


def test_scores_of_yes_or_no_are_those_of_scikit_learn():
    prediction, values = drawn(Bernoulli())
    p = prediction.probabilities()[:, 1]
    known = sklearn_metrics
    assert metrics.auc(prediction, values) == pytest.approx(known.roc_auc_score(values, p))
    precision = known.average_precision_score(values, p)
    assert metrics.average_precision(prediction, values) == pytest.approx(precision)
    assert metrics.log_loss(prediction, values) == pytest.approx(known.log_loss(values, p))
    assert metrics.brier(prediction, values) == pytest.approx(known.brier_score_loss(values, p))
    assert metrics.log_score(prediction, values) == pytest.approx(-known.log_loss(values, p))


def test_the_brier_score_of_classes_sums_over_them():
    certain = LatentPrediction.of(np.array([0.0]), np.zeros(1), STARS)
    low, high = special.expit(-1), 1 - special.expit(1)
    expected = low**2 + (1 - (1 - low - high)) ** 2 + high**2
    assert metrics.brier(certain, np.array([2.0])) == pytest.approx(expected)


def test_the_deviance_of_counts_is_that_of_scikit_learn():
    prediction, values = drawn(Counts())
    known = sklearn_metrics.mean_poisson_deviance(values, prediction.mean)
    assert metrics.deviance(prediction, values) == pytest.approx(known)
    negative = Prediction(np.array([-1.0]), np.ones(1), np.ones(1))
    assert metrics.deviance(negative, np.array([2.0])) == np.inf


@pytest.mark.parametrize("family", [Bernoulli(), STARS, Counts(), Counts(2.0)], ids=str)
def test_the_randomised_pit_of_honest_predictions_is_uniform(family):
    found = metrics.pit(*drawn(family))
    assert stats.kstest(found, "uniform").pvalue > 0.01


@pytest.mark.parametrize("family", [Bernoulli(), STARS, Counts()], ids=str)
def test_the_calibration_of_honest_discrete_predictions_is_the_diagonal(family):
    table = metrics.calibration(*drawn(family))
    np.testing.assert_allclose(table["share"], table["level"], atol=0.03)


def test_the_pit_of_real_numbers_is_the_distribution_function():
    prediction = Prediction(np.zeros(3), np.ones(3), np.zeros(3))
    values = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(metrics.pit(prediction, values), stats.norm.cdf(values))


@pytest.mark.parametrize("family", [Bernoulli(), STARS], ids=str)
def test_honest_probabilities_come_true_as_often_as_they_say(family):
    table = metrics.reliability(*drawn(family))
    inside = (table["low"] <= table["share"]) & (table["share"] <= table["high"])
    assert inside.mean() >= 0.7
    assert table["n"].sum() == 4_000 * (1 if isinstance(family, Bernoulli) else 3)


def test_overconfident_probabilities_lie_off_the_diagonal():
    prediction, values = drawn(Bernoulli(), std=0.0)
    sure = LatentPrediction.of(3 * prediction.latent_mean, np.zeros(4_000), Bernoulli())
    table = metrics.reliability(sure, values)
    assert table["share"].iloc[0] > table["high"].iloc[0]
    assert table["share"].iloc[-1] < table["low"].iloc[-1]


def test_a_summary_has_the_measures_that_apply():
    assert {"auc", "average_precision", "brier"} <= set(metrics.summary(*drawn(Bernoulli())))
    assert "brier" in metrics.summary(*drawn(STARS))
    assert "deviance" in metrics.summary(*drawn(Counts()))
    plain = Prediction(np.array([0.2, 1.4]), np.ones(2), np.ones(2))
    found = metrics.summary(plain, np.array([0.0, 1.0]))
    assert (found["auc"], found["brier"]) == (1.0, pytest.approx(0.02))


def test_scores_of_classes_are_refused_where_there_are_none():
    plain = Prediction(np.zeros(2), np.ones(2), np.ones(2))
    with pytest.raises(ObservationError, match="values are 2, 3: this score is for yes"):
        metrics.auc(plain, np.array([2.0, 3.0]))
    with pytest.raises(ObservationError, match="these values are no classes"):
        metrics.log_loss(plain, np.array([0.0, 1.0]))
