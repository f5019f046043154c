"""Centring across a mode and scaling within one, as the N-way literature has them.

Centring across a mode takes from every fibre along it its own mean; scaling within a mode
divides every slab of it by its own root mean square. Both keep a multilinear model multilinear,
which other ways to centre and scale do not (Bro and Smilde, 2003).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vaecp.data.cells import cell_keys, cell_sums, n_cells
from vaecp.data.observations import Observations
from vaecp.data.standardising import Scaling, Standardiser
from vaecp.errors import ObservationError

NONE, VALUES = "none", "values"
MAX_FIBRES = 1 << 26
"""Means of more fibres than this are refused rather than left to exhaust the memory."""


@dataclass(frozen=True, eq=False)
class ModeScaling(Scaling):
    """values = offset of the fibre + scale * size of the slab * scaled.

    Attributes
    ----------
    location, scale : of all values; `location` stands for a fibre without entries.
    shape : of the tensor.
    centred_mode, offsets : fibres along this mode have these means, row-major over the other
        modes; -1 and no offsets where `location` serves all entries.
    scaled_mode, sizes : slabs of this mode have these sizes; -1 and none where they have one.
    """

    shape: tuple[int, ...] = ()
    centred_mode: int = -1
    offsets: np.ndarray | tuple = ()
    scaled_mode: int = -1
    sizes: np.ndarray | tuple = ()

    def validate(self, shape: tuple[int, ...]) -> None:
        super().validate(shape)
        if self.shape != shape:
            raise ValueError(f"scaling.shape is {self.shape}, where the others need {shape}")
        modes = [mode for mode in (self.centred_mode, self.scaled_mode) if mode != -1]
        if not set(modes) <= set(range(len(shape))):
            raise ValueError(f"scaling has the modes {modes}, but there are {len(shape)} modes")
        centred, scaled = self.centred_mode, self.scaled_mode
        n_fibres = math.prod(shape[:centred] + shape[centred + 1 :]) if centred >= 0 else 0
        n_slabs = shape[scaled] if scaled >= 0 else 0
        if np.shape(self.offsets) != (n_fibres,) or np.shape(self.sizes) != (n_slabs,):
            raise ValueError("scaling has not one offset per fibre and one size per slab")

    @property
    def uniform(self) -> bool:  # type: ignore[override]
        """Whether `location` and `scale` are those of every entry."""
        return self.centred_mode < 0 and self.scaled_mode < 0

    def apply(self, values: np.ndarray, indices: np.ndarray) -> np.ndarray:
        centred = np.asarray(values, dtype=np.float64) - self._offset(indices)
        return centred / self._scale(indices) if self.scale else np.zeros_like(centred)

    def invert(self, scaled: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return self._offset(indices) + self.stretch(scaled, indices)

    def stretch(self, spreads: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return self._scale(indices) * np.asarray(spreads, dtype=np.float64)

    def grown(self, sources: Sequence[np.ndarray]) -> ModeScaling:
        """New fibres have the location of all values, new slabs the usual size."""
        offsets, sizes = self.offsets, self.sizes
        others = [mode for mode in range(len(self.shape)) if mode != self.centred_mode]
        if self.centred_mode >= 0:
            table = np.asarray(offsets).reshape([self.shape[mode] for mode in others])
            padded = np.pad(table, [(0, 1)] * table.ndim, constant_values=self.location)
            offsets = padded[np.ix_(*(sources[mode] for mode in others))].ravel()
        if self.scaled_mode >= 0:
            sizes = np.append(sizes, 1.0)[sources[self.scaled_mode]]
        shape = tuple(len(source) for source in sources)
        return replace(self, shape=shape, offsets=offsets, sizes=sizes)

    def _offset(self, indices: np.ndarray) -> np.ndarray | float:
        if self.centred_mode < 0:
            return self.location
        others = [mode for mode in range(len(self.shape)) if mode != self.centred_mode]
        known = (indices[:, others] >= 0).all(axis=1)
        found = np.full(len(indices), self.location)
        found[known] = np.asarray(self.offsets)[_fibres(indices[known], self.shape, others)]
        return found

    def _scale(self, indices: np.ndarray) -> np.ndarray | float:
        if self.scaled_mode < 0:
            return self.scale
        return self.scale * np.append(self.sizes, 1.0)[indices[:, self.scaled_mode]]


def mode_scaling(observations: Observations, center: str | int, scale: str | int) -> ModeScaling:
    """Measure the scaling of values: "none", "values" (one mean) or a mode, by name or number.

    Whatever is chosen, one number for all values makes their root mean square 1, so that
    penalties and tolerances mean the same in all units. Gaps take no part in means.
    """
    centred_mode = _mode(observations, center, "center", (NONE, VALUES))
    scaled_mode = _mode(observations, scale, "scale", (NONE,))
    shape, indices = observations.shape, observations.indices
    overall = Standardiser.of(observations.values)
    if not overall.scale:
        return ModeScaling(overall.location, 0.0, shape)
    location = 0.0 if center == NONE else overall.location
    scaling = ModeScaling(location, 1.0, shape)
    if centred_mode >= 0:
        scaling = ModeScaling(
            location, 1.0, shape, centred_mode, _fibre_means(observations, centred_mode, location)
        )
    centred = scaling.apply(observations.values, indices)
    if not centred.any():  # every fibre is constant
        return ModeScaling(location, 0.0, shape, centred_mode, scaling.offsets)
    # Squares of very large or very small values would leave the range of float64.
    unit = float(np.abs(centred).max())
    squares = (centred / unit) ** 2
    root_mean_square = unit * float(np.sqrt(squares.mean()))
    sizes: np.ndarray | tuple = ()
    if scaled_mode >= 0:
        column, size = indices[:, scaled_mode], shape[scaled_mode]
        counts = np.bincount(column, minlength=size)
        means = np.bincount(column, squares, minlength=size) / np.maximum(counts, 1)
        sizes = np.where(means > 0, np.sqrt(means) * unit / root_mean_square, 1.0)
    return ModeScaling(
        location, root_mean_square, shape, centred_mode, scaling.offsets, scaled_mode, sizes
    )


def _mode(observations: Observations, given: str | int, argument: str, words: Sequence[str]) -> int:
    """Return the number of a mode, or -1 for one of the words."""
    if isinstance(given, str) and given in words:
        return -1
    names = observations.mode_names
    if isinstance(given, str) and given in names:
        return names.index(given)
    if (
        isinstance(given, (int, np.integer))
        and not isinstance(given, bool)
        and 0 <= given < len(names)
    ):
        return int(given)
    choices = ", ".join(map(repr, (*words, *names)))
    raise ObservationError(
        f"{argument} is {given!r}: use one of {choices}, or the number of a mode from 0."
    )


def _fibre_means(observations: Observations, mode: int, location: float) -> np.ndarray:
    """Return the mean of every fibre along a mode, `location` where none of it is observed."""
    shape = observations.shape
    others = [other for other in range(len(shape)) if other != mode]
    sizes = [shape[other] for other in others]
    n_fibres = n_cells(sizes)
    if n_fibres > MAX_FIBRES:
        raise ObservationError(
            f"centring across mode {observations.mode_names[mode]!r} needs the means of "
            f"{n_fibres:,} fibres, more than the {MAX_FIBRES:,} that are kept: use "
            'center="values" or "none".'
        )
    # Deviations from the mean of all values keep their digits where the offset is large.
    deviations = observations.values - location
    totals, counts = cell_sums(observations.indices[:, others], deviations, sizes)
    return (location + totals / np.maximum(counts, 1)).ravel()


def _fibres(indices: np.ndarray, shape: Sequence[int], others: Sequence[int]) -> np.ndarray:
    """Number the fibres row-major over the modes other than their own."""
    return cell_keys(indices[:, others], [shape[other] for other in others])
