"""What observed entries have to satisfy; each broken rule has one line that names the place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from vaecp.data.labels import Place, index_of
from vaecp.errors import ObservationError

if TYPE_CHECKING:
    from vaecp.data.observations import Observations

MAX_MODES = 32
MAX_VALUE = 1e300
"""Sums and differences of larger values would leave the range of float64."""


def check_observations(given: Observations) -> None:
    """Refuse entries that break a rule."""
    check_layout(given.indices, given.values, given.shape)
    check_names(given.mode_names, given.labels, given.shape)
    check_bounds(given.indices, given.shape)
    check_values(given.values, given.indices)
    check_features(given.features, given.shape)
    if given.limits is not None:
        given.limits.check(given.shape)
    weights = given.weights
    if weights is not None and (weights.shape != given.values.shape or not (weights > 0).all()):
        raise ObservationError(
            f"weights has shape {weights.shape} and lowest {weights.min(initial=0):g}: give one "
            "positive number per value."
        )


def check_features(features: tuple[np.ndarray | None, ...], shape: tuple[int, ...]) -> None:
    """Refuse features that are not one line of numbers per row."""
    if features and len(features) != len(shape):
        raise ObservationError(
            f"features has {len(features)} item(s), but there are {len(shape)} modes: give one each."
        )
    for mode, own in enumerate(features):
        if own is not None and (own.ndim != 2 or len(own) != shape[mode]):
            raise ObservationError(
                f"features[{mode}] has shape {own.shape}, but mode {mode} has size {shape[mode]}: "
                "give one line of numbers per row."
            )


def check_layout(indices: np.ndarray, values: np.ndarray, shape: tuple[int, ...]) -> None:
    """Refuse arrays whose sizes or types do not fit each other."""
    n_modes = len(shape)
    if n_modes < 2:
        raise ObservationError(
            f"the data has {n_modes} mode(s), n_features = {n_modes}: a tensor needs at least "
            "two, so give one column (or axis) per mode."
        )
    check_n_modes(n_modes)
    if indices.ndim != 2 or indices.shape[1] != n_modes:
        raise ObservationError(
            f"indices has shape {indices.shape}, but a tensor of {n_modes} modes needs "
            f"(n, {n_modes}): give one column per mode."
        )
    if indices.dtype.kind not in "iu":
        raise ObservationError(
            f"indices has dtype {indices.dtype}: use integers from 0, or "
            "Observations.from_table for labels."
        )
    if values.shape != (len(indices),):
        raise ObservationError(
            f"values has shape {values.shape}, but there are {len(indices)} "
            "coordinates: give one value per coordinate."
        )
    if not len(values):
        raise ObservationError(
            f"no entry of the {times(shape)} tensor is observed: at least one is needed."
        )
    if values.dtype.kind != "f":
        raise ObservationError(f"values has dtype {values.dtype}: use real numbers.")


def check_n_modes(n_modes: int) -> None:
    """Refuse more modes than arrays and memory are made for."""
    if n_modes > MAX_MODES:
        raise ObservationError(
            f"the data has {n_modes} modes, more than {MAX_MODES}: name the label columns with modes, "
            "or join some of them."
        )


def check_names(
    mode_names: tuple[str, ...], labels: tuple[np.ndarray, ...], shape: tuple[int, ...]
) -> None:
    """Refuse names and labels that do not fit the modes, or that repeat."""
    n_modes = len(shape)
    for what, given in (("mode_names", mode_names), ("labels", labels)):
        if len(given) != n_modes:
            raise ObservationError(
                f"{what} has {len(given)} item(s), but there are {n_modes} modes: give one each."
            )
    if len(set(mode_names)) < n_modes:
        raise ObservationError(f"mode_names {mode_names} repeat a name: make them distinct.")
    for mode, own in enumerate(labels):
        if len(own) != shape[mode]:
            raise ObservationError(
                f"labels[{mode}] has {len(own)} labels, but mode {mode} has size "
                f"{shape[mode]}: give one label per row."
            )
        index = index_of(np.asarray(own))
        if not index.is_unique:
            row = int(np.argmax(index.duplicated()))
            raise ObservationError(
                f"labels[{mode}] repeats {own[row]!s} (rows {list(own).index(own[row])}"
                f" and {row}): give every row of a mode its own label."
            )


def check_bounds(indices: np.ndarray, shape: tuple[int, ...]) -> None:
    """Refuse coordinates outside the tensor."""
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


def check_values(values: np.ndarray, indices: np.ndarray) -> None:
    """Refuse values that are not finite, or too large to compute with."""
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ObservationError(
            f"values[{row}] at {tuple(indices[row].tolist())} is {values[row]}: "
            "observed values must be finite, so leave unknown entries out."
        )
    largest = int(np.argmax(np.abs(values)))
    if abs(float(values[largest])) > MAX_VALUE:
        raise ObservationError(
            f"values[{largest}] is {values[largest]:.3g}: values must lie within "
            f"{MAX_VALUE:.0e} of zero, so choose a larger unit."
        )


def check_choice(argument: str, given: str, choices: tuple[str, ...]) -> None:
    """Refuse anything but one of the choices."""
    if given not in choices:
        raise ObservationError(
            f"{argument} is {given!r}: use {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}."
        )


def mode_named(name: str, names: tuple[str, ...]) -> int:
    """Return the number of a mode, or say which names there are."""
    if name not in names:
        raise ObservationError(f"there is no mode {name!r}: use {', '.join(map(repr, names))}.")
    return names.index(name)


def check_coverage(coverage: float) -> None:
    """Refuse a coverage of intervals that is no probability."""
    if not 0 < coverage < 1:
        raise ObservationError(
            f"coverage is {coverage}: use a number between 0 and 1, such as 0.9."
        )


def numbers_of(column: Any, name: str, place: Place) -> np.ndarray:
    """Return a column as float64, or say where its first cell is that is no number."""
    try:
        numbers: Any = pd.to_numeric(column, errors="coerce")
    except (TypeError, ValueError):  # cells that hold lists, or integers without end
        numbers = pd.to_numeric(column.map(str), errors="coerce")
    broken = numbers.isna() & ~column.isna()
    if broken.any():
        row = int(np.argmax(broken.to_numpy()))
        raise ObservationError(
            f"column {name!r} has {column.iloc[row]!r} in {place(row)}: values must be numbers, and "
            "empty where unknown."
        )
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    check_finite(values, name, place)
    return values


def check_finite(values: np.ndarray, name: str, place: Place) -> None:
    """Refuse infinities; NaN is a gap."""
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise ObservationError(
            f"column {name!r} is {values[row]} in {place(row)}: values must be finite, and empty "
            "where unknown."
        )


def times(shape: tuple[int, ...]) -> str:
    """Write sizes with crosses."""
    return " x ".join(str(size) for size in shape)
