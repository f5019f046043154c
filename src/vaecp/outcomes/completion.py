"""Fill every gap of a tensor in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd
from sklearn.base import clone

from vaecp.data.cells import cell_keys, coordinates
from vaecp.data.checks import check_coverage
from vaecp.data.containers import Container, contents_of
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction, join
from vaecp.errors import ObservationError
from vaecp.formats.common import RESULTS
from vaecp.models.base import TensorEstimator
from vaecp.runtime.extras import require

CHUNK = 262_144
"""Entries that are predicted at once; it bounds the memory, not the result."""


@dataclass(frozen=True, eq=False)
class Completion:
    """Every entry of a tensor, observed or not, as a model sees it.

    Arrays have the shape of the tensor; they are of xarray or pandas where the data was.

    Attributes
    ----------
    observations : the entries that were given.
    model : the fitted model.
    prediction : the predictive distribution of every entry, in row-major order.
    coverage : of `interval()` where none is given.
    container : what makes the kind of the data, such as a DataArray, of an array and its name.
    """

    observations: Observations
    model: TensorEstimator
    prediction: Prediction
    coverage: float = 0.9
    container: Container | None = None

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

    def at(self, indices: np.ndarray) -> Prediction:
        """Return the predictive distribution of the entries at (n, D) coordinates."""
        return self.prediction.take(cell_keys(indices, self.observations.shape))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per entry: labels, value, observed, mean, std, low and high.

        The column of values has their name; it holds the observed value, else the mean. Where
        values are classes, columns such as p_1 have their probabilities.
        """
        observations = self.observations
        refuse_taken_names((*observations.mode_names, observations.value_name))
        everywhere = coordinates(np.arange(observations.n_cells), observations.shape)
        return result_frame(observations, everywhere, self._columns())

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset`: observed, value, mean, std, low and high by label."""
        xarray = require("xarray", "netcdf", "an xarray.Dataset")
        observations = self.observations
        refuse_taken_names(observations.mode_names)
        return xarray.Dataset(
            {
                name: (observations.mode_names, column.reshape(observations.shape))
                for name, column in self._columns().items()
            },
            dict(zip(observations.mode_names, observations.labels, strict=True)),
            {"value": observations.value_name, "coverage": self.coverage},
        )

    def __repr__(self) -> str:
        n_gaps = self.observations.n_cells - int(np.asarray(self.observed).sum())
        return f"Completion({self.observations!r}, {n_gaps:,} filled)"

    def _columns(self) -> dict[str, np.ndarray]:
        """Return what is said of every entry, in row-major order."""
        given = {"value": np.ravel(self.filled), "observed": np.ravel(self.observed)}
        return given | self.prediction.columns(self.coverage)

    def _shaped(self, flat: np.ndarray, name: str) -> Any:
        array = np.asarray(flat).reshape(self.observations.shape)
        return array if self.container is None else self.container(array, name)


@dataclass(frozen=True, eq=False)
class ListedCompletion:
    """Some entries of a tensor that is too large to list them all, as a model sees them.

    Attributes
    ----------
    observations, model, coverage : as in `Completion`.
    indices : (n, D) coordinates of the entries.
    prediction : the predictive distribution of each.
    """

    observations: Observations
    model: TensorEstimator
    indices: np.ndarray
    prediction: Prediction
    coverage: float = 0.9

    def at(self, indices: np.ndarray) -> Prediction:
        """Return the predictive distribution of entries, of those that are listed at no cost."""
        if np.array_equal(indices, self.indices):
            return self.prediction
        return predict_entries(self.model, indices)


def complete(
    data: Any,
    model: TensorEstimator | None = None,
    coverage: float = 0.9,
    *,
    modes: Sequence[str] | None = None,
    value: str | None = None,
) -> Completion:
    """Fill the gaps of an array or a table, and say how sure each value is.

    Parameters
    ----------
    data : an array with NaN at the gaps, a masked array, an `xarray.DataArray`, a pandas Series
        whose index has a level per mode, a pandas DataFrame or `Observations`. A DataFrame is a
        table with one entry per row where it has columns of text or where `modes` are given, else
        a matrix whose index and columns are labels.
    model : an estimator of this library, which is copied and not altered;
        `VAECP(random_state=0)` by default.
    coverage : the probability with which `interval()` holds a value.
    modes, value : the columns of labels and of values of a DataFrame with one entry per row; all
        but the last, and the last, by default.
    """
    check_coverage(coverage)
    observations, container = contents_of(data, modes, value)
    observations.refuse_if_vast()
    fitted = _unfitted(model).fit_tensor(observations)
    return fill(fitted, observations, coverage, container=container)


def fill(
    fitted: TensorEstimator,
    observations: Observations,
    coverage: float = 0.9,
    *,
    container: Container | None = None,
) -> Completion:
    """Predict every entry of a tensor with a model that was fitted to entries of it."""
    check_coverage(coverage)
    observations.refuse_if_vast()
    n_cells, shape = observations.n_cells, observations.shape
    parts = [
        predict_entries(fitted, coordinates(np.arange(n, min(n + CHUNK, n_cells)), shape))
        for n in range(0, n_cells, CHUNK)
    ]
    return Completion(observations, fitted, join(parts), coverage, container)


def fill_listed(
    fitted: TensorEstimator, observations: Observations, indices: np.ndarray, coverage: float = 0.9
) -> ListedCompletion:
    """Predict the entries at these coordinates, however large the tensor is."""
    check_coverage(coverage)
    return ListedCompletion(
        observations, fitted, indices, predict_entries(fitted, indices), coverage
    )


def predict_entries(fitted: TensorEstimator, indices: np.ndarray) -> Prediction:
    """Predict entries; the spread is NaN where all observed values were equal, so that it is
    unknown."""
    found = predict_all(fitted, indices)
    if fitted.scaling_.scale:
        return found
    return replace(found, noise_std=np.full(len(found), np.nan))


def predict_all(fitted: TensorEstimator, indices: np.ndarray) -> Prediction:
    """Predict any number of entries within bounded memory."""
    starts = range(0, max(len(indices), 1), CHUNK)
    return join([fitted.predict_at(indices[n : n + CHUNK]) for n in starts])


def result_frame(
    observations: Observations, indices: np.ndarray, columns: dict[str, np.ndarray]
) -> pd.DataFrame:
    """Return labels and results of entries; the column of values has their name."""
    frame = observations.keys(indices)
    for name, column in columns.items():
        frame[observations.value_name if name == "value" else name] = column
    return frame


def refuse_taken_names(names: Sequence[str]) -> None:
    """Refuse names that are those of results."""
    taken = [name for name in names if name in RESULTS and name != "value"]
    if taken:
        raise ObservationError(
            f"{taken[0]!r} has the name of a column of the result ({', '.join(RESULTS)}): rename it."
        )


def _unfitted(model: TensorEstimator | None) -> TensorEstimator:
    if model is None:
        from vaecp.models.vaecp.estimator import VAECP

        return VAECP(random_state=0)
    if isinstance(model, type) or not isinstance(model, TensorEstimator):
        raise TypeError(
            f"model is {model!r}: pass an estimator of this library, such as VAECP(rank=10)."
        )
    return cast(TensorEstimator, clone(model))
