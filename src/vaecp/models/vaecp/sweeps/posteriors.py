"""Gaussian posteriors of rows from their normal equations."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solveh_banded

ROUNDING = 1e-12
MOST_ROUNDING = 1e-4


def posteriors(
    precision: np.ndarray, right: np.ndarray, full: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return means, variances and, if asked for, covariances of rows.

    Values without noise make entries so precise that a prior is lost in rounding. Where they determine
    fewer numbers than a row has, as much as rounding takes away is added to the diagonal.
    """
    try:
        return _solved(precision, right, full)
    except np.linalg.LinAlgError:
        size = np.einsum("jrr->j", precision) / precision.shape[1]
        ridge = ROUNDING * size[:, None, None] * np.eye(precision.shape[1])
        return _solved(precision + ridge, right, full)


def chain_means(band: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the means of all rows of a chain, from the lower diagonals of their joint precision.

    Entries that members of many numbers fit without error are so precise that the precision is no
    longer positive in floating point: its diagonal is raised by as small a share as makes it so. By a
    share of each number, since rows without entries are held by their prior alone.
    """
    ridge = 0.0
    while True:
        try:
            raised = band if not ridge else np.vstack([(1 + ridge) * band[:1], band[1:]])
            return solveh_banded(raised, right, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            ridge = max(ROUNDING, 10 * ridge)
            if ridge > MOST_ROUNDING:
                raise


def _solved(
    precision: np.ndarray, right: np.ndarray, full: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    if not full:
        mean = np.linalg.solve(precision, right[..., None])[..., 0]
        return mean, 1 / np.einsum("jrr->jr", precision), None
    covariance = np.linalg.inv(precision)
    mean = np.einsum("jrs,js->jr", covariance, right)
    return mean, np.einsum("jrr->jr", covariance).copy(), covariance
