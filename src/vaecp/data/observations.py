"""The observed entries of a tensor: the one noun that travels through the library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from vaecp.data.cells import cell_sums, coordinates, n_cells, unlisted_cells
from vaecp.data.checks import check_choice, check_observations, numbers_of, times
from vaecp.data.coding import (
    coded_keys,
    coded_table,
    default_mode_names,
    dense_entries,
    narrowed,
    read_only,
)
from vaecp.data.labels import Place, row_number
from vaecp.data.limits import Limits, limits_among
from vaecp.data.repeats import Duplicates, settled
from vaecp.data.sampling import with_zeros
from vaecp.errors import ObservationError
from vaecp.runtime.extras import require

if TYPE_CHECKING:
    import xarray as xr

    from vaecp.data.standardising import Scaling

MAX_DENSE_ENTRIES = 500_000_000
"""Above this many cells a dense array is refused rather than left to exhaust the memory."""

Absent = Literal["unknown", "zero"]


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
    notes : what was decided when the entries were read from a file, in sentences.
    features : per mode, numbers about each row (see `vaecp.data.features`), or None; empty for none.
    limits : further entries, of which only a range is known (censored values), or None. They are
        no part of `indices` and `values`: a method that cannot use them takes them as unknown.
    weights : (n,) how many entries each one stands for, or None where it stands for itself.

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
    notes: tuple[str, ...] = ()
    features: tuple[np.ndarray | None, ...] = ()
    limits: Limits | None = None
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        shape, values = tuple(int(size) for size in self.shape), np.asarray(self.values)
        indices = narrowed(np.asarray(self.indices), shape)
        if values.dtype.kind in "iub":
            values = values.astype(np.float64)
        names = tuple(str(name) for name in self.mode_names) or default_mode_names(len(shape))
        labels = tuple(np.asarray(mode) for mode in self.labels) or tuple(
            np.arange(size) for size in shape
        )
        for name, value in (
            ("indices", read_only(indices)),
            ("values", read_only(values)),
            ("shape", shape),
            ("mode_names", names),
            ("labels", tuple(read_only(mode) for mode in labels)),
        ):
            object.__setattr__(self, name, value)
        check_observations(self)

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
        """Take the entries of an ndarray, a masked array, an `xarray.DataArray`, or of pandas.

        NaN marks an unknown entry, and so does a `mask` that is False there (True means
        observed) or a masked array's own mask (True means unknown, as in NumPy).
        """
        if isinstance(array, pd.DataFrame | pd.Series) or hasattr(array, "coords"):
            from vaecp.data.containers import contents_of, from_dataarray

            labelled: Any = array
            return contents_of(labelled)[0] if mask is None else from_dataarray(labelled, mask)
        indices, values, shape = dense_entries(array, mask)
        return cls(indices, values, shape, tuple(mode_names), tuple(labels), value_name)

    @classmethod
    def from_table(
        cls,
        table: pd.DataFrame,
        modes: Sequence[str],
        value: str,
        *,
        duplicates: Duplicates = "error",
        absent: Absent = "unknown",
        lower: str | None = None,
        upper: str | None = None,
    ) -> Observations:
        """Take one entry per row of a table: a label column per mode and a value column.

        A row without a value is a gap: its labels are kept, and the entry is unknown, except that
        the columns `lower` and `upper` may say between which limits it lies.
        `absent` says what an entry that the table does not list is: unknown or zero.
        """
        limits = {name: column for name, column in (("lower", lower), ("upper", upper)) if column}
        indices, labels, place = coded_table(table, modes, (value, *limits.values()))
        values = numbers_of(table[value], value, place)
        ends = {name: numbers_of(table[each], each, place) for name, each in limits.items()}
        return cls.from_listed(
            indices,
            values,
            labels,
            modes,
            value,
            duplicates=duplicates,
            absent=absent,
            place=place,
            **ends,
        )

    @classmethod
    def from_listed(
        cls,
        indices: np.ndarray,
        values: np.ndarray,
        labels: Sequence[np.ndarray],
        mode_names: Sequence[str],
        value_name: str,
        *,
        duplicates: Duplicates = "error",
        absent: Absent = "unknown",
        place: Place = row_number,
        lower: np.ndarray | None = None,
        upper: np.ndarray | None = None,
    ) -> Observations:
        """Take entries as a table lists them, NaN where the value is unknown.

        `place` says where an entry is found, for errors. `lower` and `upper` are limits of values
        that are unknown, NaN where there is none.
        """
        check_choice("absent", absent, get_args(Absent))
        known = ~np.isnan(values)
        rows, limits = limits_among(indices, values, lower, upper, place)
        observed = np.concatenate([np.flatnonzero(known), rows])
        observations = cls(
            indices[known],
            values[known],
            tuple(len(mode) for mode in labels),
            tuple(mode_names),
            tuple(labels),
            value_name,
            limits=limits,
        ).settle_duplicates(duplicates, lambda row: place(int(observed[row])))
        return (
            observations if absent == "unknown" else observations.with_absent_zero(indices[~known])
        )

    @classmethod
    def from_keys(
        cls,
        keys: Any,
        values: Any,
        mode_names: Sequence[str] = (),
        *,
        lower: Any = None,
        upper: Any = None,
    ) -> Observations:
        """Take labels (one column per mode) and values, as `fit(X, y)` receives them.

        Where a value is NaN, `lower` and `upper` may say between which limits it lies.
        """
        indices, labels, names = coded_keys(keys, mode_names)
        shape = tuple(len(mode) for mode in labels)
        if lower is None and upper is None:
            return cls(indices, np.asarray(values), shape, names, labels)
        numbers = np.asarray(values, dtype=np.float64)
        _, limits = limits_among(indices, numbers, lower, upper, lambda row: f"y[{row}]")
        known = ~np.isnan(numbers)
        return cls(indices[known], numbers[known], shape, names, labels, limits=limits)

    # ---- views -------------------------------------------------------------------------

    @property
    def n_modes(self) -> int:
        return len(self.shape)

    @property
    def n_cells(self) -> int:
        """How many entries the tensor has, observed or not."""
        return n_cells(self.shape)

    @property
    def feature_tables(self) -> tuple[np.ndarray, ...]:
        """Features of every mode, without columns where there are none."""
        given = self.features or (None,) * self.n_modes
        none = (np.zeros((size, 0), dtype=np.float32) for size in self.shape)
        return tuple(n if own is None else own for own, n in zip(given, none, strict=True))

    @property
    def known(self) -> np.ndarray:
        """The coordinates of the entries of which something is known: a value, or limits."""
        if self.limits is None:
            return self.indices
        return np.concatenate([self.indices, self.limits.indices])

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        notes = f"; see its {len(self.notes)} notes" if self.notes else ""
        observed = f"{len(self):,} of {self.n_cells:,} entries observed"
        if self.limits is not None:
            observed += f", limits of {len(self.limits):,} others"
        return f"Observations({times(self.shape)}, {observed}{notes})"

    def take(self, rows: np.ndarray) -> Observations:
        """Keep the entries at these positions (or where this mask is True)."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, indices=self.indices[rows], values=self.values[rows], weights=weights)

    def with_values(self, values: np.ndarray) -> Observations:
        """Return the same entries with other values."""
        return replace(self, values=values)

    def scaled(self, scaling: Scaling) -> Observations:
        """Return values and limits in the units in which a method learns."""
        limits = None
        if self.limits is not None and scaling.scale:
            limits = self.limits.scaled(scaling)
        return replace(self, values=scaling.apply(self.values, self.indices), limits=limits)

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
        frame = self.keys()
        frame[self.value_name] = self.values
        return frame

    def to_xarray(self) -> xr.DataArray:
        """Return an `xarray.DataArray` with the labels as coordinates, NaN where unknown."""
        xarray = require("xarray", "netcdf", "an xarray.DataArray")
        coords = dict(zip(self.mode_names, self.labels, strict=True))
        return xarray.DataArray(self.to_array(), coords, self.mode_names, self.value_name)

    def to_array(self) -> np.ndarray:
        """Return the dense array, NaN where unknown; repeated entries are averaged."""
        self.refuse_if_vast()
        totals, counts = cell_sums(self.indices, self.values, self.shape)
        with np.errstate(invalid="ignore"):
            return totals / counts

    def gaps(self) -> np.ndarray:
        """Return the coordinates of every entry that is not observed, in row-major order."""
        self.refuse_if_vast()
        return coordinates(unlisted_cells(self.indices, self.shape), self.shape).astype(np.int32)

    def with_absent_zero(self, unknown: np.ndarray | None = None) -> Observations:
        """Observe a zero at entries that are not listed, except those in `unknown`.

        Where these are many, at a sample of them, which weighs as much as all.
        """
        return with_zeros(self, unknown)

    def refuse_if_vast(self) -> None:
        """Refuse to list every entry where that would exhaust the memory."""
        if self.n_cells > MAX_DENSE_ENTRIES:
            raise ObservationError(
                f"the {times(self.shape)} tensor has {self.n_cells:,} entries, more than the "
                f"{MAX_DENSE_ENTRIES:,} that are listed densely: predict the entries you need."
            )

    def settle_duplicates(self, duplicates: Duplicates, place: Place = row_number) -> Observations:
        """Refuse, keep or average entries that are listed more than once.

        Limits are kept beside the average of exact values; they have places after these.
        """
        return settled(self, duplicates, place)
