"""The observed entries of a tensor: the one noun that travels through the library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from vaecp.errors import ObservationError
from vaecp.extras import require
from vaecp.labels import Place, columns_of, encode, place_in, row_number

if TYPE_CHECKING:
    import xarray as xr

MAX_DENSE_ENTRIES = 500_000_000
"""Above this many cells a dense array is refused rather than left to exhaust the memory."""

MAX_VALUE = 1e300
"""Sums and differences of larger values would leave the range of float64."""

Absent = Literal["unknown", "zero"]
Duplicates = Literal["error", "keep", "mean"]


def default_mode_names(n_modes: int) -> tuple[str, ...]:
    """Return what modes are called that have no name of their own."""
    return tuple(f"mode {mode}" for mode in range(n_modes))


@dataclass(frozen=True)
class Standardiser:
    """values = location + scale * standardised; a scale of 0 marks constant values."""

    location: float
    scale: float

    @classmethod
    def of(cls, values: np.ndarray) -> Standardiser:
        """Measure mean and standard deviation in float64, whatever the offset."""
        values = np.asarray(values, dtype=np.float64)
        location = float(values.mean())
        centred = values - location
        # Squares of very large or very small values would leave the range of float64.
        unit = float(np.abs(centred).max()) or 1.0
        scale = unit * float(np.sqrt(np.mean((centred / unit) ** 2)))
        # Rounding leaves a spread of about one unit in the last place on constant values.
        rounding = 4 * np.finfo(np.float64).eps * abs(location)
        return cls(location, scale) if scale > rounding else cls(float(values[0]), 0.0)

    def apply(self, values: np.ndarray) -> np.ndarray:
        centred = np.asarray(values, dtype=np.float64) - self.location
        return centred / self.scale if self.scale else np.zeros_like(centred)

    def invert(self, standardised: np.ndarray) -> np.ndarray:
        return self.location + self.scale * np.asarray(standardised, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Observations:
    """Coordinates and values of the observed entries of a tensor, validated once.

    An entry that is not listed is unknown, never zero. The same coordinates may be listed
    more than once: then they are repeated measurements of one entry.

    Parameters
    ----------
    indices : (n, D) integers, the row of each entry in each mode, from 0.
    values : (n,) finite numbers.
    shape : the size of each mode.
    mode_names : what each mode is called; "mode 0", "mode 1" ... by default.
    labels : per mode, the label of each row; 0, 1, 2 ... by default.
    value_name : what the values are called.

    Examples
    --------
    >>> Observations.from_array([[1.0, np.nan], [3.0, 4.0]])
    Observations(2 x 2, 3 of 4 entries observed)
    """

    indices: np.ndarray
    values: np.ndarray
    shape: tuple[int, ...]
    mode_names: tuple[str, ...] = ()
    labels: tuple[np.ndarray, ...] = ()
    value_name: str = "value"

    def __post_init__(self) -> None:
        indices, values = np.asarray(self.indices), np.asarray(self.values)
        shape = tuple(int(size) for size in self.shape)
        if values.dtype.kind in "iub":
            values = values.astype(np.float64)
        if (
            indices.dtype.kind in "iu"
            and indices.dtype.itemsize > 4
            and max(shape, default=0) < 2**31
        ):
            _check_bounds(indices, shape)
            indices = indices.astype(np.int32)
        names = tuple(str(name) for name in self.mode_names) or default_mode_names(len(shape))
        labels = tuple(np.asarray(mode) for mode in self.labels) or tuple(
            np.arange(size) for size in shape
        )
        for name, value in (
            ("indices", _read_only(indices)),
            ("values", _read_only(values)),
            ("shape", shape),
            ("mode_names", names),
            ("labels", tuple(_read_only(mode) for mode in labels)),
        ):
            object.__setattr__(self, name, value)
        self._validate()

    def _validate(self) -> None:
        self._check_layout()
        self._check_names()
        _check_bounds(self.indices, self.shape)
        self._check_values()

    def _check_layout(self) -> None:
        n_modes = len(self.shape)
        if n_modes < 2:
            raise ObservationError(
                f"the data has {n_modes} mode(s), n_features = {n_modes}: a tensor needs at least "
                "two, so give one column (or axis) per mode."
            )
        if self.indices.ndim != 2 or self.indices.shape[1] != n_modes:
            raise ObservationError(
                f"indices has shape {self.indices.shape}, but a tensor of {n_modes} modes needs "
                f"(n, {n_modes}): give one column per mode."
            )
        if self.indices.dtype.kind not in "iu":
            raise ObservationError(
                f"indices has dtype {self.indices.dtype}: use integers from 0, or "
                "Observations.from_table for labels."
            )
        if self.values.shape != (len(self.indices),):
            raise ObservationError(
                f"values has shape {self.values.shape}, but there are {len(self.indices)} "
                "coordinates: give one value per coordinate."
            )
        if not len(self.values):
            raise ObservationError(
                f"no entry of the {_times(self.shape)} tensor is observed: at least one is needed."
            )
        if self.values.dtype.kind != "f":
            raise ObservationError(f"values has dtype {self.values.dtype}: use real numbers.")

    def _check_names(self) -> None:
        n_modes = len(self.shape)
        for what, given in (("mode_names", self.mode_names), ("labels", self.labels)):
            if len(given) != n_modes:
                raise ObservationError(
                    f"{what} has {len(given)} item(s), but there are {n_modes} modes: give one each."
                )
        if len(set(self.mode_names)) < n_modes:
            raise ObservationError(
                f"mode_names {self.mode_names} repeat a name: make them distinct."
            )
        for mode, labels in enumerate(self.labels):
            if len(labels) != self.shape[mode]:
                raise ObservationError(
                    f"labels[{mode}] has {len(labels)} labels, but mode {mode} has size "
                    f"{self.shape[mode]}: give one label per row."
                )
            index = pd.Index(labels)
            if not index.is_unique:
                row = int(np.argmax(index.duplicated()))
                raise ObservationError(
                    f"labels[{mode}] repeats {labels[row]!s} (rows {list(labels).index(labels[row])}"
                    f" and {row}): give every row of a mode its own label."
                )

    def _check_values(self) -> None:
        finite = np.isfinite(self.values)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ObservationError(
                f"values[{row}] at {tuple(self.indices[row].tolist())} is {self.values[row]}: "
                "observed values must be finite, so leave unknown entries out."
            )
        largest = int(np.argmax(np.abs(self.values)))
        if abs(float(self.values[largest])) > MAX_VALUE:
            raise ObservationError(
                f"values[{largest}] is {self.values[largest]:.3g}: values must lie within "
                f"{MAX_VALUE:.0e} of zero, so choose a larger unit."
            )

    # ---- ways in -----------------------------------------------------------------------

    @classmethod
    def from_array(
        cls,
        array: Any,
        mask: Any = None,
        *,
        mode_names: Sequence[str] = (),
        labels: Sequence[Any] = (),
        value_name: str = "value",
    ) -> Observations:
        """Take the entries of an ndarray, a masked array or an `xarray.DataArray`.

        NaN marks an unknown entry, and so does a `mask` that is False there (True means
        observed) or a masked array's own mask (True means unknown, as in NumPy).
        """
        if hasattr(array, "dims") and hasattr(array, "coords"):
            return cls._from_dataarray(array, mask)
        if isinstance(array, pd.DataFrame):
            raise ObservationError(
                f"the data is a DataFrame of {_times(array.shape)}, which may be a list of entries or "
                "a matrix: pass Observations.from_table(frame, modes=[...], value=...) for one entry "
                "per row, or frame.to_numpy() for a matrix."
            )
        observed = ~np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
        array = np.ma.getdata(array) if observed is not None else np.asarray(array)
        if array.dtype.kind == "c":
            raise ObservationError("the array is complex: give its real and imaginary parts apart.")
        if array.dtype.kind not in "iubf":
            raise ObservationError(f"the array has dtype {array.dtype}: use numbers.")
        known = ~np.isnan(array) if array.dtype.kind == "f" else np.ones(array.shape, dtype=bool)
        if observed is not None:
            known &= observed
        if mask is not None:
            mask = np.asarray(mask, dtype=bool)
            if mask.shape != array.shape:
                raise ObservationError(
                    f"mask has shape {mask.shape}, but the array has {array.shape}: make them equal."
                )
            known &= mask
        indices = np.stack(np.nonzero(known), axis=1) if array.ndim else np.empty((0, 0), int)
        return cls(indices, array[known], array.shape, tuple(mode_names), tuple(labels), value_name)

    @classmethod
    def _from_dataarray(cls, array: xr.DataArray, mask: Any) -> Observations:
        return cls.from_array(
            array.values,
            mask,
            mode_names=[str(name) for name in array.dims],
            labels=[array[name].values for name in array.dims],
            value_name=str(array.name) if array.name is not None else "value",
        )

    @classmethod
    def from_table(
        cls,
        table: pd.DataFrame,
        modes: Sequence[str],
        value: str,
        *,
        duplicates: Duplicates = "error",
        absent: Absent = "unknown",
    ) -> Observations:
        """Take one entry per row of a table: a label column per mode and a value column.

        A row without a value is a gap: its labels are kept, and the entry is unknown.
        `absent` says what an entry that the table does not list is: unknown or zero.
        """
        _check_choice("absent", absent, get_args(Absent))
        for column in (*modes, value):
            if column not in table.columns:
                raise ObservationError(
                    f"the table has no column {column!r}: it has {', '.join(map(repr, table.columns))}."
                )
        place = place_in(table.index)
        codes, labels = (
            zip(*(encode(table[name].to_numpy(), str(name), place) for name in modes), strict=True)
            if len(modes)
            else ((), ())
        )
        values = _numbers(table[value], value, place)
        known = ~np.isnan(values)
        indices = np.stack(codes, axis=1) if codes else np.empty((len(values), 0), dtype=np.int32)
        observations = cls(
            indices[known],
            values[known],
            tuple(len(mode) for mode in labels),
            tuple(modes),
            labels,
            value,
        ).settle_duplicates(duplicates, lambda row: place(int(np.flatnonzero(known)[row])))
        return (
            observations if absent == "unknown" else observations.with_absent_zero(indices[~known])
        )

    @classmethod
    def from_keys(cls, keys: Any, values: Any, mode_names: Sequence[str] = ()) -> Observations:
        """Take labels (one column per mode) and values, as `fit(X, y)` receives them."""
        columns = columns_of(keys)
        names = tuple(mode_names) or default_mode_names(len(columns))
        if len(columns) and len(columns[0]) == 0:
            raise ObservationError(
                f"Found array with 0 sample(s) (shape={(0, len(columns))}) while a minimum of 1 "
                "is required: X needs at least one observed entry."
            )
        if len(columns) < 2:
            raise ObservationError(
                f"X has {len(columns)} feature(s) (shape={(len(keys), len(columns))}) while a "
                f"minimum of 2 is required; n_features = {len(columns)}: give one column per mode."
            )
        codes, labels = zip(
            *(encode(column, name) for column, name in zip(columns, names, strict=True)),
            strict=True,
        )
        shape = tuple(len(mode) for mode in labels)
        return cls(np.stack(codes, axis=1), np.asarray(values), shape, names, labels)

    # ---- views -------------------------------------------------------------------------

    @property
    def n_modes(self) -> int:
        return len(self.shape)

    @property
    def n_cells(self) -> int:
        """How many entries the tensor has, observed or not."""
        return int(np.prod([float(size) for size in self.shape]))

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Observations({_times(self.shape)}, {len(self):,} of {self.n_cells:,} entries observed)"

    def take(self, rows: np.ndarray) -> Observations:
        """Keep the entries at these positions (or where this mask is True)."""
        return replace(self, indices=self.indices[rows], values=self.values[rows])

    def with_values(self, values: np.ndarray) -> Observations:
        """Return the same entries with other values."""
        return replace(self, values=values)

    def split(
        self, held_out: float = 0.2, random_state: int | None = None
    ) -> tuple[Observations, Observations]:
        """Split the entries at random into a training part and a held-out part."""
        n_held_out = round(held_out * len(self))
        if not 0 < n_held_out < len(self):
            raise ObservationError(
                f"held_out is {held_out}, which leaves {n_held_out} of {len(self)} entries held "
                "out: both parts need at least one."
            )
        order = np.random.default_rng(random_state).permutation(len(self))
        return self.take(np.sort(order[n_held_out:])), self.take(np.sort(order[:n_held_out]))

    def folds(
        self, n_folds: int = 5, random_state: int | None = None
    ) -> Iterator[tuple[Observations, Observations]]:
        """Yield (training, held-out) parts; every entry is held out once."""
        if not 2 <= n_folds <= len(self):
            raise ObservationError(
                f"n_folds is {n_folds}: use 2 to {len(self)}, the number of observed entries."
            )
        fold = np.random.default_rng(random_state).permutation(len(self)) % n_folds
        for held_out in range(n_folds):
            yield self.take(fold != held_out), self.take(fold == held_out)

    def keys(self, indices: np.ndarray | None = None) -> pd.DataFrame:
        """Return the labels of entries (the observed ones by default), a column per mode."""
        indices = self.indices if indices is None else indices
        return pd.DataFrame(
            {name: self.labels[mode][indices[:, mode]] for mode, name in enumerate(self.mode_names)}
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per observed entry: its labels, and its value in the last column."""
        if self.value_name in self.mode_names:
            raise ObservationError(
                f"{self.value_name!r} is the name of a mode and of the values: rename one of them."
            )
        return self.keys().assign(**{self.value_name: self.values})

    def to_xarray(self) -> xr.DataArray:
        """Return an `xarray.DataArray` with the labels as coordinates, NaN where unknown."""
        xarray = require("xarray", "netcdf", "an xarray.DataArray")
        coords = dict(zip(self.mode_names, self.labels, strict=True))
        return xarray.DataArray(self.to_array(), coords, self.mode_names, self.value_name)

    def to_array(self) -> np.ndarray:
        """Return the dense array, NaN where unknown; repeated entries are averaged."""
        self.refuse_if_vast()
        flat, total = self._flat(self.indices), np.zeros(self.n_cells)
        np.add.at(total, flat, self.values)
        with np.errstate(invalid="ignore"):
            return (total / np.bincount(flat, minlength=self.n_cells)).reshape(self.shape)

    def gaps(self) -> np.ndarray:
        """Return the coordinates of every entry that is not observed, in row-major order."""
        self.refuse_if_vast()
        unknown = np.ones(self.n_cells, dtype=bool)
        unknown[self._flat(self.indices)] = False
        return np.stack(np.unravel_index(np.flatnonzero(unknown), self.shape), axis=1).astype(
            np.int32
        )

    def with_absent_zero(self, unknown: np.ndarray | None = None) -> Observations:
        """Observe a zero at every entry that is not listed, except those in `unknown`."""
        gaps = self.gaps()
        if unknown is not None and len(unknown):
            gaps = gaps[~np.isin(self._flat(gaps), self._flat(unknown))]
        return replace(
            self,
            indices=np.concatenate([self.indices, gaps]),
            values=np.concatenate([self.values, np.zeros(len(gaps))]),
        )

    def _flat(self, indices: np.ndarray) -> np.ndarray:
        return np.asarray(np.ravel_multi_index(tuple(indices.T), self.shape))

    def refuse_if_vast(self) -> None:
        """Refuse to list every entry where that would exhaust the memory."""
        if self.n_cells > MAX_DENSE_ENTRIES:
            raise ObservationError(
                f"the {_times(self.shape)} tensor has {self.n_cells:,} entries, more than the "
                f"{MAX_DENSE_ENTRIES:,} that are listed densely: predict the entries you need."
            )

    def settle_duplicates(self, duplicates: Duplicates, place: Place = row_number) -> Observations:
        """Refuse, keep or average entries that are listed more than once."""
        _check_choice("duplicates", duplicates, get_args(Duplicates))
        if duplicates == "keep":
            return self
        _, first, group = np.unique(self.indices, axis=0, return_index=True, return_inverse=True)
        group = group.ravel()
        if len(first) == len(self):
            return self
        if duplicates == "mean":
            means = np.bincount(group, weights=self.values) / np.bincount(group)
            return replace(self, indices=self.indices[first], values=means)
        second = int(np.setdiff1d(np.arange(len(self)), first)[0])
        names = ", ".join(
            f"{name}={self.labels[mode][self.indices[second, mode]]!s}"
            for mode, name in enumerate(self.mode_names)
        )
        raise ObservationError(
            f"the entry at {names} is listed more than once ({place(int(first[group[second]]))} and "
            f"{place(second)}): name a column that tells them apart as a further mode, or pass "
            '--duplicates mean or keep (duplicates="mean" or "keep").'
        )


