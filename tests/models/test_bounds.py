"""Predictions far outside the observed values are drawn back to their mean."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import vaecp
from vaecp.data.gaps import GapPattern, held_out
from vaecp.data.limited import LimitedPrediction
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.errors import DatasetError
from vaecp.models.bounds import FEW, REACH, Bounds

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
VALUES = np.concatenate([np.zeros(500), np.ones(500)])
BOUNDS = Bounds.of(VALUES)
FAR = REACH + FEW / 1000
METHODS = [
    vaecp.CPALS(rank=4, random_state=0),
    vaecp.NCP(rank=4, random_state=0),
    vaecp.HOSVD(rank=4),
    vaecp.TuckerALS(rank=4),
    vaecp.FBCP(rank=4, random_state=0),
    vaecp.InfTucker(rank=2, max_iter=3, random_state=0),
]


def prediction(*means) -> Prediction:
    return Prediction(np.array(means), np.full(len(means), 0.1), np.full(len(means), 0.2))


def test_means_within_reach_stay_as_they_are():
    found = prediction(-FAR, 0.0, 0.3, 1.0, 1 + FAR)
    assert BOUNDS.bounded(found) is found
    assert BOUNDS.bounded_means(found.mean) is found.mean


def test_a_mean_twice_as_far_out_has_half_the_weight():
    found = BOUNDS.bounded(prediction(1 + 2 * FAR, 0.3))
    np.testing.assert_allclose(found.mean, [(0.5 + 1 + FAR) / 2, 0.3])
    np.testing.assert_allclose(found.ignorance_std, [np.sqrt((0.2**2 + 0.5**2) / 2), 0.2])


@pytest.mark.parametrize("mean", [-1e6, 1e6])
def test_a_mean_beyond_belief_says_no_more_than_the_values_do(mean):
    found = BOUNDS.bounded(prediction(mean))
    assert found.mean[0] == pytest.approx(VALUES.mean(), abs=1e-6)
    assert found.ignorance_std[0] == pytest.approx(VALUES.std(), abs=1e-6)


def test_the_further_out_a_mean_lies_the_less_it_says():
    means = np.linspace(1 + FAR, 50, 200)
    assert (np.diff(BOUNDS.bounded_means(means)) < 0).all()
    assert BOUNDS.bounded_means(np.array([1 + FAR + 1e-9]))[0] == pytest.approx(1 + FAR)


def test_ignorance_is_no_wider_than_where_values_can_lie():
    found = Prediction(np.array([0.5, 0.5]), np.zeros(2), np.array([0.3, 1e9]))
    np.testing.assert_allclose(BOUNDS.bounded(found).ignorance_std, [0.3, 0.5 + FAR])


def test_a_value_beyond_a_limit_keeps_to_it():
    plain, none = prediction(50.0, 50.0), np.full(2, np.inf)
    log_excess, log_std = np.array([np.log(2.0), np.nan]), np.array([0.1, np.nan])
    found = LimitedPrediction.of(plain, np.array([40.0, -np.inf]), none, log_excess, log_std)
    bounded = BOUNDS.bounded(found).mean
    assert bounded[0] == found.mean[0] > 40
    assert bounded[1] < 2


def test_few_values_leave_more_room():
    assert Bounds.of(np.array([0.0, 1.0])).high > 5
    assert Bounds.of(np.full(10, 3.0)).bounded_means(np.array([3.0, 9.0])).tolist() == [3, 3]


@pytest.fixture(scope="module")
def spectra() -> tuple[Observations, Observations]:
    """Amino, of which half of all excitation spectra are missing."""
    try:
        array = vaecp.datasets.load("amino").to_array()[:, :, ::4]
    except DatasetError as error:
        pytest.skip(f"amino is not here: {error}")
    tensor = Observations.from_array(array)
    hidden = held_out(GapPattern("fibres", (1,), 0.5), tensor, np.random.default_rng(0))
    return tensor.take(~hidden), tensor.take(hidden)


@pytest.mark.parametrize("model", METHODS, ids=lambda model: type(model).__name__)
def test_where_whole_fibres_are_missing_the_error_is_about_that_of_the_mean_at_most(model, spectra):
    training, hidden = spectra
    model.fit_tensor(training)
    errors = model.predict_at(hidden.indices).mean - hidden.values
    assert np.sqrt(np.mean(errors**2)) < 1.5 * hidden.values.std()
    draws = model.sample(hidden.indices[::50], 20, random_state=0)
    assert np.abs(draws).max() < 8 * np.abs(training.values).max()


@pytest.mark.parametrize("model", METHODS, ids=lambda model: type(model).__name__)
def test_predictions_pass_through_the_bounds_of_the_values(model, spectra):
    training, hidden = spectra
    model = clone(model).fit_tensor(training)
    model.bounds_ = Bounds(low=-2e9, high=-1e9, reach=1e-9, mean=5.0, std=1.0)
    found = model.predict_at(hidden.indices[:100])  # nothing can lie between such bounds
    np.testing.assert_allclose(found.mean, found.mean[0])
    np.testing.assert_allclose(found.ignorance_std, found.ignorance_std[0])
