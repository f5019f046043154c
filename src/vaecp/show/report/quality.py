"""Figures and a table of how the model did on entries that were hidden from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from vaecp.outcomes import metrics
from vaecp.outcomes.holdout import HeldOutCheck
from vaecp.show.report.numbers import exact, few_digits, label_texts, size_shown

MAX_POINTS = 2_000


def quality_figures(check: HeldOutCheck, coverage: float) -> dict[str, Any]:
    """Return predicted against held-out, calibration, and the errors by method."""
    held_out, prediction = check.held_out, check.prediction
    points = _points(len(held_out))
    low, high = prediction.interval(coverage)
    curve = metrics.calibration(prediction, held_out.values)
    return {
        "scatter": {
            "held_out": exact(held_out.values[points]),
            "predicted": exact(prediction.mean[points]),
            "low": exact(low[points]),
            "high": exact(high[points]),
            "indices": held_out.indices[points].tolist(),
            "n": len(held_out),
        },
        "calibration": {name: few_digits(curve[name]) for name in curve.columns},
        "reliability": _reliability(check),
        "errors": {
            "names": list(check.predictions),
            "rmse": few_digits([scores["rmse"] for scores in check.measures.values()]),
        },
    }


def _reliability(check: HeldOutCheck) -> dict[str, Any] | None:
    """Return how often classes came true, where values are classes."""
    if check.prediction.classes is None:
        return None
    table = metrics.reliability(check.prediction, check.held_out.values)
    return {name: few_digits(table[name]) for name in ("probability", "share", "low", "high")} | {
        "n": table["n"].tolist()
    }


def quality_rows(check: HeldOutCheck) -> list[list[str]]:
    """Return one row of text per method: name, RMSE, MAE, CRPS, coverage."""
    return [
        [
            name,
            size_shown(row["rmse"]),
            size_shown(row["mae"]),
            size_shown(row["crps"]),
            f"{100 * row['coverage_90']:.1f} %",
        ]
        for name, row in check.measures.items()
    ]


def labels_at(check: HeldOutCheck) -> list[list[str]]:
    """Return the labels of the drawn points, for hovering."""
    points = check.held_out.indices[_points(len(check.held_out))]
    texts = [label_texts(labels) for labels in check.held_out.labels]
    return [[texts[mode][row] for mode, row in enumerate(point)] for point in points]


def _points(n: int) -> np.ndarray:
    """Draw all of few points, and a fixed random part of many."""
    if n <= MAX_POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MAX_POINTS, replace=False))
