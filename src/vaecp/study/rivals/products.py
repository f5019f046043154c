"""Masked CP with what else it may be given: smooth rows, or the residuals of neighbours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.order import ordered_modes
from vaecp.data.prediction import Prediction
from vaecp.models.cp.constraints import Smooth
from vaecp.models.cp.estimators import CPALS
from vaecp.models.vaecp.neighbours import Neighbourhood, weights_of

HELD_OUT = 0.1
LEAST_ROWS = 3


def predict_smooth(
    training: Observations,
    indices: np.ndarray,
    random_state: int = 0,
    rank: int = 10,
    strength: float = 1.0,
    ridge: float = 1e-3,
) -> Prediction:
    """Fit CP whose components have little curvature along ordered modes.

    Parameters
    ----------
    strength : times the squared second differences of a component; see `vaecp.constraints.Smooth`.
    """
    smooth = {mode: Smooth(strength) for mode in _ordered(training)}
    model = CPALS(
        rank,
        center="values",
        constraints=smooth or None,
        ridge=ridge,
        n_starts=1,
        random_state=random_state,
    )
    return model.fit_tensor(training).predict_at(indices)


def predict_with_neighbours(
    training: Observations,
    indices: np.ndarray,
    random_state: int = 0,
    rank: int = 10,
    ridge: float = 1e-3,
) -> Prediction:
    """Fit CP, and add what the residuals of neighbouring entries say, as VAECP does.

    A tenth of the entries is held out of a first fit, to weigh the residuals around them. The
    spread is that of CP, times how much smaller the errors of the held-out entries have become.
    """
    once = training.settle_duplicates("mean")
    kept, held_out = once.split(HELD_OUT, random_state)
    settings = {"center": "values", "ridge": ridge, "random_state": random_state}
    around, errors = _residuals(CPALS(rank, **settings), kept, held_out)
    found = None
    if around.modes:
        weight, unit = np.ones(len(errors)), np.arange(len(errors))
        found = weights_of(around.features(held_out.indices), errors, weight, unit)
    model = CPALS(rank, **settings).fit_tensor(once)
    prediction = model.predict_at(indices)
    if found is None:
        return prediction
    weights, left = found
    whole = Neighbourhood(once.indices, _errors(model, once), around.modes, once.shape)
    smaller = float(np.sqrt(np.mean(left**2) / np.mean(errors**2)))
    return replace(
        prediction,
        mean=prediction.mean + whole.features(indices) @ weights,
        noise_std=smaller * prediction.noise_std,
        ignorance_std=smaller * prediction.ignorance_std,
    )


def _ordered(training: Observations) -> tuple[int, ...]:
    return tuple(
        mode
        for mode, ordered in enumerate(ordered_modes(training))
        if ordered and training.shape[mode] >= LEAST_ROWS
    )


def _residuals(
    model: Any, kept: Observations, held_out: Observations
) -> tuple[Neighbourhood, np.ndarray]:
    """Return the residuals of a fit, and its errors at entries that it did not see."""
    model.fit_tensor(kept)
    around = Neighbourhood(kept.indices, _errors(model, kept), _ordered(kept), kept.shape)
    return around, _errors(model, held_out)


def _errors(model: Any, entries: Observations) -> np.ndarray:
    return entries.values - model.predict_at(entries.indices).mean
