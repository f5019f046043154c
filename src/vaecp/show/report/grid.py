"""The entries that the slice browser shows: all of them, or rows that stand for the rest."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from vaecp.data.cells import cell_sums
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.models.base import TensorEstimator
from vaecp.outcomes.completion import predict_all

Predictor = Callable[[np.ndarray], Prediction]
MAX_CELLS = 250_000
"""Entries in the page: about four megabytes, which a telephone opens in a few seconds."""
MAX_ROWS = 400
"""Rows of one mode: more could not be told apart in a heat map."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Some rows of every mode, and what the model says where they cross.

    Attributes
    ----------
    shape : of the whole tensor.
    kept : per mode, the rows that are shown, in order.
    prediction : of every crossing, in row-major order.
    given : the observed values there, NaN at gaps; None where the data are not known.
    at : predicts entries at (n, D) coordinates.
    """

    shape: tuple[int, ...]
    kept: tuple[np.ndarray, ...]
    prediction: Prediction
    given: np.ndarray | None
    at: Predictor

    @property
    def n_cells(self) -> int:
        return int(np.prod([len(rows) for rows in self.kept]))

    @property
    def is_whole(self) -> bool:
        """Whether every entry of the tensor is here."""
        return all(len(rows) == size for rows, size in zip(self.kept, self.shape, strict=True))

    @cached_property
    def indices(self) -> np.ndarray:
        """The coordinates of the entries in the whole tensor."""
        return crossings(self.kept)

    @property
    def is_symmetric(self) -> bool:
        """Whether intervals reach as many standard deviations to either side of every mean."""
        return type(self.prediction) is Prediction

    def packed(self, location: float, scale: float, coverage: float) -> dict[str, Any]:
        """Return mean, std, given values and ends of intervals as base64 of little-endian float32.

        They are standardised before, so that a large offset costs no digits. Ends are left out
        where mean and std tell them.
        """
        unit = scale or 1.0
        arrays = {
            "mean": (self.prediction.mean - location) / unit,
            "std": self.prediction.std / unit,
        }
        if not self.is_symmetric:
            low, high = self.prediction.interval(coverage)
            arrays |= {"low": (low - location) / unit, "high": (high - location) / unit}
        if self.given is not None:
            arrays["given"] = (self.given - location) / unit
        packed = {
            name: base64.b64encode(np.asarray(array, dtype="<f4").tobytes()).decode("ascii")
            for name, array in arrays.items()
        }
        return {
            "location": location,
            "scale": unit,
            "given": None,
            "low": None,
            "high": None,
            **packed,
        }


def thinned(
    shape: tuple[int, ...], max_cells: int = MAX_CELLS, max_rows: int = MAX_ROWS
) -> tuple[np.ndarray, ...]:
    """Choose evenly spaced rows of every mode so that few enough entries cross.

    Small modes stay whole; the large ones share what is left.

    Examples
    --------
    >>> [len(rows) for rows in thinned((5, 1000, 1000), max_cells=2000)]
    [5, 20, 20]
    """
    kept: list[np.ndarray] = [np.arange(0)] * len(shape)
    budget = float(max_cells)
    for place, mode in enumerate(sorted(range(len(shape)), key=lambda mode: shape[mode])):
        # The small number keeps exact roots such as 8 ** (1 / 3) from falling below themselves.
        share = int(budget ** (1 / (len(shape) - place)) + 1e-9)
        n_rows = max(1, min(shape[mode], share, max_rows))
        kept[mode] = np.unique(np.linspace(0, shape[mode] - 1, n_rows).round().astype(np.int64))
        budget /= len(kept[mode])
    return tuple(kept)


def crossings(kept: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the coordinates where the rows cross, in row-major order."""
    meshes = np.meshgrid(*kept, indexing="ij")
    return np.stack([mesh.ravel() for mesh in meshes], axis=1)


def predict_grid(
    model: TensorEstimator, observations: Observations | None, at: Predictor | None = None
) -> Grid:
    """Predict the entries that the page shows, by `at` where what it says is known already."""
    shape, at = model.shape_, at or partial(predict_all, model)
    kept = thinned(shape)
    given = None if observations is None else _given(observations, kept)
    return Grid(shape, kept, at(crossings(kept)), given, at)


def _given(observations: Observations, kept: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the observed values at the crossings; repeated measurements are averaged."""
    sizes = [len(rows) for rows in kept]
    places = np.empty_like(observations.indices)
    for mode, rows in enumerate(kept):
        place = np.full(observations.shape[mode], -1, dtype=places.dtype)
        place[rows] = np.arange(len(rows))
        places[:, mode] = place[observations.indices[:, mode]]
    inside = (places >= 0).all(axis=1)
    totals, counts = cell_sums(places[inside], observations.values[inside], sizes)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan).ravel()
