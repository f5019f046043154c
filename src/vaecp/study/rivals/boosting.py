"""Gradient-boosted trees on the labels (LightGBM): what people try first on a table."""

from __future__ import annotations

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.order import ordered_modes
from vaecp.data.prediction import Prediction
from vaecp.runtime.extras import require
from vaecp.runtime.threads import n_cores
from vaecp.study.rivals import EXTRA, means_only


def predict(
    training: Observations,
    indices: np.ndarray,
    random_state: int = 0,
    leaves: int = 31,
    trees: int = 500,
    rate: float = 0.05,
    least: int = 20,
) -> Prediction:
    """Split on the row numbers of ordered modes, and on sets of rows of the others.

    Parameters
    ----------
    leaves, trees, rate, least : LightGBM's num_leaves, n_estimators, learning_rate and
        min_child_samples.
    """
    lightgbm = require("lightgbm", EXTRA, "the rival LightGBM")
    names = [mode for mode, ordered in enumerate(ordered_modes(training)) if not ordered]
    data = lightgbm.Dataset(
        training.indices.astype(np.float64),
        training.values,
        categorical_feature=names,
        params={"verbosity": -1},
    )
    settings = {
        "objective": "regression",
        "num_leaves": leaves,
        "learning_rate": rate,
        "min_child_samples": least,
        "num_threads": n_cores(),
        "deterministic": True,
        "seed": random_state,
        "verbosity": -1,
    }
    booster = lightgbm.train(settings, data, trees)
    return means_only(np.asarray(booster.predict(indices.astype(np.float64))))
