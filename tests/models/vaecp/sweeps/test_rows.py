import numpy as np
import pytest

from vaecp.models.vaecp.sweeps import rows


def solved(precision, right, full, *, free=None, prior_mean=None, prior_precision=None):
    """Posteriors of rows from their normal equations, as means, variances and second moments."""
    n_rows, width = right.shape
    free = np.arange(width) if free is None else np.asarray(free)
    mean, variance = np.ones((n_rows, width)), np.zeros((n_rows, width))
    second = np.empty((n_rows, width * (width + 1) // 2 if full else width))
    prior_mean = np.zeros((1, len(free))) if prior_mean is None else prior_mean
    prior_precision = np.zeros(len(free)) if prior_precision is None else prior_precision
    ones = np.setdiff1d(np.arange(width), free)
    given = precision, right, free, ones, prior_mean, prior_precision, full
    assert rows.solve_rows(0, n_rows, *given, mean, variance, second)
    return mean, variance, second


def regression(random, noise: float):
    """Five entries of a row with three numbers, and the prior of unit variance."""
    design, truth = random.normal(size=(5, 3)), np.array([1.0, -2.0, 0.5])
    precision = design.T @ design / noise + np.eye(3)
    return precision[None], (design.T @ (design @ truth) / noise)[None], truth


@pytest.mark.parametrize("full", [True, False])
def test_rows_that_entries_determine_are_found(random, full):
    precision, right, truth = regression(random, 1e-8)
    mean, variance, _ = solved(precision, right, full)
    np.testing.assert_allclose(mean[0], truth, atol=1e-6)
    assert (variance > 0).all()


def test_second_moments_hold_the_inverse_of_the_precision(random):
    precision, right, _ = regression(random, 0.3)
    mean, variance, second = solved(precision, right, True)
    expected = np.linalg.inv(precision[0])
    np.testing.assert_allclose(mean[0], expected @ right[0])
    np.testing.assert_allclose(variance[0], np.diag(expected))
    low, high = np.tril_indices(3)
    np.testing.assert_allclose(second[0], (expected + np.outer(mean, mean))[low, high])


def test_independent_numbers_have_the_inverse_of_the_diagonal_as_variances(random):
    precision, right, _ = regression(random, 0.3)
    mean, variance, second = solved(precision, right, False)
    np.testing.assert_allclose(variance[0], 1 / np.diag(precision[0]))
    np.testing.assert_allclose(second, mean**2 + variance)


@pytest.mark.parametrize("full", [True, False])
def test_columns_that_are_one_are_taken_off_the_right_side_and_stay(random, full):
    """With u_1 = 1, the others have the equations of the rest."""
    precision, right, _ = regression(random, 0.3)
    mean, variance, _ = solved(precision, right, full, free=[0, 2])
    rest = precision[0][np.ix_([0, 2], [0, 2])]
    expected = np.linalg.solve(rest, right[0, [0, 2]] - precision[0, [0, 2], 1])
    np.testing.assert_allclose(mean[0], [expected[0], 1.0, expected[1]])
    assert variance[0, 1] == 0


def test_a_prior_counts_like_an_entry_at_its_mean(random):
    precision, right, _ = regression(random, 0.3)
    prior_mean, prior_precision = np.array([[2.0, -1.0, 0.0]]), np.array([4.0, 1.0, 0.1])
    found = solved(precision, right, True, prior_mean=prior_mean, prior_precision=prior_precision)
    whole = precision + np.diag(prior_precision)
    expected = solved(whole, right + prior_mean * prior_precision, True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("full", [True, False])
def test_entries_without_noise_that_determine_too_little_give_finite_rows(full):
    """One entry of a row with two numbers: the prior is lost in rounding."""
    precision = np.array([[[1e30, 1e30], [1e30, 1e30]]])
    mean, variance, _ = solved(precision, np.array([[1e30, 1e30]]), full)
    assert mean[0].sum() == pytest.approx(1.0, rel=1e-3)
    assert np.isfinite(variance).all()


def test_a_precision_that_is_no_number_is_said_not_to_be_solved():
    empty = np.zeros((1, 2))
    given = np.full((1, 2, 2), np.nan), empty, np.arange(2), np.arange(0), empty, np.zeros(2)
    assert not rows.solve_rows(0, 1, *given, False, *np.zeros((3, 1, 2)))


@pytest.mark.parametrize("full", [True, False])
def test_second_moments_of_independent_numbers(random, full):
    mean, variance = random.normal(size=(4, 3)), random.random((4, 3))
    low, high = np.tril_indices(3)
    whole = np.einsum("jr,js->jrs", mean, mean) + np.einsum("jr,rs->jrs", variance, np.eye(3))
    expected = whole[:, low, high] if full else np.einsum("jrr->jr", whole)
    found = np.empty(expected.shape)
    rows.set_second(mean, variance, full, found)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("name", ["mean", "variance", "second", "prior_mean"])
def test_arrays_of_wrong_sizes_are_refused(name):
    arrays = {
        "gram": np.eye(2)[None],
        "right": np.zeros((1, 2)),
        "free": np.arange(2),
        "ones": np.arange(0),
        "prior_mean": np.zeros((1, 2)),
        "prior_precision": np.zeros(2),
        "full": False,
        "mean": np.zeros((1, 2)),
        "variance": np.zeros((1, 2)),
        "second": np.zeros((1, 2)),
    }
    arrays[name] = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"fewer rows|one prior|differ in size"):
        rows.solve_rows(0, 1, *arrays.values())


def test_the_conditional_variance_is_one_over_the_diagonal_of_the_precision(random):
    roots = random.normal(size=(3, 4, 6))
    covariance = np.einsum("jrk,jsk->jrs", roots, roots)
    mean, free = random.normal(size=(3, 5)), np.array([0, 1, 3, 4])
    whole = np.zeros((3, 5, 5))
    whole[:, free[:, None], free] = covariance
    low, high = np.tril_indices(5)
    second = (whole + np.einsum("jr,js->jrs", mean, mean))[:, low, high]
    expected = 1 / np.einsum("jrr->jr", np.linalg.inv(covariance))
    np.testing.assert_allclose(rows.conditional_variance(mean, second, free), expected, rtol=1e-5)
