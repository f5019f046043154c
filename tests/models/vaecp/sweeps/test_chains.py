"""Banded algebra of ordered modes, against dense matrices."""

import numpy as np
import pytest

from vaecp.models.vaecp.sweeps import bands
from vaecp.models.vaecp.sweeps.chains import STRENGTHS, Bands, Chain

LABELS = np.array([1.0, 2.0, 2.5, 4.0, 7.0, 7.5, 9.0])


@pytest.fixture(params=[None, LABELS], ids=["even", "uneven"])
def chain(request) -> Chain:
    return Chain.through(request.param, len(LABELS))


def dense(bands: Bands, component: int = 0) -> np.ndarray:
    diagonal, one_off, two_off = (
        a[:, component] for a in (bands.diagonal, bands.one_off, bands.two_off)
    )
    upper = np.diag(one_off[:-1], 1) + np.diag(two_off[:-2], 2)
    return np.diag(diagonal) + upper + upper.T


def laplacian(chain: Chain) -> np.ndarray:
    """Sum of the edges' own Laplacians: an edge of length h pulls its ends together by 1 / h."""
    n_rows = chain.n_rows
    total = np.zeros((n_rows, n_rows))
    for row, step in enumerate(chain.steps):
        edge = np.zeros(n_rows)
        edge[row], edge[row + 1] = -1.0, 1.0
        total += np.outer(edge, edge) / step
    return total


def test_steps_are_the_distances_of_labels_with_an_average_of_one():
    found = Chain.through(LABELS, len(LABELS)).steps
    np.testing.assert_allclose(found, np.diff(LABELS) / np.diff(LABELS).mean())


def test_a_long_pause_is_not_endless():
    steps = Chain.through(np.array([0.0, 1.0, 2.0, 3.0, 1e6]), 5).steps
    assert steps.max() / steps.min() == pytest.approx(30)


@pytest.mark.parametrize(
    "labels",
    [np.array(list("abcde")), np.array([3.0, 1.0, 2.0, 5.0, 4.0]), np.array([0, 1, 2, 3, np.inf])],
    ids=["texts", "not sorted", "not finite"],
)
def test_labels_that_are_no_distances_are_taken_as_evenly_spaced(labels):
    np.testing.assert_array_equal(Chain.through(labels, 5).steps, np.ones(4))


def test_dates_are_spaced_as_days_are():
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-04"], dtype="datetime64[D]")
    np.testing.assert_allclose(Chain.through(days, 3).steps, [2 / 3, 4 / 3])


def test_the_laplacian_and_its_square_are_the_dense_ones(chain):
    expected = laplacian(chain)
    np.testing.assert_allclose(dense(chain.laplacian), expected, atol=1e-12)
    np.testing.assert_allclose(dense(chain.squared), expected @ expected, atol=1e-12)


@pytest.mark.parametrize("strength", [0, 1, 20, 40])
def test_the_precision_is_dense_algebra_and_rows_have_the_stated_variance(chain, strength):
    variance = np.array([2.0, 0.3])
    found = chain.precision(variance, np.array([strength, strength]))
    once = np.eye(chain.n_rows) + STRENGTHS[strength] * laplacian(chain)
    for component in range(2):
        precision = dense(found, component)
        covariance = np.linalg.inv(precision)
        assert covariance.trace() / chain.n_rows == pytest.approx(variance[component])
        shape = precision / precision[0, 0]
        np.testing.assert_allclose(shape, once @ once / (once @ once)[0, 0], rtol=1e-8, atol=1e-12)
    _, expected = np.linalg.slogdet(variance[0] * dense(found, 0))
    assert chain.log_determinants[strength] == pytest.approx(expected, abs=1e-6)


def test_covariances_inside_the_band_are_those_of_the_inverse(random):
    n_rows, n_components = 9, 3
    given = Bands(*random.normal(size=(3, n_rows, n_components)))
    given.diagonal[:] += 6.0
    found = Bands(*np.empty((3, n_rows, n_components)))
    bands.invert_bands(
        given.diagonal,
        given.one_off,
        given.two_off,
        found.diagonal,
        found.one_off,
        found.two_off,
    )
    for component in range(n_components):
        expected = np.linalg.inv(dense(given, component))
        for offset, part in enumerate((found.diagonal, found.one_off, found.two_off)):
            np.testing.assert_allclose(
                part[: n_rows - offset, component], np.diag(expected, offset), atol=1e-12
            )


@pytest.mark.parametrize("strength", [0, 15, 35])
def test_the_strength_and_variance_that_rows_were_drawn_from_are_found(random, strength):
    labels = np.cumsum(random.choice([1.0, 2.0, 3.0], size=800))
    chain = Chain.through(labels, len(labels))
    precision = dense(chain.precision(np.array([2.0]), np.array([strength])))
    root = np.linalg.cholesky(precision)
    rows = np.linalg.solve(root.T, random.normal(size=(len(labels), 6)))
    variance, found = chain.learn(rows, Bands(*np.zeros((3, *rows.shape))))
    assert abs(np.median(found) - strength) <= 2
    np.testing.assert_allclose(np.median(variance), 2.0, rtol=0.25)


def test_rows_known_from_their_prior_alone_give_that_prior_back():
    chain, strength = Chain.through(None, 200), np.array([10, 25, 40])
    prior = chain.precision(np.full(3, 0.7), strength)
    covariance = Bands(*np.empty((3, 200, 3)))
    bands.invert_bands(
        prior.diagonal,
        prior.one_off,
        prior.two_off,
        covariance.diagonal,
        covariance.one_off,
        covariance.two_off,
    )
    variance, found = chain.learn(np.zeros((200, 3)), covariance)
    np.testing.assert_array_equal(found, strength)
    np.testing.assert_allclose(variance, 0.7, rtol=1e-3)
