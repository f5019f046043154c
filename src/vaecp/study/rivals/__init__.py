"""What a reader asks to see beside the methods of this library: other packages, simple methods.

Each rival is a module with one function `predict(training, indices, random_state, ...)`, which
returns a `Prediction` in the units of the data, and one entry in `RIVALS`. A rival that says
nothing of its errors returns `means_only`. Packages are imported when a rival is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.models import registry
from vaecp.models.fitted import Diagnostics
from vaecp.models.registry import Method, MethodError

EXTRA = "rivals"
"""Brings the packages of the rivals."""


class Outside:
    """A rival with those parts of an estimator that experiments use."""

    diagnostics_ = Diagnostics()

    def __init__(self, function: Callable[..., Prediction], settings: dict[str, Any]) -> None:
        self._function = function
        self._settings = settings

    def fit_tensor(self, training: Observations) -> Self:
        """Keep the entries: a rival may need to know what is asked before it learns."""
        self._training = training
        return self

    def predict_at(self, indices: np.ndarray) -> Prediction:
        """Learn and predict."""
        return self._function(self._training, indices, **self._settings)


class Rival(Method):
    """A method whose `home` is a function that learns and predicts."""

    def build(self, **settings: Any) -> Any:
        return Outside(self.load(), settings)


def _rival(name: str, home: str, cost: float = 1.0) -> Rival:
    return Rival(
        name,
        f"vaecp.study.rivals.{home}",
        takes_rank=False,
        baseline=False,
        compared=False,
        cost=cost,
    )


RIVALS = {
    rival.name: rival
    for rival in (
        _rival("mean", "mean:predict", 0.1),
        _rival("row effects", "row_effects:predict"),
        _rival("linear interpolation", "interpolation:predict_linear"),
        _rival("cubic interpolation", "interpolation:predict_cubic"),
        _rival("smoothing spline", "interpolation:predict_smoothing_spline", 2.0),
        _rival("Gaussian process", "gaussian_process:predict", 30.0),
        _rival("smooth CP", "products:predict_smooth", 6.0),
        _rival("CP with neighbours", "products:predict_with_neighbours", 5.0),
        _rival("LightGBM", "boosting:predict", 5.0),
        _rival("SMURFF", "smurff:predict", 30.0),
    )
}


def find(name: str) -> Method:
    """Return a rival or a method of this library by its name."""
    for rival in RIVALS.values():
        if rival.name.lower() == name.strip().lower():
            return rival
    try:
        return registry.find(name)
    except MethodError as error:
        raise MethodError(f"{str(error)[:-1]}, {', '.join(RIVALS)}.") from None


def build(name: str, settings: Mapping[str, Any], seed: int) -> Any:
    """Return an unfitted estimator or rival; `recipe__held_out` is a setting of its `recipe`."""
    nested = {key: value for key, value in settings.items() if "__" in key}
    own = {key: value for key, value in settings.items() if key not in nested}
    model: Any = find(name).build(**own, random_state=seed)
    if any(key.startswith("recipe__") for key in nested) and model.recipe is None:
        model.set_params(recipe=model.recipe_type())
    return model.set_params(**nested) if nested else model


def all_methods() -> dict[str, Method]:
    """Return the methods of this library, then the rivals, by name."""
    return registry.methods() | RIVALS


def means_only(means: np.ndarray) -> Prediction:
    """Return a prediction whose spread is not known."""
    return Prediction(means, np.full(len(means), np.nan), np.zeros(len(means)))
