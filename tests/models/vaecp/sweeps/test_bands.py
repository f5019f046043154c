import numpy as np
import pytest
from scipy.linalg import block_diag

from vaecp.models.vaecp.sweeps import bands


def chain_means(gram, right, diagonal, one_off, two_off, free=None):
    """Posterior means of the rows of a chain."""
    n_rows, width = right.shape
    free = np.arange(width) if free is None else np.asarray(free)
    ones, mean = np.setdiff1d(np.arange(width), free), np.ones((n_rows, width))
    found = np.empty((3, n_rows, len(free)))
    assert bands.solve_chain(gram, right, free, ones, diagonal, one_off, two_off, mean, *found)
    return mean


def as_matrix(gram, diagonal, one_off, two_off):
    """The joint precision of all rows, written out."""
    n_rows, width = diagonal.shape
    whole = block_diag(*(gram + np.einsum("jr,rs->jrs", diagonal, np.eye(width))))
    for apart, off in ((1, one_off), (2, two_off)):
        for row in range(n_rows - apart):
            for r in range(width):
                here, there = row * width + r, (row + apart) * width + r
                whole[here, there] = whole[there, here] = off[row, r]
    return whole


@pytest.mark.parametrize("width", [1, 3])
def test_rows_of_a_chain_solve_their_joint_equations(random, width):
    n_rows = 5
    design = random.normal(size=(n_rows, 4, width))
    gram, right = np.einsum("jer,jes->jrs", design, design), random.normal(size=(n_rows, width))
    prior = np.full((n_rows, width), 6.0), *random.uniform(-1, 1, size=(2, n_rows, width))
    expected = np.linalg.solve(as_matrix(gram, *prior), right.ravel())
    np.testing.assert_allclose(chain_means(gram, right, *prior).ravel(), expected)


def test_columns_that_are_one_are_taken_off_the_right_side_and_stay(random):
    design = random.normal(size=(5, 4, 3))
    gram, right = np.einsum("jer,jes->jrs", design, design), random.normal(size=(5, 3))
    prior = np.full((5, 2), 6.0), *random.uniform(-1, 1, size=(2, 5, 2))
    found = chain_means(gram, right, *prior, free=[0, 2])
    kept = np.ascontiguousarray(gram[:, [0, 2]][:, :, [0, 2]])
    expected = chain_means(kept, right[:, [0, 2]] - gram[:, [0, 2], 1], *prior)
    np.testing.assert_allclose(found[:, [0, 2]], expected)
    assert (found[:, 1] == 1).all()


def test_chains_of_entries_without_noise_that_determine_too_little_have_finite_rows():
    """Two components with the same entries, rows coupled by a prior that is lost in rounding."""
    n_rows, width = 6, 2
    gram = np.full((n_rows, width, width), 1e13)
    gram[:, 0, 1] = gram[:, 1, 0] = 1e13 * (1 + 1e-15)
    mean = chain_means(gram, np.full((n_rows, width), 1e13), *np.zeros((3, n_rows, width)))
    np.testing.assert_allclose(mean.sum(axis=1), 1.0, rtol=1e-3)


def test_rows_without_entries_stay_between_those_that_entries_without_noise_determine():
    """The prior wants differences of neighbours to be small: row 1 is the mean of rows 0 and 2."""
    n_rows, width = 3, 2
    gram, right = np.zeros((n_rows, width, width)), np.zeros((n_rows, width))
    for row, total in ((0, 1.0), (2, 3.0)):  # of the two numbers of the row
        gram[row], right[row] = 1e20, 1e20 * total
    diagonal, one_off = np.full((n_rows, width), 2.0), np.full((n_rows, width), -1.0)
    mean = chain_means(gram, right, diagonal, one_off, np.zeros((n_rows, width)))
    np.testing.assert_allclose(mean.sum(axis=1), [1.0, 2.0, 3.0], rtol=1e-3)


def test_equations_that_hold_no_numbers_are_said_not_to_be_solved():
    columns, right = np.arange(1), np.zeros((3, 1))
    prior = np.ones((3, 1)), np.zeros((3, 1)), np.zeros((3, 1))
    gram = np.full((3, 1, 1), -2.0)
    found = right.copy(), *np.empty((3, 3, 1))
    assert not bands.solve_chain(gram, right, columns, np.arange(0), *prior, *found)


@pytest.mark.parametrize("place", range(3))
def test_priors_of_another_size_are_refused(place):
    prior = [np.ones((3, 1))] * 3
    prior[place] = np.ones((2, 1))
    given = np.ones((3, 1, 1)), np.zeros((3, 1)), np.arange(1), np.arange(0)
    with pytest.raises(ValueError, match=r"differ in size|other columns"):
        bands.solve_chain(*given, *prior, *np.zeros((4, 3, 1)))


def test_a_chain_with_numbers_that_are_not_finite_is_not_solved():
    gram, right = np.full((4, 1, 1), np.nan), np.ones((4, 1))
    found, prior = np.empty((3, 4, 1)), (np.ones((4, 1)), *np.zeros((2, 4, 1)))
    free, ones = np.arange(1), np.arange(0)
    assert not bands.solve_chain(gram, right, free, ones, *prior, np.ones((4, 1)), *found)
