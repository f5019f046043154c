"""Make runs: fit, measure on the held-out entries, and say what came out as a record."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.data.standardising import Standardiser
from vaecp.outcomes.metrics import calibration, mae, rmse, summary, trimmed_rmse
from vaecp.runtime.versions import device, versions
from vaecp.study.experiments.provenance import PACKAGES, code, commit
from vaecp.study.experiments.runs import TRAINING, Run, Tensor, model_seed, parts
from vaecp.study.rivals import build

MEASURES = (
    "rmse",
    "mae",
    "trimmed_rmse",
    "nll",
    "crps",
    "coverage_50",
    "coverage_90",
    "coverage_95",
    "auc",
    "brier",
)
_LONGEST_MESSAGE = 500


def execute(run: Run, tensor: Tensor) -> dict[str, Any]:
    """Fit, measure on the held-out entries, and return a record of plain values.

    Scores are in units of the training entries' standard deviation, which the record has as
    `scale`. A fit that fails is a record too, with its message. Seconds hold the fit and the
    prediction.
    """
    training, asked = parts(run, tensor)
    found: dict[str, Any] = {}
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model: Any = build(run.method, dict(run.settings), model_seed(run))
            prediction = model.fit_tensor(training).predict_at(asked.indices)
            found["seconds"] = time.perf_counter() - started
            found |= _found(run, model, prediction, training, asked)
        except Exception as problem:  # anything that a method can do wrong belongs in the table
            found["seconds"] = time.perf_counter() - started
            found["error"] = _one_line(f"{type(problem).__name__}: {problem}")
    found["warning"] = _one_line("; ".join(dict.fromkeys(str(w.message) for w in caught)))
    return describe(run) | found


def describe(run: Run) -> dict[str, Any]:
    """Return the record of a run before it is made."""
    return {
        "key": run.key,
        "work": run.work,
        **asdict(run),
        "settings": dict(run.settings),
        **dict.fromkeys(MEASURES, float("nan")),
        "scale": float("nan"),
        "rank_found": None,
        "converged": None,
        "seconds": float("nan"),
        "error": "",
        "warning": "",
        "code": code(run.method),
        "commit": commit(),
        "versions": versions(*PACKAGES),
        "device": device(),
    }


def measures_of(prediction: Prediction, values: np.ndarray, scale: float = 1.0) -> dict[str, float]:
    """Return every measure, with `scale` as the unit of the values.

    Those of the spread are NaN where a prediction has none.
    """
    if np.isnan(prediction.std).any():
        found = dict.fromkeys(MEASURES, float("nan"))
        found |= {"rmse": rmse(prediction, values), "mae": mae(prediction, values)}
    else:
        found = dict.fromkeys(MEASURES, float("nan")) | summary(prediction, values)
        found["nll"] -= np.log(scale)  # a density is one per unit
    found["trimmed_rmse"] = trimmed_rmse(prediction, values)
    for name in ("rmse", "mae", "trimmed_rmse", "crps"):
        found[name] /= scale
    return {name: float(found[name]) for name in MEASURES}


def _found(
    run: Run, model: Any, prediction: Prediction, training: Observations, asked: Observations
) -> dict[str, Any]:
    scale = Standardiser.of(training.values).scale or 1.0
    history = {"history": _history(model)} if run.comparison == TRAINING else {}
    converged = model.diagnostics_.converged
    found: dict[str, Any] = {
        "scale": scale,
        "rank_found": model.diagnostics_.found.get("rank"),
        "converged": None if converged is None else bool(converged),
        "calibration": _calibration(prediction, asked.values),
    }
    return measures_of(prediction, asked.values, scale) | found | history


def _calibration(prediction: Prediction, values: np.ndarray) -> list[float]:
    """Return what intervals hold at each of `LEVELS`; nothing where there is no spread."""
    if np.isnan(prediction.std).any():
        return []
    return [round(float(share), 4) for share in calibration(prediction, values)["share"]]


def _history(model: Any) -> dict[str, list[float]]:
    """Return the bound and the validation RMSE per epoch, members averaged."""
    history = model.diagnostics_.history
    return {
        name: [float(f"{value:.5g}") for value in history[name].mean(axis=1)]
        for name in ("elbo", "validation_rmse")
    }


def _one_line(message: str) -> str:
    return " ".join(message.split())[:_LONGEST_MESSAGE]
