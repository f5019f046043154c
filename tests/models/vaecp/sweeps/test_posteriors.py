import numpy as np
import pytest

from vaecp.models.vaecp.sweeps.posteriors import chain_means, posteriors


def regression(random, noise: float):
    """Five entries of a row with three numbers, and the prior of unit variance."""
    design, truth = random.normal(size=(5, 3)), np.array([1.0, -2.0, 0.5])
    precision = design.T @ design / noise + np.eye(3)
    return precision[None], (design.T @ (design @ truth) / noise)[None], truth


@pytest.mark.parametrize("full", [True, False])
def test_rows_that_entries_determine_are_found(random, full):
    precision, right, truth = regression(random, 1e-8)
    mean, variance, covariance = posteriors(precision, right, full)
    np.testing.assert_allclose(mean[0], truth, atol=1e-6)
    assert (variance > 0).all()
    assert (covariance is not None) == full


@pytest.mark.parametrize("full", [True, False])
def test_entries_without_noise_that_determine_too_little_give_finite_rows(full):
    """One entry of a row with two numbers: the prior is lost in rounding."""
    precision = np.array([[[1e30, 1e30], [1e30, 1e30]]])
    mean, variance, _ = posteriors(precision, np.array([[1e30, 1e30]]), full)
    assert mean[0].sum() == pytest.approx(1.0, rel=1e-3)
    assert np.isfinite(variance).all()


def test_chains_of_entries_without_noise_that_determine_too_little_have_finite_rows():
    """Two components with the same entries, rows coupled by a prior that is lost in rounding."""
    n_rows, width = 6, 2
    band = np.zeros((2 * width + 1, n_rows * width))
    band[0], band[1, ::width] = 1e13, 1e13 * (1 + 1e-15)
    mean = chain_means(band, np.full(n_rows * width, 1e13)).reshape(n_rows, width)
    np.testing.assert_allclose(mean.sum(axis=1), 1.0, rtol=1e-3)


def test_rows_without_entries_stay_between_those_that_entries_without_noise_determine():
    """The prior wants differences of neighbours to be small: row 1 is the mean of rows 0 and 2."""
    n_rows, width = 3, 2
    band = np.zeros((2 * width + 1, n_rows * width))
    band[0], band[width] = 2.0, -1.0  # rows of a component lie `width` apart
    band[width, -width:] = 0.0
    right = np.zeros(n_rows * width)
    for row, total in ((0, 1.0), (2, 3.0)):  # of the two numbers of the row
        band[0, row * width : (row + 1) * width] = 1e20
        band[1, row * width] = 1e20
        right[row * width : (row + 1) * width] = 1e20 * total
    mean = chain_means(band, right).reshape(n_rows, width)
    np.testing.assert_allclose(mean.sum(axis=1), [1.0, 2.0, 3.0], rtol=1e-3)
