"""Rows between their neighbours."""

import numpy as np
import pandas as pd
import pytest

import vaecp
from vaecp.data.labels import labels_between
from vaecp.models.vaecp.between import interpolated, nearest_known, positions


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


def test_rows_off_a_smooth_curve_are_as_uncertain_near_the_ends_of_a_hole_as_in_its_middle_says():
    at = np.arange(120.0)
    hole = (at > 50) & (at < 61)
    curves = np.sin(0.15 * at[:, None] + np.linspace(0, 2 * np.pi, 40, endpoint=False))
    found, spread = interpolated(
        np.where(hole[:, None], 99.0, curves), np.zeros_like(curves), at, ~hole, np.full(40, 50.0)
    )
    error = np.sqrt(np.mean((found - curves)[hole] ** 2, axis=1))
    stated = np.sqrt(np.mean(spread[hole], axis=1))
    assert np.ptp(np.log(error / stated)) < 0.4


def test_positions_are_values_of_numbers_and_times_and_places_of_names():
    np.testing.assert_array_equal(positions(np.array([1, 5, 9])), [1, 5, 9])
    np.testing.assert_array_equal(positions(np.array(["a", "b"], dtype=object)), [0, 1])
    days = np.array(["2026-01-01", "2026-01-03"], dtype="datetime64[D]")
    assert np.diff(positions(days)) == 2 * 86400e9


def test_the_nearest_known_row_stands_in():
    at = np.array([0.0, 1.0, 2.5, 4.0, 4.1, 7.0])
    known = np.array([True, True, False, True, False, True])
    np.testing.assert_array_equal(nearest_known(at, known), [0, 1, 1, 2, 2, 3])
    np.testing.assert_array_equal(nearest_known(np.array([3.0, 9.0]), np.array([True, False])), 0)


@pytest.fixture(scope="module")
def spectra():
    """A sum of two smooth products; every sixth wavelength is left out."""
    random = np.random.default_rng(0)
    nm = np.arange(300, 420, 2)
    peaks = np.stack([np.exp(-(((nm - centre) / 25) ** 2)) for centre in (340, 380)])
    amounts, weights = random.random((10, 2)) + 0.2, random.random((7, 2)) + 0.2
    full = np.einsum("ir,rj,kr->ijk", amounts, peaks, weights)
    tensor = vaecp.Observations.from_array(
        full + 0.01 * random.normal(size=full.shape),
        mode_names=["sample", "nm", "day"],
        labels=[[f"s{n}" for n in range(10)], nm, [f"d{n}" for n in range(7)]],
    )
    out = tensor.indices[:, 1] % 6 == 3
    known, asked = tensor.take(~out), tensor.take(out)
    model = vaecp.VAECP(rank=2, effort="quick", random_state=0).fit(known.keys(), known.values)
    return model, asked, full[tuple(asked.indices.T)]


def test_a_label_between_known_ones_is_read_off_its_neighbours(spectra):
    model, asked, truth = spectra
    mean, std = model.predict(asked.keys(), return_std=True)
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.02
    assert np.mean(np.abs(asked.values - mean) < 1.645 * std) > 0.8
    np.testing.assert_array_equal(model.predict(asked.keys()), mean)
    assert model.sample(asked.keys()[:5], n=7).shape == (7, 5)


def test_reading_between_labels_leaves_the_model_and_known_rows_alone(spectra):
    model, asked, _ = spectra
    known = asked.keys()[:20].assign(nm=300)
    alone = model.predict(known)
    both = model.predict(pd.concat([asked.keys(), known]))
    np.testing.assert_allclose(both[len(asked) :], alone, rtol=1e-5)
    assert 306 not in model.labels_[1]


def test_a_label_beyond_the_ends_stays_unseen(spectra):
    model, asked, _ = spectra
    _, inside = model.predict(asked.keys()[:1], return_std=True)
    _, beyond = model.predict(asked.keys()[:1].assign(nm=500), return_std=True)
    assert beyond > 5 * inside


def test_a_name_lies_between_no_others(spectra):
    model, asked, _ = spectra
    codes = model._indices_of(asked.keys()[:1].assign(sample="s05"))
    assert codes[0, 0] == -1


def test_labels_between_are_numbers_or_times_inside_the_known_ones():
    np.testing.assert_array_equal(
        labels_between(np.array([1, 5, 9]), np.array([0.5, 2.5, 5, 2.5, 9.5])), [2.5]
    )
    days = np.array(["2026-01-01", "2026-01-03"], dtype="datetime64[s]")
    asked = np.array(["2026-01-02", "2026-01-09"], dtype="datetime64[s]")
    np.testing.assert_array_equal(labels_between(days, asked), asked[:1])
    assert not len(labels_between(np.array(["a", "c"], dtype=object), np.array(["b"])))
    assert not len(labels_between(days, np.array([3])))


@pytest.mark.parametrize(("power", "kind"), [(1, "walk"), (4, "curve")])
def test_rows_are_less_sure_the_farther_away_known_ones_are(power, kind, random):
    """By the distance for a random walk, by its fourth power for the variance of a smooth curve."""
    x = np.arange(4000.0)
    walk = np.cumsum(random.normal(size=4000))
    rows = (walk if kind == "walk" else np.sin(x / 40 * np.sqrt(2)))[:, None]
    known = np.ones(4000, dtype=bool)
    known[[1000, *range(2000, 2007), *range(3000, 3015)]] = False
    _, variance = interpolated(rows, 0 * rows, x, known, np.array([1e9]))
    one, four, eight = (variance[at, 0] for at in (1000, 2003, 3007))  # 1, 4 and 8 steps away
    assert four / one == pytest.approx(4**power, rel=0.2)
    assert eight / four == pytest.approx(2**power, rel=0.2)
