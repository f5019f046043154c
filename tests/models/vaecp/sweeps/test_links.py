"""Prior means by features, against Bayesian ridge regression of another library."""

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge

from vaecp.models.vaecp.sweeps.links import Link

N_ROWS = 60


def settled(link: Link, rows: np.ndarray, spread: np.ndarray):
    """Repeat the steps until they stand."""
    variance, ridge = np.ones(rows.shape[1]), link.start(np.ones(rows.shape[1]))
    for _ in range(500):
        found = link.learn(rows, spread, variance, ridge)
        variance, ridge = found.variance, found.ridge
    return found


@pytest.fixture
def features() -> np.ndarray:
    drawn = np.random.default_rng(0).normal(size=(N_ROWS, 4))
    return drawn - drawn.mean(axis=0)


def test_the_prior_means_are_those_of_bayesian_ridge_regression(features):
    random = np.random.default_rng(1)
    rows = (features @ [1.0, -2.0, 0.5, 0.0] + 0.5 * random.normal(size=N_ROWS))[:, None]
    rows -= rows.mean()
    link = Link.of(features, np.ones(N_ROWS, dtype=bool), network=False)
    found = settled(link, rows, np.zeros_like(rows))
    other = BayesianRidge(max_iter=1000, tol=1e-10).fit(features, rows[:, 0])
    np.testing.assert_allclose(found.by_features[:, 0], other.predict(features), atol=0.01)
    np.testing.assert_allclose(found.variance, 1 / other.alpha_, rtol=0.05)
    np.testing.assert_allclose(found.ridge, 1 / other.lambda_, rtol=0.05)


def test_features_that_say_nothing_count_for_nothing(features):
    rows = np.random.default_rng(5).normal(size=(N_ROWS, 3))
    link = Link.of(features, np.ones(N_ROWS, dtype=bool), network=False)
    found = settled(link, rows, np.zeros_like(rows))
    assert found.by_features.std() < 0.3
    np.testing.assert_allclose(found.variance, rows.var(axis=0), rtol=0.15)


def test_rows_without_entries_do_not_teach_and_are_predicted(features):
    rows, seen = features[:, :1] * 2.0, np.arange(N_ROWS) < 40
    hidden = np.where(seen[:, None], rows, 99.0)
    link = Link.of(features, seen, network=False)
    found = settled(link, hidden, np.full_like(rows, 1e-4))
    predicted = found.centre + found.by_features[~seen]
    np.testing.assert_allclose(predicted, rows[~seen], atol=0.15)


def test_a_row_that_nothing_describes_has_the_prior_of_all(features):
    features[7] = np.nan
    for network in (False, True):
        link = Link.of(features, np.arange(N_ROWS) != 7, network=network)
        found = settled(link, np.nan_to_num(features[:, :1]), np.zeros((N_ROWS, 1)))
        np.testing.assert_array_equal(found.by_features[7], 0.0)


def test_a_network_follows_what_a_line_cannot(features):
    rows = np.abs(features[:, :1])
    errors = []
    for network in (False, True):
        link = Link.of(features, np.ones(N_ROWS, dtype=bool), network=network)
        found = settled(link, rows, np.full_like(rows, 1e-3))
        errors.append(np.std(rows - found.by_features))
    assert errors[1] < 0.7 * errors[0], errors
