"""Arrays and tables of other libraries <-> `Observations`: xarray and pandas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from vaecp.data.checks import numbers_of, times
from vaecp.data.coding import default_mode_names
from vaecp.data.labels import encode, row_number
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

if TYPE_CHECKING:
    import xarray as xr

Container = Callable[[np.ndarray, str], Any]
"""Makes of an array of the tensor's shape, and its name, what the data was."""


def contents_of(
    data: Any, modes: Sequence[str] | None = None, value: str | None = None
) -> tuple[Observations, Container | None]:
    """Return the observed entries of any data, and what makes its kind of an array."""
    if (modes is not None or value is not None) and not isinstance(data, pd.DataFrame):
        raise ObservationError(
            f"modes and value name columns of a DataFrame, but the data is a {type(data).__name__}: "
            "leave them out."
        )
    if isinstance(data, Observations):
        return data, None
    if isinstance(data, pd.Series):
        return _from_series(data)
    if isinstance(data, pd.DataFrame):
        return _from_frame(data, modes, value)
    if hasattr(data, "dims") and hasattr(data, "coords"):
        return from_dataarray(data), lambda array, name: data.copy(data=array).rename(name)
    return Observations.from_array(data), None


def from_dataarray(array: xr.DataArray, mask: Any = None) -> Observations:
    """Take the entries of an `xarray.DataArray`: dimensions are modes, coordinates labels."""
    return Observations.from_array(
        array.values,
        mask,
        mode_names=[str(name) for name in array.dims],
        labels=[array[name].values for name in array.dims],
        value_name=str(array.name) if array.name is not None else "value",
    )


def _from_series(series: pd.Series) -> tuple[Observations, Container]:
    """Take one entry per row of a Series whose index has a level per mode."""
    index = series.index
    if index.nlevels < 2:
        raise ObservationError(
            "the data is a Series whose index has one level: a tensor needs two or more, so give it "
            "a MultiIndex with a level per mode."
        )
    default = default_mode_names(index.nlevels)
    names = [str(name or default[level]) for level, name in enumerate(index.names)]
    coded = [
        encode(index.get_level_values(level).to_numpy(), name) for level, name in enumerate(names)
    ]
    observations = Observations.from_listed(
        np.stack([codes for codes, _ in coded], axis=1),
        numbers_of(series.reset_index(drop=True), str(series.name or "value"), row_number),
        [labels for _, labels in coded],
        names,
        str(series.name or "value"),
    )
    return observations, _series_of(observations)


def _series_of(observations: Observations) -> Container:
    def series(array: np.ndarray, name: str) -> pd.Series:
        index = pd.MultiIndex.from_product(observations.labels, names=observations.mode_names)
        return pd.Series(array.ravel(), index, name=name)

    return series


def _from_frame(
    frame: pd.DataFrame, modes: Sequence[str] | None, value: str | None
) -> tuple[Observations, Container]:
    """Take a table with one entry per row, or a matrix whose index and columns are labels."""
    if modes is None and value is None and _is_matrix(frame):
        return _from_matrix(frame)
    value = str(frame.columns[-1]) if value is None else value
    chosen = [name for name in frame.columns if name != value] if modes is None else list(modes)
    observations = Observations.from_table(frame, chosen, value)
    return observations, _series_of(observations)


def _is_matrix(frame: pd.DataFrame) -> bool:
    """Tell a matrix from a list of entries, or say how to tell them apart."""
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]
    labelled = frame.columns.nlevels > 1 or frame.columns.inferred_type not in ("string", "mixed")
    if not all(numeric):
        if numeric.count(False) == 1 and (labelled or frame.columns.inferred_type == "mixed"):
            column = frame.columns[numeric.index(False)]
            raise ObservationError(
                f"the data is a DataFrame whose column {column!r} holds labels and whose other "
                f"columns are labels themselves: pass frame.set_index({column!r})."
            )
        return False
    counted = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
    if labelled or not counted:
        return True
    raise ObservationError(
        f"the data is a DataFrame of {times(frame.shape)} numbers, which may be a list of entries or "
        f"a matrix: pass modes={[str(name) for name in frame.columns[:-1]]}, "
        f"value={str(frame.columns[-1])!r} for one entry per row, or frame.to_numpy() for a matrix."
    )


def _from_matrix(frame: pd.DataFrame) -> tuple[Observations, Container]:
    if frame.index.nlevels > 1 or frame.columns.nlevels > 1:
        stacked: Any = frame.stack(list(range(frame.columns.nlevels)), future_stack=True)
        return _from_series(stacked)
    names = [str(frame.index.name or "row"), str(frame.columns.name or "column")]
    labels = [frame.index.to_numpy(), frame.columns.to_numpy()]
    values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    observations = Observations.from_array(values, mode_names=names, labels=labels)
    return observations, lambda array, name: pd.DataFrame(array, frame.index, frame.columns)
