"""Rows between their neighbours."""

import numpy as np

from vaecp.models.vaecp.between import interpolated, positions


def rows_along(x: np.ndarray) -> np.ndarray:
    return np.stack([2 * x + 1, -x], axis=1)


def test_rows_on_a_line_are_interpolated_exactly_wherever_labels_lie():
    at = np.array([0.0, 1.0, 2.5, 4.0, 4.1, 7.0])
    known = np.array([True, True, False, True, False, True])
    mean = np.where(known[:, None], rows_along(at), 99.0)
    variance = np.full((6, 2), 0.01)
    found, spread = interpolated(mean, variance, at, known, np.full(2, 5.0))
    np.testing.assert_allclose(found, rows_along(at))
    np.testing.assert_allclose(spread[~known], 0.01)


def test_rows_that_jump_leave_a_row_between_them_as_uncertain_as_they_differ():
    at = np.arange(7.0)
    known = at != 3
    mean = np.where(at[:, None] % 2 == 0, 1.0, -1.0)
    _, spread = interpolated(mean, np.full((7, 1), 1e-6), at, known, np.array([9.0]))
    assert 1.0 < spread[3, 0] < 9.0


def test_beyond_the_ends_a_row_is_the_last_one_and_at_most_as_uncertain_as_an_unseen_one():
    at = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 1000.0])
    known = at < 10
    found, spread = interpolated(
        rows_along(at), np.full((6, 2), 0.01), at, known, np.array([5.0, 0.0])
    )
    np.testing.assert_allclose(found[-1], rows_along(np.array([4.0]))[0])
    np.testing.assert_allclose(spread[-1], [5.0, 0.0])


def test_positions_are_values_of_numbers_and_times_and_places_of_names():
    np.testing.assert_array_equal(positions(np.array([1, 5, 9])), [1, 5, 9])
    np.testing.assert_array_equal(positions(np.array(["a", "b"], dtype=object)), [0, 1])
    days = np.array(["2026-01-01", "2026-01-03"], dtype="datetime64[D]")
    assert np.diff(positions(days)) == 2 * 86400e9
