"""The mean of the training values, and their standard deviation: what knows nothing of cells."""

from __future__ import annotations

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.data.standardising import Standardiser


def predict(training: Observations, indices: np.ndarray, random_state: int = 0) -> Prediction:
    """Predict the same everywhere."""
    found, ones = Standardiser.of(training.values), np.ones(len(indices))
    return Prediction(found.location * ones, found.scale * ones, 0 * ones)
