"""What every method asks of its settings and of X and y."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d
from sklearn.utils.validation import validate_data as check_names_and_width

from vaecp.errors import ObservationError, PredictionError

FEW_CLASSES = 21
"""Up to so many different texts may be names of classes."""


def check_at_least(name: str, value: Any, least: int) -> None:
    """Refuse a count that is no integer or too small."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}: use an integer from {least}.")


class _Names(BaseEstimator):
    """Takes the names that scikit-learn finds, so that a fit that fails leaves the model alone."""


def feature_names(X: Any) -> list[str]:
    """Return the names of the columns; none where they have none, or no texts."""
    found = _Names()
    check_names_and_width(found, X, skip_check_array=True)
    return [str(name) for name in getattr(found, "feature_names_in_", ())]


def check_enough(columns: list[np.ndarray]) -> None:
    """Refuse fewer than two modes, and no entries."""
    n_entries = len(columns[0]) if columns else 0
    if len(columns) < 2:
        raise ObservationError(
            f"X has {len(columns)} feature(s) (shape=({n_entries}, {len(columns)})) while a minimum "
            f"of 2 is required, n_features = {len(columns)}: give one column of labels per mode."
        )
    if not n_entries:
        raise ObservationError(
            f"Found array with 0 sample(s) (shape=(0, {len(columns)})) while a minimum of 1 is "
            "required: give at least one observed entry."
        )


def checked_values(y: Any) -> np.ndarray:
    """Return y as finite float64, with scikit-learn's own words where it has them."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    values = column_or_1d(y, warn=True)
    if np.iscomplexobj(values):
        raise ObservationError("Complex data not supported: y is complex.")
    try:
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ObservationError(_no_numbers(values, error)) from error
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise ObservationError(
            f"Input y contains NaN or infinity: y[{row}] is {values[row]}; leave unknown entries "
            "out of X and y."
        )
    return values


def _no_numbers(values: np.ndarray, error: Exception) -> str:
    """Say how classes that have names are written as numbers."""
    names = sorted({str(value) for value in values.tolist()})
    if len(names) == 2:
        return (
            f"y holds {names[0]!r} and {names[1]!r}, which are no numbers: give 1 for yes and 0 for "
            f"no, such as (y == {names[1]!r}).astype(float) of an array y."
        )
    if len(names) <= FEW_CLASSES:
        return (
            f"y holds {len(names)} texts such as {names[0]!r}, which are no numbers: of ordered "
            "classes give their places, 1, 2, 3 and so on; classes without an order cannot be fitted."
        )
    return f"y holds {values.dtype} that are no numbers ({error}): give one number per entry."


def checked_predictions(predicted: np.ndarray) -> np.ndarray:
    """Return predictions, or refuse to give any that is not a number."""
    if not np.isfinite(predicted).all():
        entry = int(np.argwhere(~np.isfinite(predicted))[0][-1])
        raise PredictionError(
            f"the prediction of entry {entry} is not a finite number, for those of the model are too "
            "large: fit it again to values in a smaller unit, without outliers, or at a lower rank."
        )
    return predicted
