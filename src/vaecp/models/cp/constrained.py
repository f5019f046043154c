"""A sweep of alternating least squares in which every mode keeps to its constraint."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from vaecp.models.cp.constraints import Constraint
from vaecp.models.multilinear.equations import EntryLayout, Factors, normal_equations
from vaecp.models.multilinear.sweeps import Sweep, sum_of_squares

_equations = partial(jax.jit, static_argnames="mode")(normal_equations)


def constrained_sweep(
    layout: EntryLayout, constraints: Sequence[Constraint], shape: tuple[int, ...], ridge: float
) -> Sweep:
    """Return the function that improves the rows of every mode once, within their constraints."""

    def sweep(factors: Factors) -> tuple[Factors, jax.Array]:
        padded = [len(rows) for rows in factors]
        rows = [np.asarray(each)[:size] for each, size in zip(factors, shape, strict=True)]
        gram = right_hand = None
        for mode, constraint in enumerate(constraints):
            gram, right_hand = _equations(layout, _padded(rows, padded), mode=mode)
            own = np.asarray(gram)[: shape[mode]]
            own = own + np.diag(ridge + _penalties(constraints, rows, mode))
            rows[mode] = constraint.update(
                own, np.asarray(right_hand)[: shape[mode]], rows[mode], _sizes(rows, mode)
            )
        last = _padded(rows, padded)[-1]
        value = sum_of_squares(layout, last, gram, right_hand)
        rows = _balanced(rows, constraints)
        penalty = ridge * sum(float(np.sum(each**2)) for each in rows)
        for mode, constraint in enumerate(constraints):
            penalty += float(constraint.penalty(rows[mode]) @ _sizes(rows, mode))
        return _padded(rows, padded), value + penalty

    return sweep


def feasible(start: list[np.ndarray], constraints: Sequence[Constraint]) -> list[np.ndarray]:
    """Return rows near a start that keep to the constraints."""
    found = []
    for rows, constraint in zip(start, constraints, strict=True):
        rank = rows.shape[1]
        ones = np.broadcast_to(np.eye(rank), (len(rows), rank, rank))
        found.append(constraint.update(ones, rows, rows, np.ones(rank)))
    return found


def _sizes(rows: Sequence[np.ndarray], *without: int) -> np.ndarray:
    """Return the squared length of each component in all modes but these."""
    found = np.ones(rows[0].shape[1])
    for mode, each in enumerate(rows):
        if mode not in without:
            found = found * np.sum(each**2, axis=0)
    return found


def _penalties(
    constraints: Sequence[Constraint], rows: Sequence[np.ndarray], mode: int
) -> np.ndarray:
    """Return what the constraints of the other modes cost per squared length in this one."""
    found = np.zeros(rows[0].shape[1])
    for other, constraint in enumerate(constraints):
        if other != mode:
            found += constraint.penalty(rows[other]) * _sizes(rows, mode, other)
    return found


def _balanced(rows: list[np.ndarray], constraints: Sequence[Constraint]) -> list[np.ndarray]:
    """Give a component the same size in every mode that may have any, where the ridge is least."""
    movable = [mode for mode, constraint in enumerate(constraints) if constraint.has_size]
    lengths = {mode: np.linalg.norm(rows[mode], axis=0) for mode in movable}
    alive = np.all([length > 0 for length in lengths.values()], axis=0)
    if len(movable) < 2 or not alive.any():
        return rows
    logs = [np.log(np.where(alive, length, 1.0)) for length in lengths.values()]
    common = np.exp(np.mean(logs, axis=0))
    for mode, length in lengths.items():
        rows[mode] = rows[mode] * np.where(alive, common / np.where(alive, length, 1.0), 1.0)
    return rows


def _padded(rows: Sequence[np.ndarray], sizes: Sequence[int]) -> Factors:
    return tuple(
        jnp.asarray(np.pad(each, ((0, size - len(each)), (0, 0))))
        for each, size in zip(rows, sizes, strict=True)
    )
