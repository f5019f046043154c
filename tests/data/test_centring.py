"""Centring across a mode and scaling within one, against NumPy on full arrays."""

import numpy as np
import pytest

from vaecp.data.centring import mode_scaling
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

SHAPE = (6, 5, 4)
NAMES = ("sample", "emission", "excitation")


@pytest.fixture
def array(random):
    return 7 + random.normal(size=SHAPE)


def applied(array, center, scale):
    observations = Observations.from_array(array, mode_names=NAMES)
    scaling = mode_scaling(observations, center, scale)
    scaled = scaling.apply(observations.values, observations.indices)
    return scaled.reshape(SHAPE), scaling, observations


def test_nothing_is_taken_off_by_default_and_the_root_mean_square_is_one(array):
    scaled, scaling, _ = applied(array, "none", "none")
    np.testing.assert_allclose(scaled * np.sqrt(np.mean(array**2)), array)
    assert scaling.uniform


def test_the_mean_of_all_values_gives_standardised_values(array):
    scaled, scaling, _ = applied(array, "values", "none")
    np.testing.assert_allclose(scaled, (array - array.mean()) / array.std())
    assert scaling.uniform


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("by", ["name", "number"])
def test_centring_across_a_mode_leaves_every_fibre_along_it_with_mean_zero(array, mode, by):
    scaled, scaling, _ = applied(array, NAMES[mode] if by == "name" else mode, "none")
    expected = array - array.mean(axis=mode, keepdims=True)
    np.testing.assert_allclose(scaled, expected / np.sqrt(np.mean(expected**2)))
    assert not scaling.uniform


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_scaling_within_a_mode_leaves_every_slab_with_root_mean_square_one(array, mode):
    array *= 1 + np.arange(SHAPE[mode]).reshape([-1 if m == mode else 1 for m in range(3)])
    scaled, _, _ = applied(array, "sample", NAMES[mode])
    others = tuple(other for other in range(3) if other != mode)
    np.testing.assert_allclose(np.mean(scaled**2, axis=others), 1)


@pytest.mark.parametrize("center", ["none", "values", "emission"])
@pytest.mark.parametrize("scale", ["none", "excitation"])
def test_values_come_back_and_spreads_stretch_as_differences_do(array, random, center, scale):
    array[random.random(SHAPE) < 0.4] = np.nan
    observations = Observations.from_array(array, mode_names=NAMES)
    scaling = mode_scaling(observations, center, scale)
    scaled = scaling.apply(observations.values, observations.indices)
    back = scaling.invert(scaled, observations.indices)
    np.testing.assert_allclose(back, observations.values)
    moved = scaling.invert(scaled + 0.5, observations.indices) - back
    half = np.full(len(scaled), 0.5)
    np.testing.assert_allclose(scaling.stretch(half, observations.indices), moved)


def test_a_fibre_without_entries_and_an_unseen_label_have_the_mean_of_all_values(array):
    array[:, 2, 1] = np.nan
    observations = Observations.from_array(array, mode_names=NAMES)
    scaling = mode_scaling(observations, "sample", "emission")
    back = scaling.invert(np.zeros(2), np.array([[0, 2, 1], [0, -1, 1]]))
    np.testing.assert_allclose(back, observations.values.mean())


def test_gaps_take_no_part_in_the_mean_of_a_fibre(array):
    array[1:4, 0, 0] = np.nan
    observations = Observations.from_array(array, mode_names=NAMES)
    scaling = mode_scaling(observations, "sample", "none")
    offset = scaling.invert(np.zeros(1), np.array([[0, 0, 0]]))
    np.testing.assert_allclose(offset, np.nanmean(array[:, 0, 0]))


@pytest.mark.parametrize("center", ["none", "values", "sample"])
def test_constant_values_have_no_scale(center):
    scaled, scaling, _ = applied(np.full(SHAPE, 3.0), center, "none")
    assert scaling.scale == 0
    assert not scaled.any()
    np.testing.assert_array_equal(scaling.invert(np.zeros(1), np.zeros((1, 3), int)), 3.0)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_extreme_units_neither_overflow_nor_vanish(array, unit):
    scaled, _, _ = applied(array * unit, "sample", "emission")
    expected, _, _ = applied(array, "sample", "emission")
    np.testing.assert_allclose(scaled, expected)


@pytest.mark.parametrize(
    ("center", "scale", "message"),
    [
        ("time", "none", r"center is 'time': use one of 'none', 'values', 'sample'"),
        (3, "none", "center is 3: use one of"),
        ("none", "values", r"scale is 'values': use one of 'none', 'sample'"),
        (True, "none", "center is True: use one of"),
    ],
)
def test_a_mode_that_there_is_not_is_refused(array, center, scale, message):
    with pytest.raises(ObservationError, match=message):
        applied(array, center, scale)
