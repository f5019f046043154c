"""Values larger than all that were observed: peaks that are missing because they are large."""

from __future__ import annotations

import numpy as np
import pytest

from vaecp import VAECP
from vaecp.data.observations import Observations
from vaecp.models.vaecp.fitted import BEYOND

NOISE = 0.02


def peaks() -> np.ndarray:
    """Two components with a peak each, in ten samples."""
    random = np.random.default_rng(0)
    wave, step = np.arange(18.0), np.arange(9.0)
    spectra = np.exp(-((wave[:, None] - [6, 11]) ** 2) / 12)
    profiles = np.exp(-((step[:, None] - [3, 6]) ** 2) / 5)
    amounts = random.gamma(2.0, 1.0, size=(10, 2))
    return np.einsum("ir,jr,kr->ijk", amounts, spectra, profiles)


@pytest.fixture(scope="module")
def cut() -> tuple[VAECP, Observations, Observations]:
    """A model of a tensor whose largest twentieth is missing; what it learned from, and the rest."""
    clean = peaks()
    values = clean + NOISE * np.random.default_rng(1).normal(size=clean.shape)
    tensor = Observations.from_array(values)
    large = tensor.values > np.quantile(tensor.values, 0.95)
    model = VAECP(random_state=0, effort="quick", likelihood="gaussian").fit_tensor(
        tensor.take(~large)
    )
    return model, tensor.take(~large), tensor.take(large)


def test_peaks_that_are_missing_because_they_are_large_are_filled(cut):
    model, known, hidden = cut
    assert hidden.values.max() > 1.6 * known.values.max()
    error = model.predict_at(hidden.indices).mean - hidden.values
    assert np.sqrt(np.mean(error**2)) < 5 * NOISE


def test_intervals_grow_with_how_far_beyond_the_known_values_they_lie(cut):
    model, known, hidden = cut
    found = model.predict_at(hidden.indices)
    beyond = found.mean - known.values.max()
    assert (found.ignorance_std >= BEYOND * np.maximum(beyond, 0) * (1 - 1e-9)).all()
    low, high = found.interval(0.9)
    assert np.mean((low < hidden.values) & (hidden.values < high)) > 0.85
    inside = model.predict_at(known.indices)
    inner = np.abs(inside.mean) < 0.9 * known.values.max()
    assert np.median(inside.ignorance_std[inner]) < NOISE
