"""Labels of a mode with units of their own: temperatures beside pressures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from vaecp import VAECP, load, save
from vaecp.data.observations import Observations
from vaecp.data.units import LabelScaling, mode_of_units

SPREADS = {"temperature": 2.0, "pressure": 0.07, "flow": 20.0, "moisture": 0.003}
CENTRES = {"temperature": 80.0, "pressure": 2.1, "flow": 300.0, "moisture": 0.05}


def log(random, n: int = 60) -> Observations:
    """Four sensors that follow one course, each in its units, with a twentieth of noise."""
    course = np.sin(np.arange(n) / 6)[:, None] * np.array([1, -1, 1, 0.5])
    noisy = course + 0.05 * random.normal(size=course.shape)
    values = np.array(list(CENTRES.values())) + noisy * np.array(list(SPREADS.values()))
    return Observations.from_array(
        values, mode_names=["hour", "sensor"], labels=[np.arange(n) + 5, list(SPREADS)]
    )


@pytest.fixture
def tensor(random):
    return log(random)


@pytest.fixture
def scaling(tensor):
    return LabelScaling.of(tensor, 1)


def test_every_label_has_mean_0_and_variance_1(tensor, scaling):
    scaled = tensor.scaled(scaling)
    for label in range(4):
        own = scaled.values[scaled.indices[:, 1] == label]
        assert own.mean() == pytest.approx(0, abs=1e-9)
        assert own.std() == pytest.approx(1)


def test_values_come_back_and_spreads_are_differences(tensor, scaling):
    indices = tensor.indices
    scaled = scaling.apply(tensor.values, indices)
    np.testing.assert_allclose(scaling.invert(scaled, indices), tensor.values)
    apart = scaling.invert(scaled + 0.3, indices) - tensor.values
    np.testing.assert_allclose(scaling.stretch(np.full(len(tensor), 0.3), indices), apart)


def test_a_label_that_is_new_or_hardly_known_has_the_units_of_all_values(tensor):
    kept = (tensor.indices[:, 1] != 3) | (tensor.indices[:, 0] < 5)
    scaling = LabelScaling.of(tensor.take(kept), 1)
    at = np.array([[0, -1], [0, 3]])
    centres = scaling.invert(np.zeros(2), at)
    np.testing.assert_allclose(centres, tensor.take(kept).values.mean())
    grown = scaling.grown([np.arange(60), np.array([2, -1, 0, 1, 3])])
    grown.validate((60, 5))
    np.testing.assert_allclose(
        grown.invert(np.zeros(3), np.array([[0, 0], [0, 1], [0, 2]])),
        [*scaling.invert(np.zeros(1), np.array([[0, 2]])), scaling.location, scaling.locations[0]],
    )


def test_a_scaling_that_does_not_fit_is_refused(scaling):
    with pytest.raises(ValueError, match="one location and one scale per label"):
        scaling.validate((60, 5))


def test_the_mode_of_units_has_names_whose_values_spread_differently(tensor, random):
    assert mode_of_units(tensor) == 1
    same = Observations.from_array(random.normal(size=(30, 4)), labels=[range(30), list("abcd")])
    assert mode_of_units(same) is None
    wavelengths = tensor.to_array()  # numbers are places on a scale, not quantities
    assert mode_of_units(Observations.from_array(wavelengths)) is None


def test_sensors_in_different_units_are_each_filled_in_their_own(tmp_path):
    tensor = log(np.random.default_rng(0))
    hidden = np.random.default_rng(1).random(len(tensor)) < 0.15
    training, asked = tensor.take(~hidden), tensor.take(hidden)
    model = VAECP(random_state=0, effort="quick").fit(training.keys(), training.values)
    assert (
        "each sensor in units of their own; mean" in model.diagnostics_.found["likelihood_reason"]
    )
    mean, std = model.predict(asked.keys(), return_std=True)
    sizes = np.array(list(SPREADS.values()))[asked.indices[:, 1]]
    for label in range(4):
        own = asked.indices[:, 1] == label
        errors = ((mean - asked.values) / sizes)[own]
        assert np.sqrt(np.mean(errors**2)) < 0.3
        assert 0.02 < np.median((std / sizes)[own]) < 0.4
    save(model, tmp_path / "m.vaecp")
    np.testing.assert_array_equal(load(tmp_path / "m.vaecp").predict(asked.keys()), mean)
    later = pd.DataFrame({"hour": 100, "sensor": ["temperature", "flow"]})
    joined = model.fold_in(later, [82.0, 320.0]).predict(
        pd.DataFrame({"hour": [100], "sensor": ["moisture"]})
    )
    assert joined[0] == pytest.approx(0.05, abs=0.02)
