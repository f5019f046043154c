"""How good predictions are: the error of the mean, and how well calibrated the uncertainty is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import special, stats
from sklearn import metrics as ranking

from vaecp.data.prediction import Prediction
from vaecp.errors import ObservationError

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


def rmse(prediction: Prediction, values: np.ndarray) -> float:
    """Return the root of the mean squared error of the mean."""
    errors = _errors(prediction, values)
    # Squares of very large errors would leave the range of float64.
    unit = float(np.abs(errors).max()) or 1.0
    return unit * float(np.sqrt(np.mean((errors / unit) ** 2)))


def trimmed_rmse(prediction: Prediction, values: np.ndarray, share: float = 0.01) -> float:
    """Return the RMSE without the largest errors, a hundredth of them unless told otherwise."""
    errors = np.abs(_errors(prediction, values))
    n_kept = max(len(errors) - int(share * len(errors)), 1)
    kept = np.partition(errors, n_kept - 1)[:n_kept]
    unit = float(kept.max()) or 1.0
    return unit * float(np.sqrt(np.mean((kept / unit) ** 2)))


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
    _errors(prediction, values)  # refuses what cannot be scored
    return float(np.mean(prediction.crps(np.asarray(values, dtype=np.float64))))


def coverage(prediction: Prediction, values: np.ndarray, level: float = 0.9) -> float:
    """Return the share of values inside their central interval of this level.

    A well calibrated prediction has a share close to the level.
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
    shares would lie if every interval held what it promises (binomial). Intervals of discrete
    values hold more than they promise, because their ends count whole; the share is then that of
    `pit`, in which ends count in part.
    """
    n = len(np.asarray(values))
    level = np.asarray(levels, dtype=np.float64)
    if prediction.discrete:
        off = 2 * np.abs(pit(prediction, values) - 0.5)
        shares = [float(np.mean(off <= each)) for each in level]
    else:
        shares = [coverage(prediction, values, each) for each in level]
    return pd.DataFrame(
        {
            "level": level,
            "share": shares,
            "low": stats.binom.ppf(0.05, n, level) / n,
            "high": stats.binom.ppf(0.95, n, level) / n,
        }
    )


def log_score(prediction: Prediction, values: np.ndarray) -> float:
    """Return the mean log of the predictive density (or probability); larger is better."""
    return -nll(prediction, values)


def auc(prediction: Prediction, values: np.ndarray) -> float:
    """Return the probability that a yes has a larger mean than a no (area under the ROC curve)."""
    _check_yes_or_no(prediction, values)
    return float(ranking.roc_auc_score(values, prediction.mean))


def average_precision(prediction: Prediction, values: np.ndarray) -> float:
    """Return the mean precision over the yes-values, the largest means first."""
    _check_yes_or_no(prediction, values)
    return float(ranking.average_precision_score(values, prediction.mean))


def log_loss(prediction: Prediction, values: np.ndarray) -> float:
    """Return the mean negative log-probability of the class that was observed."""
    prediction.probabilities()  # refuses what has no classes
    return nll(prediction, values)


def brier(prediction: Prediction, values: np.ndarray) -> float:
    """Return the mean squared error of the probabilities of classes, summed over all but one.

    Of yes or no that is the squared error of the mean, which methods for real numbers have too;
    what they predict outside 0 to 1 is taken for the nearer end.
    """
    if prediction.classes is None:
        _check_yes_or_no(prediction, values)
        return float(np.mean((np.clip(prediction.mean, 0, 1) - values) ** 2))
    _errors(prediction, values)
    classes = np.asarray(prediction.classes, dtype=np.float64)
    hit = np.isclose(np.asarray(values)[:, None], classes)
    squares = np.sum((prediction.probabilities() - hit) ** 2, axis=1)
    return float(np.mean(squares)) / (2 if len(prediction.classes) == 2 else 1)


def deviance(prediction: Prediction, values: np.ndarray) -> float:
    """Return the mean Poisson deviance of the means of counts; infinite where one is not positive."""
    errors = _errors(prediction, values)
    values, mean = np.asarray(values, dtype=np.float64), np.asarray(prediction.mean)
    if np.any((mean <= 0) & (values > 0)):
        return np.inf
    positive = np.maximum(mean, np.finfo(np.float64).tiny)
    return float(2 * np.mean(special.xlogy(values, values / positive) - errors))


def pit(prediction: Prediction, values: np.ndarray, random_state: int = 0) -> np.ndarray:
    """Return the distribution function at each value: uniform where predictions are honest.

    Where values are discrete it jumps, and a number is drawn from the jump (Czado et al. 2009).
    """
    _errors(prediction, values)
    values = np.asarray(values, dtype=np.float64)
    found = prediction.cdf(values)
    if prediction.discrete:
        draws = np.random.default_rng(random_state).random(len(values))
        found = found - draws * np.exp(prediction.log_density(values))
    return np.clip(found, 0.0, 1.0)


def reliability(prediction: Prediction, values: np.ndarray, n_bins: int = 10) -> pd.DataFrame:
    """Return how often classes came true, against the probability that they were given.

    Columns are `probability` (the mean in each bin), `share`, `n`, and the ends `low` and `high`
    of the range in which nine in ten shares would lie (binomial). Of yes or no the yes is counted,
    of several classes each.
    """
    probabilities = prediction.probabilities()
    _errors(prediction, values)
    classes = np.asarray(prediction.classes, dtype=np.float64)
    hit = np.isclose(np.asarray(values)[:, None], classes)
    first = 1 if hit.shape[1] == 2 else 0
    given, hit = probabilities[:, first:].ravel(), hit[:, first:].ravel()
    bins = np.minimum((n_bins * given).astype(int), n_bins - 1)
    table = pd.DataFrame({"probability": given, "share": hit.astype(float), "n": 1})
    found = table.groupby(bins).agg({"probability": "mean", "share": "mean", "n": "sum"})
    found = found.reset_index(drop=True)
    ends = {"low": 0.05, "high": 0.95}
    return found.assign(
        **{
            name: stats.binom.ppf(level, found["n"], found["probability"]) / found["n"]
            for name, level in ends.items()
        }
    )


def summary(prediction: Prediction, values: np.ndarray) -> dict[str, float]:
    """Return every measure by name; those of yes or no and of counts where values are such."""
    return {
        **_of_kind(prediction, np.asarray(values, dtype=np.float64)),
        "rmse": rmse(prediction, values),
        "mae": mae(prediction, values),
        "nll": nll(prediction, values),
        "crps": crps(prediction, values),
        "coverage_50": coverage(prediction, values, 0.5),
        "coverage_90": coverage(prediction, values, 0.9),
        "coverage_95": coverage(prediction, values, 0.95),
    }


def _of_kind(prediction: Prediction, values: np.ndarray) -> dict[str, float]:
    found = {}
    if np.array_equal(np.unique(values), [0.0, 1.0]):
        found = {
            "auc": auc(prediction, values),
            "average_precision": average_precision(prediction, values),
            "brier": brier(prediction, values),
        }
    elif prediction.classes is not None:
        found = {"brier": brier(prediction, values)}
    elif prediction.discrete:
        found = {"deviance": deviance(prediction, values)}
    return found


def _check_yes_or_no(prediction: Prediction, values: np.ndarray) -> None:
    _errors(prediction, values)
    levels = np.unique(values)
    if not np.array_equal(levels, [0.0, 1.0]):
        found = ", ".join(f"{level:g}" for level in levels[:3])
        raise ObservationError(
            f"values are {found}{' ...' if len(levels) > 3 else ''}: this score is for yes (1) or "
            "no (0), and needs both."
        )


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
