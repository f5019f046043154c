"""Entries of which only a range is known: values below a limit of detection, saturated ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vaecp.data.checks import check_bounds, times
from vaecp.data.labels import Place
from vaecp.errors import ObservationError

if TYPE_CHECKING:
    from vaecp.data.observations import Observations
    from vaecp.data.standardising import Scaling


OPEN = 10.0
"""Values without an upper (or a lower) limit may lie so many widths of the exact values beyond."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Censored entries: each value lies somewhere from `lower` to `upper`.

    Parameters
    ----------
    indices : (m, D) integers, the row of each entry in each mode, from 0.
    lower, upper : (m,) numbers; -inf and inf where there is no limit, but never both.
    """

    indices: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def __post_init__(self) -> None:
        for name, kind in (("indices", np.int32), ("lower", np.float64), ("upper", np.float64)):
            array = np.asarray(getattr(self, name), dtype=kind)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.lower)

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse limits that do not fit a tensor of this shape, or that limit nothing."""
        if self.indices.shape != (len(self), len(shape)) or len(self.upper) != len(self):
            raise ObservationError(
                f"limits have {len(self.indices)} coordinates, {len(self)} lower and "
                f"{len(self.upper)} upper ends: a {times(shape)} tensor needs {len(shape)} columns "
                "of coordinates, and as many of each."
            )
        check_bounds(self.indices, shape)
        open_ends = np.isinf(self.lower) & np.isinf(self.upper)
        wrong = ~(self.lower < self.upper) | open_ends
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ObservationError(
                f"the limits at {tuple(self.indices[row].tolist())} are {self.lower[row]:g} and "
                f"{self.upper[row]:g}: give a lower end that is smaller than the upper one, at "
                "least one of them finite."
            )

    def take(self, rows: Any) -> Limits:
        """Keep the entries at these positions (or where this mask is True)."""
        return Limits(self.indices[rows], self.lower[rows], self.upper[rows])

    def kept(self, rows: np.ndarray) -> Limits | None:
        """Keep the entries where this mask is True; None where none is left."""
        return self.take(rows) if rows.any() else None

    def in_rows(self, mode: int, places: np.ndarray) -> Limits | None:
        """Move entries to new rows of a mode; those whose place is -1 go. None where none is left."""
        moved = places[self.indices[:, mode]]
        found = self.kept(moved >= 0)
        if found is None:
            return None
        indices = np.array(found.indices)
        indices[:, mode] = moved[moved >= 0]
        return replace(found, indices=indices)

    def joined(self, other: Limits) -> Limits:
        """Return the entries of both."""
        return Limits(
            np.concatenate([self.indices, other.indices]),
            np.concatenate([self.lower, other.lower]),
            np.concatenate([self.upper, other.upper]),
        )

    def scaled(self, scaling: Scaling) -> Limits | None:
        """Return the limits in the units in which a method learns; None where they say nothing.

        A limit at the end of what values can be, such as >0 of amounts, says nothing.
        """
        lowest, highest = scaling.support
        self._check_possible(lowest, highest)

        def apply(ends: np.ndarray, limits: np.ndarray, none: float) -> np.ndarray:
            found = np.full(len(self), none)
            found[limits] = scaling.apply(ends[limits], self.indices[limits])
            return found

        found = replace(
            self,
            lower=apply(self.lower, self.lower > lowest, -np.inf),
            upper=apply(self.upper, self.upper < highest, np.inf),
        )
        says = np.isfinite(found.lower) | np.isfinite(found.upper)
        return found.take(says) if says.any() else None

    def _check_possible(self, lowest: float, highest: float) -> None:
        """Refuse limits beyond which no value can lie."""
        wrong = (self.upper <= lowest) | (self.lower >= highest)
        if wrong.any():
            row = int(np.argmax(wrong))
            sign, end = ("<", self.upper) if self.upper[row] <= lowest else (">", self.lower)
            raise ObservationError(
                f"the entry at {tuple(self.indices[row].tolist())} has the limit {sign}{end[row]:g}, "
                f"but values of this kind lie between {lowest + 0.0:g} and {highest:g}: correct the limit, "
                'or take the values for real numbers (--values real, likelihood="gaussian").'
            )

    @property
    def one_sided(self) -> np.ndarray:
        """Which values have one limit, and not two."""
        return np.isinf(self.lower) | np.isinf(self.upper)

    @property
    def ends(self) -> np.ndarray:
        """The limit of values that have one; the lower one of others."""
        return np.where(np.isfinite(self.lower), self.lower, self.upper)

    def nearest(self, means: np.ndarray) -> np.ndarray:
        """Return the value within the limits that is nearest to each mean."""
        return np.clip(means, self.lower, self.upper)

    def reach(self, low: float, high: float) -> tuple[float, float]:
        """Return the range of all values, where that of the exact ones is `low` to `high`."""
        width = high - low
        lower = np.where(np.isinf(self.lower), low - OPEN * width, self.lower)
        upper = np.where(np.isinf(self.upper), high + OPEN * width, self.upper)
        return min(low, float(lower.min())), max(high, float(upper.max()))


def limits_among(
    indices: np.ndarray, values: np.ndarray, lower: Any, upper: Any, place: Place
) -> tuple[np.ndarray, Limits | None]:
    """Return which rows without a value have a limit, and the limits; NaN is no limit."""
    ends = []
    for name, given, none in (("lower", lower, -np.inf), ("upper", upper, np.inf)):
        end = np.full(len(values), np.nan) if given is None else np.asarray(given, dtype=np.float64)
        if end.shape != values.shape:
            raise ObservationError(
                f"{name} has shape {end.shape}, but there are {len(values)} values: give one limit "
                "for each, NaN where there is none."
            )
        ends.append(np.where(np.isnan(end), none, end))
    rows = np.flatnonzero(np.isnan(values) & (np.isfinite(ends[0]) | np.isfinite(ends[1])))
    if not len(rows):
        return rows, None
    wrong = ~(ends[0][rows] < ends[1][rows])
    if wrong.any():
        row = int(rows[np.argmax(wrong)])
        raise ObservationError(
            f"{place(row)} has the limits {ends[0][row]:g} and {ends[1][row]:g}: the lower one has "
            "to be smaller than the upper one; if they are equal, give the value."
        )
    return rows, Limits(indices[rows], ends[0][rows], ends[1][rows])


def saturated(observations: Observations, at: float) -> Observations:
    """Return the entries; of those that reach this value, only that they do is known."""
    values = observations.values
    reached = values >= at
    if not reached.any() or reached.all():
        raise ObservationError(
            f"saturated_at is {at:g}, and {'all' if reached.any() else 'none'} of the values reach "
            f"it ({values.min():g} to {values.max():g}): give the largest value that the detector "
            "shows."
        )
    ends = np.full(int(reached.sum()), float(at))
    found = Limits(observations.indices[reached], ends, np.full(len(ends), np.inf))
    limits = found if observations.limits is None else observations.limits.joined(found)
    return replace(observations.take(~reached), limits=limits)
