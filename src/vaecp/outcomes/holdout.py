"""How well a method predicts entries of a tensor that it did not see."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from vaecp.data.cells import distinct_cells
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.data.standardising import Standardiser
from vaecp.errors import ObservationError, VaecpError
from vaecp.models.base import TensorEstimator
from vaecp.models.cp.estimators import CPALS
from vaecp.outcomes import metrics
from vaecp.runtime.progress import reporting

MEAN = "the mean of all values"
MASKED_CP = "masked CP"
MIN_ENTRIES = 20
"""Below this many entries a tenth of them says nothing."""
MAX_HELD_OUT = 50_000


@dataclass(frozen=True, eq=False)
class HeldOutCheck:
    """What a copy of a model, fitted to most entries, says of the others.

    Attributes
    ----------
    held_out : the entries that were hidden.
    n_training : how many entries the copies were fitted to.
    predictions : of the hidden entries, by name; the model itself comes first.
    seconds : that each fit took.
    """

    held_out: Observations
    n_training: int
    predictions: dict[str, Prediction]
    seconds: dict[str, float]

    @property
    def name(self) -> str:
        """What the model that is checked is called."""
        return next(iter(self.predictions))

    @property
    def prediction(self) -> Prediction:
        """The checked model's own."""
        return self.predictions[self.name]

    @cached_property
    def measures(self) -> dict[str, dict[str, float]]:
        """Every measure of `vaecp.metrics` by method, the model first."""
        return {
            name: metrics.summary(prediction, self.held_out.values)
            for name, prediction in self.predictions.items()
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the measures, one row per method."""
        return pd.DataFrame.from_dict(self.measures, orient="index")


def check_on_held_out(
    model: TensorEstimator,
    observations: Observations,
    fraction: float = 0.1,
    random_state: int = 0,
) -> HeldOutCheck:
    """Hide a share of the entries at random, fit a copy of the model to the rest, and compare.

    The model itself stays as it is. It stands against the mean of all values and against masked
    CP with its default settings. Repeated measurements of one entry are hidden together.
    """
    if len(observations) < MIN_ENTRIES:
        raise ObservationError(
            f"{len(observations)} observed entries are too few to hide some for a check: at least "
            f"{MIN_ENTRIES} are needed."
        )
    training, held_out = _split(observations, fraction, random_state)
    name = type(model).__name__
    rivals: dict[str, TensorEstimator] = {name: reporting(clone(model))}
    if name != "CPALS":
        rivals[MASKED_CP] = CPALS(random_state=random_state)
    predictions, seconds = {}, {}
    for rival, estimator in rivals.items():
        started = time.perf_counter()
        try:
            known = training if rival == name else replace(training, limits=None)
            predictions[rival] = _predicted(estimator, known, held_out)
        except VaecpError:
            if rival == name:
                raise
            continue  # a rival that cannot be fitted is left out
        seconds[rival] = time.perf_counter() - started
    predictions[MEAN], seconds[MEAN] = _mean_of(training, len(held_out)), 0.0
    return HeldOutCheck(held_out, len(training), predictions, seconds)


def _split(
    observations: Observations, fraction: float, random_state: int
) -> tuple[Observations, Observations]:
    """Draw cells, not measurements: a repeated one would give its twin away."""
    if not 0 < fraction < 1:
        raise ObservationError(f"fraction is {fraction}: use a number between 0 and 1.")
    first, cell = distinct_cells(observations.indices, observations.shape)
    n_cells = len(first)
    n_hidden = min(max(round(fraction * n_cells), 1), n_cells - 1, MAX_HELD_OUT)
    if n_hidden < 1:
        raise ObservationError("only one entry is observed: none can be hidden for a check.")
    hidden = np.zeros(n_cells, dtype=bool)
    hidden[np.random.default_rng(random_state).choice(n_cells, n_hidden, replace=False)] = True
    return observations.take(~hidden[cell]), observations.take(hidden[cell])


def _predicted(
    estimator: TensorEstimator, training: Observations, held_out: Observations
) -> Prediction:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit_tensor(training).predict_at(held_out.indices)


def _mean_of(training: Observations, n: int) -> Prediction:
    found = Standardiser.of(training.values)
    return Prediction(np.full(n, found.location), np.full(n, found.scale), np.zeros(n))
