"""Interpolation along one ordered mode, fibre by fibre: what needs no model of the tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.interpolate import CubicSpline, make_smoothing_spline

from vaecp.data.labels import are_quantities
from vaecp.data.observations import Observations
from vaecp.data.order import fibre_keys
from vaecp.data.prediction import Prediction
from vaecp.study.rivals import means_only

Curve = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Takes where to interpolate, and places and values of the observed entries of a fibre."""
LEAST_FOR_SPLINE = 4
LEAST_FOR_SMOOTHING = 8
PENALTIES = tuple(10.0**power for power in range(-11, 0))
N_FIBRES = 20


def predict_linear(
    training: Observations, indices: np.ndarray, random_state: int = 0, mode: int = 0
) -> Prediction:
    """Interpolate between the nearest observed entries of the fibre along `mode`."""
    return _along(training, indices, mode, np.interp)


def predict_cubic(
    training: Observations, indices: np.ndarray, random_state: int = 0, mode: int = 0
) -> Prediction:
    """Interpolate by a cubic spline through the observed entries of the fibre along `mode`."""
    return _along(training, indices, mode, _spline)


def predict_smoothing_spline(
    training: Observations, indices: np.ndarray, random_state: int = 0, mode: int = 0
) -> Prediction:
    """Smooth the fibre along `mode` by a cubic spline.

    The penalty is one for all fibres, on places from 0 to 1: of several, the one that predicts
    every fifth entry of some fibres best.
    """
    random = np.random.default_rng(random_state)
    errors = np.zeros(len(PENALTIES))
    for at, values in _some_fibres(training, mode, random):
        out = np.arange(len(at)) % 5 == 2
        for place, penalty in enumerate(PENALTIES):
            found = _smoothed(penalty)(at[out], at[~out], values[~out])
            errors[place] += np.sum((found - values[out]) ** 2)
    return _along(training, indices, mode, _smoothed(PENALTIES[int(np.argmin(errors))]))


def _along(training: Observations, indices: np.ndarray, mode: int, curve: Curve) -> Prediction:
    """Beyond its ends a fibre keeps its last value; without entries it has the overall mean."""
    once = training.settle_duplicates("mean")
    places = places_of(training.labels[mode])
    known, asked = (
        fibre_keys(cells, training.shape, mode) // training.shape[mode]
        for cells in (once.indices, indices)
    )
    order = np.lexsort([places[once.indices[:, mode]], known])
    known, at, values = known[order], places[once.indices[order, mode]], once.values[order]
    means = np.full(len(indices), training.values.mean())
    by_fibre = np.argsort(asked, kind="stable")
    fibres, starts = np.unique(asked[by_fibre], return_index=True)
    for fibre, rows in zip(fibres, np.split(by_fibre, starts[1:]), strict=True):
        first, end = np.searchsorted(known, [fibre, fibre + 1])
        if end > first:
            where = places[indices[rows, mode]]
            means[rows] = curve(where, at[first:end], values[first:end])
    return means_only(means)


def places_of(labels: np.ndarray) -> np.ndarray:
    """Return where rows lie along their mode: wavelengths as they are, else their numbers."""
    if not are_quantities(labels):
        return np.arange(len(labels), dtype=np.float64)
    return (labels - labels.min()).astype(np.float64)


def _spline(where: np.ndarray, at: np.ndarray, values: np.ndarray) -> np.ndarray:
    if len(at) < LEAST_FOR_SPLINE:
        return np.interp(where, at, values)
    return CubicSpline(at, values)(np.clip(where, at[0], at[-1]))


def _smoothed(penalty: float) -> Curve:
    def curve(where: np.ndarray, at: np.ndarray, values: np.ndarray) -> np.ndarray:
        if len(at) < LEAST_FOR_SMOOTHING:
            return _spline(where, at, values)
        unit = at[-1] - at[0]
        spline = make_smoothing_spline((at - at[0]) / unit, values, lam=penalty)
        return spline(np.clip((where - at[0]) / unit, 0.0, 1.0))

    return curve


def _some_fibres(
    training: Observations, mode: int, random: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield places and values of some of the fibres with enough entries to leave some out."""
    once = training.settle_duplicates("mean")
    fibres = fibre_keys(once.indices, training.shape, mode) // training.shape[mode]
    found, counts = np.unique(fibres, return_counts=True)
    enough = found[counts >= 2 * LEAST_FOR_SMOOTHING]
    places = places_of(training.labels[mode])
    for fibre in random.permutation(enough)[:N_FIBRES]:
        own = np.flatnonzero(fibres == fibre)
        own = own[np.argsort(places[once.indices[own, mode]])]
        yield places[once.indices[own, mode]], once.values[own]
