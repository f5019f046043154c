"""Values larger than all that were observed: peaks that are missing because they are large."""

from __future__ import annotations

import numpy as np
import pytest

from vaecp import VAECP
from vaecp.data.observations import Observations

NOISE = 0.02


def cut(tallest: float = 1.0) -> tuple[VAECP, Observations, Observations]:
    """A model of a tensor whose largest twentieth is missing; what it learned from, and the rest.

    Two components with a peak each in ten samples, of which the first has so many times its amounts.
    """
    random = np.random.default_rng(0)
    wave, step = np.arange(18.0), np.arange(9.0)
    spectra = np.exp(-((wave[:, None] - [6, 11]) ** 2) / 12)
    profiles = np.exp(-((step[:, None] - [3, 6]) ** 2) / 5)
    amounts = random.gamma(2.0, 1.0, size=(10, 2))
    amounts[0] *= tallest
    clean = np.einsum("ir,jr,kr->ijk", amounts, spectra, profiles)
    values = clean + NOISE * np.random.default_rng(1).normal(size=clean.shape)
    tensor = Observations.from_array(values)
    large = tensor.values > np.quantile(tensor.values, 0.95)
    model = VAECP(random_state=0, effort="quick", likelihood="gaussian")
    return model.fit_tensor(tensor.take(~large)), tensor.take(~large), tensor.take(large)


@pytest.fixture(scope="module")
def peaks():
    return cut()


def share_inside(model: VAECP, hidden: Observations) -> float:
    low, high = model.predict_at(hidden.indices).interval(0.9)
    return float(np.mean((low < hidden.values) & (hidden.values < high)))


def test_peaks_that_are_missing_because_they_are_large_are_filled(peaks):
    model, known, hidden = peaks
    assert hidden.values.max() > 1.6 * known.values.max()
    error = model.predict_at(hidden.indices).mean - hidden.values
    assert np.sqrt(np.mean(error**2)) < 5 * NOISE


def test_intervals_grow_with_how_far_beyond_the_known_values_they_lie(peaks):
    model, known, hidden = peaks
    found = model.predict_at(hidden.indices)
    beyond = found.mean - known.values.max()
    assert found.ignorance_std[np.argmax(beyond)] > 0.05 * beyond.max() > NOISE
    assert share_inside(model, hidden) > 0.85
    inside = model.predict_at(known.indices)
    inner = np.abs(inside.mean) < 0.9 * known.values.max()
    assert np.median(inside.ignorance_std[inner]) < NOISE


def test_where_means_are_cut_off_intervals_reach_as_far_again():
    model, known, hidden = cut(tallest=6.0)
    width = known.values.max() - known.values.min()
    far = hidden.take(hidden.values > known.values.max() + 1.2 * width)
    assert len(far) > 5
    np.testing.assert_allclose(
        model.predict_at(far.indices).mean, known.values.max() + width, rtol=0.02
    )
    near = far.take(far.values < known.values.max() + 2.5 * width)
    assert share_inside(model, near) > 0.85
