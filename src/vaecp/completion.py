"""Fill every gap of a tensor in one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
from sklearn.base import clone

from vaecp.errors import ObservationError
from vaecp.extras import require
from vaecp.models.base import TensorEstimator
from vaecp.observations import Observations
from vaecp.prediction import Prediction

CHUNK = 262_144
"""Entries that are predicted at once; it bounds the memory, not the result."""

COLUMNS = ("observed", "value", "mean", "std", "low", "high")


@dataclass(frozen=True, eq=False)
class Completion:
    """Every entry of a tensor, observed or not, as a model sees it.

    Arrays have the shape of the tensor; they are `xarray.DataArray` where the data was.

    Attributes
    ----------
    observations : the entries that were given.
    model : the fitted model.
    prediction : the predictive distribution of every entry, in row-major order.
    coverage : of `interval()` where none is given.
    template : the DataArray that was given, or None.
    """

    observations: Observations
    model: TensorEstimator
    prediction: Prediction
    coverage: float = 0.9
    template: Any = None

    @property
    def mean(self) -> Any:
        """The best guess of each value."""
        return self._shaped(self.prediction.mean, "mean")

    @property
    def std(self) -> Any:
        """The standard deviation of each value around `mean`."""
        return self._shaped(self.prediction.std, "std")

    @property
    def noise_std(self) -> Any:
        """The part of `std` that would stay with endless data."""
        return self._shaped(self.prediction.noise_std, "noise_std")

    @property
    def ignorance_std(self) -> Any:
        """The part of `std` that more data would shrink."""
        return self._shaped(self.prediction.ignorance_std, "ignorance_std")

    @property
    def observed(self) -> Any:
        """True where a value was given."""
        return self._shaped(~np.isnan(self.observations.to_array()), "observed")

    @property
    def filled(self) -> Any:
        """The observed values, and the mean where there is none."""
        given = self.observations.to_array().ravel()
        return self._shaped(np.where(np.isnan(given), self.prediction.mean, given), "filled")

    def interval(self, coverage: float | None = None) -> tuple[Any, Any]:
        """Return the ends of the central interval that holds a value with this probability."""
        low, high = self.prediction.interval(self.coverage if coverage is None else coverage)
        return self._shaped(low, "low"), self._shaped(high, "high")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per entry: labels, observed, value, mean, std, low and high."""
        self._refuse_taken_names()
        frame = self.observations.keys(_cells(self.observations, 0, self.observations.n_cells))
        low, high = self.prediction.interval(self.coverage)
        arrays = (
            self.observed,
            self.filled,
            self.prediction.mean,
            self.prediction.std,
            low,
            high,
        )
        for name, array in zip(COLUMNS, arrays, strict=True):
            frame[name] = np.asarray(array).ravel()
        return frame

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset`: observed, value, mean, std, low and high by label."""
        xarray = require("xarray", "netcdf", "an xarray.Dataset")
        self._refuse_taken_names()
        observations = self.observations
        low, high = self.prediction.interval(self.coverage)
        flat = (self.observed, self.filled, self.prediction.mean, self.prediction.std, low, high)
        return xarray.Dataset(
            {
                name: (observations.mode_names, np.asarray(array).reshape(observations.shape))
                for name, array in zip(COLUMNS, flat, strict=True)
            },
            dict(zip(observations.mode_names, observations.labels, strict=True)),
            {"value": observations.value_name, "coverage": self.coverage},
        )

    def __repr__(self) -> str:
        n_gaps = self.observations.n_cells - int(np.asarray(self.observed).sum())
        return f"Completion({self.observations!r}, {n_gaps:,} filled)"

    def _refuse_taken_names(self) -> None:
        taken = [name for name in self.observations.mode_names if name in COLUMNS]
        if taken:
            raise ObservationError(
                f"mode {taken[0]!r} has the name of a column of the result "
                f"({', '.join(COLUMNS)}): rename the mode."
            )

    def _shaped(self, flat: np.ndarray, name: str) -> Any:
        array = np.asarray(flat).reshape(self.observations.shape)
        return array if self.template is None else self.template.copy(data=array).rename(name)


def complete(data: Any, model: TensorEstimator | None = None, coverage: float = 0.9) -> Completion:
    """Fill the gaps of an array, and say how sure each value is.

    Parameters
    ----------
    data : an array with NaN at the gaps, a masked array, an `xarray.DataArray` or
        `Observations`.
    model : an estimator of this library, which is copied and not altered; `VAECP()` by
        default.
    coverage : the probability with which `interval()` holds a value.
    """
    _check_coverage(coverage)
    observations = data if isinstance(data, Observations) else Observations.from_array(data)
    observations.refuse_if_vast()
    template = data if hasattr(data, "dims") and hasattr(data, "coords") else None
    fitted = _unfitted(model).fit_tensor(observations)
    return fill(fitted, observations, coverage, template=template)


def fill(
    fitted: TensorEstimator,
    observations: Observations,
    coverage: float = 0.9,
    *,
    template: Any = None,
) -> Completion:
    """Predict every entry of a tensor with a model that was fitted to entries of it."""
    _check_coverage(coverage)
    observations.refuse_if_vast()
    parts = [
        fitted.predict_at(_cells(observations, start, min(start + CHUNK, observations.n_cells)))
        for start in range(0, observations.n_cells, CHUNK)
    ]
    prediction = Prediction(
        np.concatenate([part.mean for part in parts]),
        np.concatenate([part.noise_std for part in parts]),
        np.concatenate([part.ignorance_std for part in parts]),
        parts[0].shape,
    )
    return Completion(observations, fitted, prediction, coverage, template)


def _unfitted(model: TensorEstimator | None) -> TensorEstimator:
    if model is None:
        from vaecp.models.vaecp import VAECP

        return VAECP()
    if isinstance(model, type) or not isinstance(model, TensorEstimator):
        raise TypeError(
            f"model is {model!r}: pass an estimator of this library, such as VAECP(rank=10)."
        )
    return cast(TensorEstimator, clone(model))


def _cells(observations: Observations, start: int, stop: int) -> np.ndarray:
    return np.stack(np.unravel_index(np.arange(start, stop), observations.shape), axis=1)


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise ObservationError(
            f"coverage is {coverage}: use a number between 0 and 1, such as 0.9."
        )
