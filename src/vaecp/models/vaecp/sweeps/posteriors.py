"""Gaussian posteriors of rows from their normal equations."""

from __future__ import annotations

import numpy as np

ROUNDING = 1e-12


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


def _solved(
    precision: np.ndarray, right: np.ndarray, full: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    if not full:
        mean = np.linalg.solve(precision, right[..., None])[..., 0]
        return mean, 1 / np.einsum("jrr->jr", precision), None
    covariance = np.linalg.inv(precision)
    mean = np.einsum("jrs,js->jr", covariance, right)
    return mean, np.einsum("jrr->jr", covariance).copy(), covariance
