"""Tucker models of an array with gaps, which the model fills itself until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from tensorly.base import unfold
from tensorly.tenalg import multi_mode_dot  # pyright: ignore[reportAttributeAccessIssue]

from vaecp.models.multilinear.starts import leading_vectors
from vaecp.runtime.progress import steps

N_STAGES = 20
"""The most ranks that are tried on the way to the full one."""

FILLINGS_PER_STAGE = 10


class TuckerModel(NamedTuple):
    """A Tucker model of a full array."""

    core: np.ndarray
    bases: list[np.ndarray]

    def array(self) -> np.ndarray:
        return multi_mode_dot(self.core, self.bases)


def higher_order_svd(
    array: np.ndarray, ranks: Sequence[int], before: TuckerModel | None = None, ridge: float = 0.0
) -> TuckerModel:
    """Project on the leading left singular vectors of every unfolding."""
    bases = [leading_vectors(unfold(array, mode), rank)[0] for mode, rank in enumerate(ranks)]
    return _with_core(array, bases, ridge)


def _with_core(array: np.ndarray, bases: list[np.ndarray], ridge: float) -> TuckerModel:
    """Return the model whose core minimises the squared error plus `ridge` times its square.

    Bases are orthonormal, so that the core is the projection, divided by 1 + ridge.
    """
    return TuckerModel(multi_mode_dot(array, bases, transpose=True) / (1 + ridge), bases)


def orthogonal_iteration(
    array: np.ndarray, ranks: Sequence[int], before: TuckerModel | None, ridge: float = 0.0
) -> TuckerModel:
    """Improve the basis of every mode in turn, the others held fixed."""
    if before is None:
        return higher_order_svd(array, ranks, ridge=ridge)
    bases = list(before.bases)
    for mode, rank in enumerate(ranks):
        projected = multi_mode_dot(array, bases, skip=mode, transpose=True)
        bases[mode] = leading_vectors(unfold(projected, mode), rank)[0]
    return _with_core(array, bases, ridge)


Improve = Callable[[np.ndarray, Sequence[int], TuckerModel | None, float], TuckerModel]


class Filling(NamedTuple):
    """The last model, the penalised sum of squares after every filling, the last change."""

    model: TuckerModel
    history: list[float]
    change: float


def fill_growing(
    improve: Improve,
    array: np.ndarray,
    known: np.ndarray,
    ranks: Sequence[int],
    max_iter: int,
    tol: float,
    ridge: float = 0.0,
) -> Filling:
    """Fill the gaps with models of growing rank, and at the full rank until nothing changes.

    From gaps at the mean, a large rank would fit the mean in the gaps as well, and take
    thousands of fillings to forget it; a small rank cannot.
    """
    largest = max(ranks)
    gaps = np.zeros(array.shape)
    if not known.all():
        for stage in np.unique(np.linspace(1, largest, min(largest, N_STAGES)).astype(int))[:-1]:
            small = [min(int(stage), rank) for rank in ranks]
            model = fill_until_settled(
                improve, array, known, small, FILLINGS_PER_STAGE, tol, gaps, ridge
            ).model
            gaps = model.array()
    return fill_until_settled(improve, array, known, ranks, max_iter, tol, gaps, ridge)


def fill_until_settled(
    improve: Improve,
    array: np.ndarray,
    known: np.ndarray,
    ranks: Sequence[int],
    max_iter: int,
    tol: float,
    gaps: np.ndarray,
    ridge: float = 0.0,
) -> Filling:
    """Put the reconstruction into the gaps until its root-mean-square change is below `tol`.

    Gaps are filled a little beyond the last step, as long as the fit improves.
    """
    model = improve(np.where(known, array, gaps), ranks, None, ridge)
    previous = model.array()
    history = [_misfit(previous, array, known) + ridge * float(np.sum(model.core**2))]
    filled, momentum, change = previous, 0.5, np.inf
    for _ in steps(max_iter - 1, "fillings"):
        proposal = improve(np.where(known, array, filled), ranks, model, ridge)
        reconstruction = proposal.array()
        misfit = _misfit(reconstruction, array, known) + ridge * float(np.sum(proposal.core**2))
        if misfit > history[-1] and filled is not previous:
            filled, momentum = previous, momentum / 2
            continue
        step = reconstruction - previous
        change = float(np.sqrt(np.mean(step**2)))
        model, previous = proposal, reconstruction
        history.append(misfit)
        if change <= tol:
            break
        filled, momentum = reconstruction + momentum * step, min(1.0, 1.1 * momentum)
    return Filling(model, history, change)


def _misfit(reconstruction: np.ndarray, array: np.ndarray, known: np.ndarray) -> float:
    return float(np.sum(np.where(known, reconstruction - array, 0.0) ** 2))
