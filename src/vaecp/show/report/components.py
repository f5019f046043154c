"""Figures of what the model learned: rows of components, their relevance, the fit's history."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from vaecp.models.base import TensorEstimator
from vaecp.outcomes.components import (
    Loadings,
    by_relevance,
    loadings,
    relevance,
    training_history,
)
from vaecp.outcomes.eem import peak_names
from vaecp.show.report.numbers import few_digits

MAX_COMPONENTS = 12
RELEVANT = 0.05
"""A component that matters moves predictions by at least this share of what the first one does."""
MAX_ROWS = 600
MAX_STEPS = 400
TERMS = {
    "elbo": "evidence bound (ELBO)",
    "log_likelihood": "log-likelihood",
    "kl": "KL divergence of the rows",
    "noise_std": "noise level",
    "training_loss": "loss of training entries",
    "validation_rmse": "RMSE of validation entries",
    "validation_nll": "negative log-likelihood of validation entries",
}

IN_UNITS = ("validation_rmse", "noise_std")


def component_figures(model: TensorEstimator) -> dict[str, Any]:
    """Return the rows per component and mode, the most relevant component first."""
    rows = loadings(model)
    weights = relevance(model)
    peaks = peak_names(model)
    orders = [_order(each, weights) for each in rows]
    n_shown = min(_n_relevant(weights), max(len(order) for order in orders))
    return {
        "n": n_shown,
        "n_all": max(len(order) for order in orders),
        "modes": [_mode(each, order[:n_shown]) for each, order in zip(rows, orders, strict=True)],
        "relevance": None if weights.empty else _bars(weights, n_shown),
        "names": None if peaks is None else [peaks[place] for place in orders[0][:n_shown]],
    }


def _n_relevant(weights: pd.DataFrame) -> int:
    """Return how many components matter in some mode; the largest number where none is known."""
    if weights.empty:
        return MAX_COMPONENTS
    counts = []
    for _, group in weights.groupby("mode"):
        values = group["relevance"].to_numpy(float)
        counts.append(int((values >= RELEVANT * values.max()).sum()))
    return min(MAX_COMPONENTS, max(counts))


def _order(rows: Loadings, weights: pd.DataFrame) -> np.ndarray:
    """Return the components of a mode by falling relevance, or as they stand."""
    if weights.empty:
        return np.arange(rows.mean.shape[1])
    return by_relevance(weights, rows.mode_name)


def _mode(rows: Loadings, order: np.ndarray) -> dict[str, Any]:
    size = len(rows.mean)
    kept = np.unique(np.linspace(0, size - 1, min(size, MAX_ROWS)).round().astype(int))
    std = rows.std
    return {
        "rows": kept.tolist(),
        "mean": [few_digits(rows.mean[kept, component]) for component in order],
        "std": None if std is None else [few_digits(std[kept, component]) for component in order],
    }


def _bars(weights: pd.DataFrame, n_shown: int) -> dict[str, Any]:
    """Return relevance by falling size within each mode, under the numbers of the chooser."""
    groups = []
    for mode, group in weights.groupby("mode", sort=False):
        values = np.sort(group["relevance"].to_numpy(float))[::-1][:n_shown]
        groups.append({"mode": str(mode), "values": few_digits(values)})
    return {"groups": groups}


def history_figures(model: TensorEstimator) -> dict[str, Any] | None:
    """Return every term of the fit's history, or None where the method does not iterate."""
    history = training_history(model)
    if history.empty:
        return None
    terms, scaling = [], model.scaling_
    for term, group in history.groupby("term", sort=False):
        # Errors are shown in the units of the values, as everywhere in the page.
        unit = scaling.scale if term in IN_UNITS and scaling.uniform else 1.0
        lines = [_line(member, unit) for _, member in group.groupby("member", sort=False)]
        if any(value is not None for line in lines for value in line["value"]):
            terms.append({"name": TERMS.get(str(term), str(term)), "lines": lines})
    return {"terms": terms, "step": model.diagnostics_.step}


def _line(member: pd.DataFrame, unit: float) -> dict[str, Any]:
    n = len(member)
    kept = np.unique(np.linspace(0, n - 1, min(n, MAX_STEPS)).round().astype(int))
    return {
        "step": member["step"].to_numpy()[kept].tolist(),
        "value": few_digits(unit * member["value"].to_numpy(float)[kept]),
    }
