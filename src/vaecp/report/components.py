"""Figures of what the model learned: rows of components, their relevance, the fit's history."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from vaecp.learned import (
    Loadings,
    by_relevance,
    has_components,
    loadings,
    relevance,
    training_history,
)
from vaecp.models.base import TensorEstimator
from vaecp.report.numbers import rounded

MAX_COMPONENTS = 20
MAX_ROWS = 600
MAX_STEPS = 400
TERMS = {
    "elbo": "evidence bound (ELBO)",
    "log_likelihood": "log-likelihood",
    "kl": "KL divergence of the rows",
    "noise_std": "noise level",
    "validation_rmse": "RMSE of validation entries",
    "validation_nll": "negative log-likelihood of validation entries",
}


def component_figures(model: TensorEstimator) -> dict[str, Any]:
    """Return the rows per component and mode, the most relevant component first."""
    rows = loadings(model)
    weights = relevance(model) if has_components(model) else None
    orders = [_order(each, weights) for each in rows]
    n_shown = min(MAX_COMPONENTS, max(len(order) for order in orders))
    return {
        "n": n_shown,
        "n_all": max(len(order) for order in orders),
        "modes": [_mode(each, order[:n_shown]) for each, order in zip(rows, orders, strict=True)],
        "relevance": None if weights is None else _bars(weights),
    }


def _order(rows: Loadings, weights: pd.DataFrame | None) -> np.ndarray:
    """Return the components of a mode by falling relevance, or as they stand."""
    if weights is None:
        return np.arange(rows.mean.shape[1])
    return by_relevance(weights, rows.mode_name)


def _mode(rows: Loadings, order: np.ndarray) -> dict[str, Any]:
    size = len(rows.mean)
    kept = np.unique(np.linspace(0, size - 1, min(size, MAX_ROWS)).round().astype(int))
    std = rows.std
    return {
        "rows": kept.tolist(),
        "mean": [rounded(rows.mean[kept, component]) for component in order],
        "std": None if std is None else [rounded(std[kept, component]) for component in order],
    }


def _bars(weights: pd.DataFrame) -> dict[str, Any]:
    """Return relevance by falling size within each mode, under the numbers of the chooser."""
    groups = []
    for mode, group in weights.groupby("mode", sort=False):
        values = np.sort(group["relevance"].to_numpy(float))[::-1][:MAX_COMPONENTS]
        groups.append({"mode": str(mode), "values": rounded(values)})
    return {"groups": groups}


def history_figures(model: TensorEstimator) -> dict[str, Any] | None:
    """Return every term of the fit's history, or None where the method does not iterate."""
    history = training_history(model)
    if history.empty:
        return None
    terms = []
    for term, group in history.groupby("term", sort=False):
        lines = [_line(member) for _, member in group.groupby("member", sort=False)]
        if any(value is not None for line in lines for value in line["value"]):
            terms.append({"name": TERMS.get(str(term), str(term)), "lines": lines})
    return {"terms": terms, "step": "epoch" if hasattr(model, "max_epochs") else "iteration"}


def _line(member: pd.DataFrame) -> dict[str, Any]:
    n = len(member)
    kept = np.unique(np.linspace(0, n - 1, min(n, MAX_STEPS)).round().astype(int))
    return {
        "step": member["step"].to_numpy()[kept].tolist(),
        "value": rounded(member["value"].to_numpy(float)[kept]),
    }