def _read_only(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written to; the caller's own array stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view


def _check_choice(argument: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise ObservationError(
            f"{argument} is {given!r}: use {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}."
        )


def _check_bounds(indices: np.ndarray, shape: tuple[int, ...]) -> None:
    if indices.ndim != 2 or indices.shape[1] != len(shape) or not len(indices):
        return
    for mode, size in enumerate(shape):
        column = indices[:, mode]
        if column.min() < 0 or column.max() >= size:
            row = int(np.argmax((column < 0) | (column >= size)))
            raise ObservationError(
                f"indices[{row}, {mode}] is {column[row]}, but mode {mode} has size {size}: "
                f"use 0 to {size - 1}."
            )


def _numbers(column: Any, name: str, place: Place) -> np.ndarray:
    """The column as float64, or the place of the first cell that is no number."""
    numbers: Any = pd.to_numeric(column, errors="coerce")
    broken = numbers.isna() & ~column.isna()
    if broken.any():
        row = int(np.argmax(broken.to_numpy()))
        raise ObservationError(
            f"column {name!r} has {column.iloc[row]!r} in {place(row)}: values must be numbers, and "
            "empty where unknown."
        )
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise ObservationError(
            f"column {name!r} is {values[row]} in {place(row)}: values must be finite, and empty "
            "where unknown."
        )
    return values


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(str(size) for size in shape)
