"""How good predictions are: the error of the mean, and how honest the uncertainty is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from vaecp.errors import ObservationError
from vaecp.prediction import Prediction

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


def rmse(prediction: Prediction, values: np.ndarray) -> float:
    """Return the root of the mean squared error of the mean."""
    errors = _errors(prediction, values)
    # Squares of very large errors would leave the range of float64.
    unit = float(np.abs(errors).max()) or 1.0
    return unit * float(np.sqrt(np.mean((errors / unit) ** 2)))


def mae(prediction: Prediction, values: np.ndarray) -> float:
    """Return the mean absolute error of the mean."""
    return float(np.mean(np.abs(_errors(prediction, values))))


def nll(prediction: Prediction, values: np.ndarray) -> float:
    """Return the mean negative log of the predictive density.

    A prediction that is certain (its std is 0) and wrong makes it infinite.
    """
    errors = _errors(prediction, values)
    certain = np.asarray(prediction.std) == 0
    if certain.any():
        return np.inf if errors[certain].any() else -np.inf
    return float(-np.mean(prediction.log_density(np.asarray(values, dtype=np.float64))))


def crps(prediction: Prediction, values: np.ndarray) -> float:
    """Return the mean continuous ranked probability score, in the units of the values.

    It is the integral of (F(x) - [x >= value])^2 over x, where F is the predictive
    distribution, and equals the absolute error when the prediction is certain.
    """
    errors = _errors(prediction, values)
    scale = np.asarray(prediction.std, dtype=np.float64)
    certain = scale == 0
    unit = prediction.shape.crps(errors / np.where(certain, 1.0, scale))
    return float(np.mean(np.where(certain, np.abs(errors), scale * unit)))


def coverage(prediction: Prediction, values: np.ndarray, level: float = 0.9) -> float:
    """Return the share of values inside their central interval of this level.

    An honest prediction has a share close to the level.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}: use a number between 0 and 1, such as 0.9.")
    errors = _errors(prediction, values)
    low, high = prediction.interval(level)
    return float(np.mean((low - prediction.mean <= errors) & (errors <= high - prediction.mean)))


def calibration(
    prediction: Prediction, values: np.ndarray, levels: Sequence[float] = LEVELS
) -> pd.DataFrame:
    """Return the share of values inside their interval at several levels.

    Columns are `level`, `share`, and the ends `low` and `high` of the range in which nine in ten
    shares would lie if every interval held what it promises (binomial).
    """
    n = len(np.asarray(values))
    level = np.asarray(levels, dtype=np.float64)
    return pd.DataFrame(
        {
            "level": level,
            "share": [coverage(prediction, values, each) for each in level],
            "low": stats.binom.ppf(0.05, n, level) / n,
            "high": stats.binom.ppf(0.95, n, level) / n,
        }
    )


def summary(prediction: Prediction, values: np.ndarray) -> dict[str, float]:
    """Return every measure by name."""
    return {
        "rmse": rmse(prediction, values),
        "mae": mae(prediction, values),
        "nll": nll(prediction, values),
        "crps": crps(prediction, values),
        "coverage_50": coverage(prediction, values, 0.5),
        "coverage_90": coverage(prediction, values, 0.9),
        "coverage_95": coverage(prediction, values, 0.95),
    }


def _errors(prediction: Prediction, values: np.ndarray) -> np.ndarray:
    """Return value minus mean of every entry, in float64."""
    values, mean = np.asarray(values, dtype=np.float64), np.asarray(prediction.mean)
    if values.shape != mean.shape:
        raise ObservationError(
            f"values has shape {values.shape}, but the prediction has {mean.shape}: give one "
            "value per predicted entry."
        )
    if not values.size:
        raise ObservationError("values is empty: a score needs at least one entry.")
    finite = np.isfinite(values)
    if not finite.all():
        entry = int(np.argmin(finite))
        raise ObservationError(
            f"values[{entry}] is {values[entry]}: score only entries whose value is known."
        )
    return values - mean
