"""Row effects: one number per row of every mode, added up, with a ridge."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import lsqr

from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.data.standardising import Standardiser

TOLERANCE = 1e-10


def predict(
    training: Observations, indices: np.ndarray, random_state: int = 0, ridge: float = 1.0
) -> Prediction:
    """Fit by least squares; the penalty is `ridge` times the squared effects, values standardised.

    A row without training entries has the effect 0. The spread is that of the residuals.
    """
    standardiser = Standardiser.of(training.values)
    design = _design(training.indices, training.shape)
    values = standardiser.apply(training.values)
    effects = lsqr(design, values, damp=np.sqrt(ridge), atol=TOLERANCE, btol=TOLERANCE)[0]
    residuals = values - design @ effects
    spread = np.full(len(indices), np.sqrt(np.mean(residuals**2)))
    found = Prediction(_design(indices, training.shape) @ effects, spread, 0 * spread)
    return found.in_units_of(standardiser, indices)


def _design(indices: np.ndarray, shape: tuple[int, ...]) -> csr_matrix:
    """One column per row of every mode; an entry has a 1 in the columns of its rows."""
    first = np.cumsum([0, *shape[:-1]])
    n, n_modes = indices.shape
    columns = (indices + first).ravel()
    starts = np.arange(0, n * n_modes + 1, n_modes)
    return csr_matrix((np.ones(n * n_modes), columns, starts), shape=(n, sum(shape)))
