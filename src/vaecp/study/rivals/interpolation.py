"""Interpolation along one ordered mode, fibre by fibre: what needs no model of the tensor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline

from vaecp.data.labels import are_quantities
from vaecp.data.observations import Observations
from vaecp.data.order import fibre_keys
from vaecp.data.prediction import Prediction
from vaecp.study.rivals import means_only

Curve = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Takes where to interpolate, and places and values of the observed entries of a fibre."""
LEAST_FOR_SPLINE = 4


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


def _along(training: Observations, indices: np.ndarray, mode: int, curve: Curve) -> Prediction:
    """Beyond its ends a fibre keeps its last value; without entries it has the overall mean."""
    once = training.settle_duplicates("mean")
    places = _places(training.labels[mode])
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


def _places(labels: np.ndarray) -> np.ndarray:
    """Return where rows lie along their mode: wavelengths as they are, else their numbers."""
    if not are_quantities(labels):
        return np.arange(len(labels), dtype=np.float64)
    return (labels - labels.min()).astype(np.float64)


def _spline(where: np.ndarray, at: np.ndarray, values: np.ndarray) -> np.ndarray:
    if len(at) < LEAST_FOR_SPLINE:
        return np.interp(where, at, values)
    return CubicSpline(at, values)(np.clip(where, at[0], at[-1]))
