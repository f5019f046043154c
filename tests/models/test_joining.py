"""Rows that join a fitted model: which entries tell about them, and what they tell."""

import numpy as np
import pytest

from vaecp.models.joining import Joining, most_probable_row


@pytest.fixture
def joining():
    """Two modes; row 2 of the first and row 0 of the second are new."""
    return Joining(
        indices=np.array([[0, 1], [2, 0], [2, 1], [1, 0]]),
        values=np.zeros(4),
        sources=(np.array([0, 1, -1]), np.array([-1, 0])),
        places=(np.array([0, 1]), np.array([1])),
        labels=(np.arange(3), np.arange(2)),
        learned=(np.array([False, False, True]), np.array([True, False])),
    )


def test_entries_with_a_new_row_are_about_it(joining):
    assert joining.about_new_rows.tolist() == [False, True, True, True]


def test_new_rows_of_a_table_are_copies_of_the_row_of_unseen_labels(joining):
    table = np.array([[1.0], [2.0], [9.0]])
    np.testing.assert_array_equal(joining.grown(table, 0).ravel(), [1, 2, 9, 9])


def test_old_entries_move_with_their_rows(joining):
    np.testing.assert_array_equal(joining.moved(np.array([[1, 0]])), [[1, 1]])


def test_rows_are_visited_by_turns_only_where_several_modes_have_new_ones(joining):
    visits = [(mode, row, places.tolist()) for mode, row, places in joining.visits(2)]
    assert visits == 2 * [(0, 2, [1, 2]), (1, 0, [1, 3])]
    one = Joining(**(vars(joining) | {"learned": (joining.learned[0], np.zeros(2, bool))}))
    assert len(list(one.visits(2))) == 1


def test_the_most_probable_row_is_the_mean_of_the_gaussian_posterior(random):
    design, values = random.normal(size=(9, 3)), random.normal(size=9)
    mean, root = random.normal(size=3), random.normal(size=(3, 3))
    precision = np.linalg.inv(root.T @ root)
    expected = np.linalg.solve(
        design.T @ design / 0.2 + precision, design.T @ values / 0.2 + precision @ mean
    )
    found = most_probable_row(design, values, 0.2, (mean, root))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_a_prior_of_one_direction_is_not_left(random):
    design, values = random.normal(size=(9, 3)), random.normal(size=9)
    mean, direction = random.normal(size=3), np.array([[1.0, -2.0, 0.5]])
    step = most_probable_row(design, values, 0.2, (mean, direction)) - mean
    np.testing.assert_allclose(np.cross(step, direction[0]), 0, atol=1e-12)


def test_a_row_that_must_not_be_negative_is_the_plain_one_where_that_is_positive():
    design, mean = np.eye(2), np.array([1.0, 1.0])
    plain = most_probable_row(design, np.array([2.0, 3.0]), 1.0, (mean, np.eye(2)))
    kept = most_probable_row(
        design, np.array([2.0, 3.0]), 1.0, (mean, np.eye(2)), non_negative=True
    )
    np.testing.assert_allclose(plain, [1.5, 2.0])
    np.testing.assert_allclose(kept, plain, rtol=1e-4)
    bounded = most_probable_row(
        design, np.array([-9.0, 3.0]), 1.0, (mean, np.eye(2)), non_negative=True
    )
    np.testing.assert_allclose(bounded, [0.0, 2.0], rtol=1e-4)
