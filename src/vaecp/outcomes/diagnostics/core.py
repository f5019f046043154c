"""Core consistency: does a model with interactions between components fit better?

A CP model is a Tucker model whose core has ones on its superdiagonal and zeros elsewhere. The
core that fits best with the same factors shows whether that is so (Bro and Kiers, 2003).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vaecp.data.cells import cell_sums
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

MAX_CELLS = 1 << 26
MAX_CORE = 2048
"""Cells of a tensor, and entries of a core with gaps, beyond which nothing is computed."""

NEGLIGIBLE = 1e-10
"""Singular values below this share of the largest count as zero."""


def core_consistency(observations: Observations, factors: Sequence[np.ndarray]) -> float:
    """Return the core consistency in per cent; 100 is a perfect CP model, and it may be negative.

    It is 100 (1 - sum of (g - t)^2 / R), with g the best Tucker core, t the superdiagonal one and
    R the number of components, each of the same size in every mode. Gaps take no part. NaN where
    the tensor or the core are too large.
    """
    if observations.n_modes < 3:
        raise ObservationError(
            f"the tensor has {observations.n_modes} modes: core consistency needs three or more."
        )
    rank = factors[0].shape[1]
    core = tucker_core(observations, balanced(factors))
    if core is None:
        return float("nan")
    target = np.zeros(core.shape)
    target[(np.arange(rank),) * core.ndim] = 1.0
    return float(100 * (1 - np.sum((core - target) ** 2) / rank))


def tucker_core(observations: Observations, factors: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the core that fits the observed entries best with these factors; None if too large.

    The core is solved for in orthonormal bases of the factors, where full data need no solving
    and gaps alone make the equations differ from the identity.
    """
    parts = [np.linalg.svd(rows, full_matrices=False) for rows in factors]
    ranks = [int((values > NEGLIGIBLE * values[0]).sum()) for _, values, _ in parts]
    bases = [part[0][:, :rank] for part, rank in zip(parts, ranks, strict=True)]
    if observations.n_cells > MAX_CELLS:
        return None
    totals, weights = cell_sums(observations.indices, observations.values, observations.shape)
    core = transformed(totals, bases)
    if (weights != 1).any():
        if core.size > MAX_CORE:
            return None
        gram = _gram(weights.astype(np.float64), bases)
        core = np.linalg.lstsq(gram, core.ravel(), rcond=NEGLIGIBLE)[0].reshape(core.shape)
    back = [part[2][:rank].T / part[1][:rank] for part, rank in zip(parts, ranks, strict=True)]
    return transformed(core, [matrix.T for matrix in back])


def balanced(factors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Give every component the same size in all modes, its products staying what they are."""
    sizes = np.stack([np.linalg.norm(rows, axis=0) for rows in factors])
    sizes = np.where(sizes > 0, sizes, 1.0)
    common = np.exp(np.log(sizes).mean(axis=0))
    return [rows * common / size for rows, size in zip(factors, sizes, strict=True)]


def transformed(array: np.ndarray, matrices: Sequence[np.ndarray]) -> np.ndarray:
    """Multiply every mode of an array by its matrix: rows go, columns come in their place."""
    for matrix in matrices:  # the first axis each time; after all of them the order is as before
        array = np.tensordot(array, matrix, (0, 0))
    return array


def _gram(weights: np.ndarray, bases: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum over cells of weight k k', k being the Kronecker product of their rows."""
    n_modes = len(bases)
    pairs = [np.einsum("ip,iq->ipq", rows, rows).reshape(len(rows), -1) for rows in bases]
    widths = [rows.shape[1] for rows in bases]
    sums = transformed(weights, pairs).reshape([width for width in widths for _ in range(2)])
    order = [*range(0, 2 * n_modes, 2), *range(1, 2 * n_modes, 2)]
    size = int(np.prod(widths))
    return sums.transpose(order).reshape(size, size)
