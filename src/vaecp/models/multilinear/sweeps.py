"""Alternating descent over the rows of a CP model: sweeps, and when to stop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vaecp.models.multilinear.equations import EntryLayout, Factors, normal_equations, padded_size
from vaecp.runtime.progress import steps

FLOOR = 1e-12
"""Where non-negative rows end: an exact zero could never grow again by multiplication."""


class Descended(NamedTuple):
    """The end of one start: rows, the objective after every accepted sweep, convergence."""

    factors: Factors
    history: list[float]
    converged: bool


Sweep = Callable[[Factors], tuple[Factors, jax.Array]]


@jax.jit
def least_squares_sweep(
    layout: EntryLayout, factors: Factors, ridge: jax.Array
) -> tuple[Factors, jax.Array]:
    """Solve for the rows of every mode in turn; return the penalised sum of squares."""
    rows, rank = list(factors), factors[0].shape[1]
    gram = right_hand = None
    for mode in range(len(rows)):
        gram, right_hand = normal_equations(layout, tuple(rows), mode)
        # Rounding alone can make a Gram of collinear columns indefinite by this much.
        jitter = 4 * rank * jnp.finfo(gram.dtype).eps * jnp.trace(gram, axis1=1, axis2=2)
        diagonal = (ridge + jitter + jnp.finfo(gram.dtype).tiny)[:, None, None] * jnp.eye(rank)
        factor = jax.scipy.linalg.cho_factor(gram + diagonal, lower=True)
        rows[mode] = jax.scipy.linalg.cho_solve(factor, right_hand[..., None])[..., 0]
    penalty = ridge * sum(jnp.sum(row**2) for row in rows)
    return tuple(rows), sum_of_squares(layout, rows[-1], gram, right_hand) + penalty


@jax.jit
def balance(factors: Factors, ridge: jax.Array) -> tuple[Factors, jax.Array]:
    """Give a component the same size in every mode; return by how much the penalty falls.

    The sizes can be moved between modes without any change to the products, and equal sizes
    have the least penalty. Sweeps alone would take hundreds of steps to get there.
    """
    sizes = [jnp.sqrt(jnp.sum(rows**2, axis=0)) for rows in factors]
    common = jnp.exp(sum(jnp.log(size) for size in sizes) / len(sizes))
    # A component that vanishes somewhere is no component: it is left as it is.
    scales = [jnp.where(common > 0, common / size, 1.0) for size in sizes]
    moved = tuple(rows * scale for rows, scale in zip(factors, scales, strict=True))
    before, after = (sum(jnp.sum(rows**2) for rows in each) for each in (factors, moved))
    return moved, ridge * (before - after)


@partial(jax.jit, static_argnames="n_inner")
def multiplicative_sweep(
    layout: EntryLayout, factors: Factors, ridge: jax.Array, n_inner: int
) -> tuple[Factors, jax.Array]:
    """Multiply the rows of every mode in turn by b / (G a + ridge a), `n_inner` times each."""
    rows = [jnp.maximum(factor, FLOOR) for factor in factors]
    gram = right_hand = None
    for mode in range(len(rows)):
        gram, right_hand = normal_equations(layout, tuple(rows), mode)

        def multiply(_: int, row: jax.Array, gram=gram, right_hand=right_hand) -> jax.Array:
            towards = jnp.einsum("jrs,js->jr", gram, row) + ridge * row
            return jnp.maximum(row * right_hand / (towards + FLOOR), FLOOR)

        rows[mode] = jax.lax.fori_loop(0, n_inner, multiply, rows[mode])
    penalty = ridge * sum(jnp.sum(row**2) for row in rows)
    return tuple(rows), sum_of_squares(layout, rows[-1], gram, right_hand) + penalty


def sum_of_squares(layout: EntryLayout, row: jax.Array, gram: Any, right_hand: Any) -> jax.Array:
    """Return the squared errors, from the equations that the rows of one mode solve."""
    explained = 2 * jnp.sum(row * right_hand) - jnp.einsum("jr,jrs,js->", row, gram, row)
    return jnp.maximum(layout.square - explained, 0.0)


@jax.jit
def _extrapolate(now: Factors, before: Factors, momentum: jax.Array) -> Factors:
    return tuple(n + momentum * (n - b) for n, b in zip(now, before, strict=True))


def descend(sweep: Sweep, start: Factors, max_iter: int, tol: float) -> Descended:
    """Repeat sweeps until the objective's relative change is below `tol`.

    Each sweep starts a little beyond the last step, as long as that lowers the objective;
    otherwise it is taken back and repeated without (Ang, Cohen, Hien and Gillis, 2020).
    """
    current, origin, history = start, start, [np.inf]
    momentum, plain, converged = 0.5, True, False
    for _ in steps(max_iter, "sweeps"):
        proposal, value = sweep(origin)
        value = float(value)
        change = history[-1] - value
        if change < 0 and not plain:
            origin, momentum, plain = current, momentum / 2, True
            continue
        if change >= 0:
            origin, plain = _extrapolate(proposal, current, jnp.asarray(momentum)), False
            current, momentum = proposal, min(1.0, 1.1 * momentum)
            history.append(value)
        if change <= tol * value or value == 0:
            converged = True
            break
    return Descended(current, history[1:], converged)


def best_descent(sweep: Sweep, starts: list[Factors], max_iter: int, tol: float) -> Descended:
    """Run a tenth of the sweeps from every start, and the rest from the best of them."""
    if len(starts) == 1:
        return descend(sweep, starts[0], max_iter, tol)
    trial = max(1, max_iter // 10)
    trials = [descend(sweep, start, trial, tol) for start in starts]
    best = min(trials, key=lambda descent: descent.history[-1])
    if best.converged or trial == max_iter:
        return best
    rest = descend(sweep, best.factors, max_iter - trial, tol)
    return rest._replace(history=best.history + rest.history)


def on_device(factors: list[np.ndarray]) -> Factors:
    """Pad the rows of every mode as the layouts are padded."""
    return tuple(
        jnp.asarray(np.pad(factor, ((0, padded_size(len(factor)) - len(factor)), (0, 0))))
        for factor in factors
    )
