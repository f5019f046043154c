"""The check on hidden entries."""

from __future__ import annotations

import numpy as np
import pytest
from report_pages import named, tensor
from sklearn.base import clone

import vaecp
from vaecp.data.observations import Observations
from vaecp.outcomes.holdout import MASKED_CP, MEAN, check_on_held_out

# Fits are stopped early here: how good they are is not the question.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    return named(tensor())


@pytest.fixture(scope="module")
def model(data):
    return vaecp.CPALS(rank=2, n_starts=1, max_iter=50, random_state=0).fit_tensor(data)


def test_the_check_hides_entries_from_every_method_and_leaves_the_model_alone(model, data):
    before = model.predict_at(data.indices).mean
    check = check_on_held_out(model, data, 0.25)
    np.testing.assert_array_equal(model.predict_at(data.indices).mean, before)
    assert check.n_training + len(check.held_out) == len(data)
    assert list(check.predictions) == ["CPALS", MEAN]
    training = data.take(~(data.indices[:, None] == check.held_out.indices[None]).all(2).any(1))
    np.testing.assert_allclose(check.predictions[MEAN].mean, training.values.mean())
    errors = check.held_out.values - training.values.mean()
    assert check.measures[MEAN]["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    copy = clone(model).fit_tensor(training)
    np.testing.assert_array_equal(
        check.predictions["CPALS"].mean, copy.predict_at(check.held_out.indices).mean
    )


def test_other_methods_are_checked_against_masked_cp_too(data):
    fitted = vaecp.HOSVD(rank=2, max_iter=5).fit_tensor(data)
    assert list(check_on_held_out(fitted, data).predictions) == ["HOSVD", MASKED_CP, MEAN]


def test_repeated_measurements_are_hidden_together(model):
    once = named(tensor())
    twice = Observations(
        np.concatenate([once.indices, once.indices]),
        np.concatenate([once.values, once.values]),
        once.shape,
    )
    held_out = check_on_held_out(model, twice, 0.3).held_out
    _, counts = np.unique(held_out.indices, axis=0, return_counts=True)
    assert set(counts) == {2}
