"""What a CP model explains, what it leaves unexplained, and which rows pull at it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vaecp.data.cells import cell_sums
from vaecp.data.observations import Observations
from vaecp.models.multilinear.equations import product

CHUNK = 1 << 22


def residuals(observations: Observations, factors: Sequence[np.ndarray]) -> np.ndarray:
    """Return observed minus modelled, entry by entry."""
    n_parts = 1 + len(observations) * factors[0].shape[1] // CHUNK
    parts = [
        product([rows[column] for rows, column in zip(factors, part.T, strict=True)]).sum(axis=1)
        for part in np.array_split(observations.indices, n_parts)
    ]
    return observations.values - np.concatenate(parts)


def explained_variation(observations: Observations, factors: Sequence[np.ndarray]) -> float:
    """Return the share of the sum of squares that the model explains, in per cent."""
    left = residuals(observations, factors)
    return float(100 * (1 - np.sum(left**2) / np.sum(observations.values**2)))


def component_variation(observations: Observations, factors: Sequence[np.ndarray]) -> np.ndarray:
    """Return each component's own sum of squares over the observed entries, in per cent of theirs.

    Components overlap, so these neither add up to the explained variation nor stay below 100.
    """
    squares = np.zeros(factors[0].shape[1])
    for part in np.array_split(observations.indices, 1 + len(observations) // CHUNK):
        rows = [rows[column] for rows, column in zip(factors, part.T, strict=True)]
        squares += (product(rows) ** 2).sum(axis=0)
    return 100 * squares / np.sum(observations.values**2)


def leverage(rows: np.ndarray) -> np.ndarray:
    """Return how much each row of a mode determines its components, from 0 to 1.

    The diagonal of A (A'A)^-1 A'. A row with a leverage near 1 has a component to itself.
    """
    basis, values, _ = np.linalg.svd(rows, full_matrices=False)
    return (basis[:, values > 1e-12 * values[0]] ** 2).sum(axis=1)


def influence(observations: Observations, factors: Sequence[np.ndarray], mode: int) -> pd.DataFrame:
    """Return leverage and residual of every label of a mode.

    Columns are `label`, `leverage`, `residual` (root mean square over the observed entries) and
    `share` of the residual sum of squares. High in both: a row that pulls at the model and is
    not described by it.
    """
    column, size = observations.indices[:, mode], observations.shape[mode]
    squares = residuals(observations, factors) ** 2
    sums = np.bincount(column, squares, minlength=size)
    counts = np.bincount(column, minlength=size)
    with np.errstate(invalid="ignore"):
        mean = sums / counts
    return pd.DataFrame(
        {
            "label": observations.labels[mode],
            "leverage": leverage(factors[mode]),
            "residual": np.sqrt(mean),
            "share": sums / (sums.sum() or 1.0),
        }
    )


def residual_map(
    observations: Observations, factors: Sequence[np.ndarray], rows: int, columns: int
) -> np.ndarray:
    """Return the root mean square residual at every pair of labels of two modes, NaN where empty."""
    shape = (observations.shape[rows], observations.shape[columns])
    squares = residuals(observations, factors) ** 2
    sums, counts = cell_sums(observations.indices[:, [rows, columns]], squares, shape)
    with np.errstate(invalid="ignore"):
        return np.sqrt(sums / counts)
