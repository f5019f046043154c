"""Values of different quantities in one tensor: every label of a mode has units of its own.

A log of sensors holds temperatures beside pressures. With one scale for all, errors that mean nothing for
the largest bury the smallest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.standardising import Scaling, Standardiser

MOST_LABELS, FEWEST_VALUES = 200, 10
"""Modes with more labels hold things of one kind; labels with fewer values do not say how they spread."""
APART = 10.0
"""Quantities may differ where the spread of one label is so many times that of another."""


@dataclass(frozen=True, eq=False)
class LabelScaling(Scaling):
    """values = mean of the label + its standard deviation * scaled.

    Attributes
    ----------
    location, scale : of all values; they serve labels that have none of their own.
    mode : whose labels have means and standard deviations of their own.
    locations, scales : per label.
    """

    mode: int = 0
    locations: np.ndarray | tuple = ()
    scales: np.ndarray | tuple = ()

    @classmethod
    def of(cls, observations: Observations, mode: int) -> LabelScaling:
        """Measure every label that has enough values, and some that differ."""
        usual = Standardiser.of(observations.values)
        size, rows = observations.shape[mode], observations.indices[:, mode]
        locations, scales = np.full(size, usual.location), np.full(size, usual.scale)
        for label, values in _by_label(observations, mode).items():
            own = Standardiser.of(values)
            if own.scale and len(values) >= FEWEST_VALUES:
                locations[label], scales[label] = own.location, own.scale
        scaled = (observations.values - locations[rows]) / scales[rows]
        # Labels on the usual scale would else set the size of all others.
        rest = Standardiser.of(scaled).scale or 1.0
        return cls(usual.location, usual.scale, mode, locations, scales * rest)

    def validate(self, shape: tuple[int, ...]) -> None:
        super().validate(shape)
        if not 0 <= self.mode < len(shape):
            raise ValueError(f"scaling has the mode {self.mode}, but there are {len(shape)} modes")
        size = (shape[self.mode],)
        if np.shape(self.locations) != size or np.shape(self.scales) != size:
            raise ValueError("scaling has not one location and one scale per label")
        if not (np.asarray(self.scales) > 0).all():
            raise ValueError("scaling has a scale that is not positive")

    def apply(self, values: np.ndarray, indices: np.ndarray) -> np.ndarray:
        centred = np.asarray(values, dtype=np.float64) - self._of(
            self.locations, self.location, indices
        )
        return centred / self._of(self.scales, self.scale, indices)

    def invert(self, scaled: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return self._of(self.locations, self.location, indices) + self.stretch(scaled, indices)

    def stretch(self, spreads: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return self._of(self.scales, self.scale, indices) * np.asarray(spreads, dtype=np.float64)

    def grown(self, sources: Sequence[np.ndarray]) -> LabelScaling:
        """New labels have the location and scale of all values."""
        source = sources[self.mode]
        locations = np.append(self.locations, self.location)[source]
        return replace(self, locations=locations, scales=np.append(self.scales, self.scale)[source])

    def _of(self, table: np.ndarray | tuple, usual: float, indices: np.ndarray) -> np.ndarray:
        return np.append(table, usual)[indices[:, self.mode]]


def mode_of_units(observations: Observations) -> int | None:
    """Return the mode whose labels may name different quantities: those with names that spread most differently."""
    found = {
        mode: _apart(observations, mode)
        for mode, labels in enumerate(observations.labels)
        if labels.dtype.kind in "OU" and 2 <= len(labels) <= MOST_LABELS
    }
    mode = max(found, key=found.__getitem__, default=None)
    return mode if mode is not None and found[mode] >= APART else None


def _apart(observations: Observations, mode: int) -> float:
    """Return the ratio of the largest to the smallest spread of a label."""
    spreads = [
        Standardiser.of(values).scale
        for values in _by_label(observations, mode).values()
        if len(values) >= FEWEST_VALUES
    ]
    spreads = [spread for spread in spreads if spread]
    return max(spreads) / min(spreads) if spreads else 1.0


def _by_label(observations: Observations, mode: int) -> dict[int, np.ndarray]:
    """Return the values of every label that has any."""
    rows = observations.indices[:, mode]
    order = np.argsort(rows, kind="stable")
    labels, first = np.unique(rows[order], return_index=True)
    parts = np.split(observations.values[order], first[1:])
    return dict(zip(labels.tolist(), parts, strict=True))
