"""Alternating descent over the rows of a CP model: sweeps, starts and when to stop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from vaecp.multilinear import EntryLayout, Factors, normal_equations, padded
from vaecp.observations import Observations
from vaecp.progress import steps

FLOOR = 1e-12
"""Where non-negative rows end: an exact zero could never grow again by multiplication."""

MAX_DENSE_UNFOLDING = 1 << 24


class Descent(NamedTuple):
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
    return tuple(rows), _sum_of_squares(layout, rows[-1], gram, right_hand) + penalty


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
    return tuple(rows), _sum_of_squares(layout, rows[-1], gram, right_hand) + penalty


def _sum_of_squares(layout: EntryLayout, row: jax.Array, gram: Any, right_hand: Any) -> jax.Array:
    explained = 2 * jnp.sum(row * right_hand) - jnp.einsum("jr,jrs,js->", row, gram, row)
    return jnp.maximum(layout.square - explained, 0.0)


@jax.jit
def _extrapolate(now: Factors, before: Factors, momentum: jax.Array) -> Factors:
    return tuple(n + momentum * (n - b) for n, b in zip(now, before, strict=True))


def descend(sweep: Sweep, start: Factors, max_iter: int, tol: float) -> Descent:
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
    return Descent(current, history[1:], converged)


def best_descent(sweep: Sweep, starts: list[Factors], max_iter: int, tol: float) -> Descent:
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


# ---- starts ----------------------------------------------------------------------------


def random_start(
    shape: tuple[int, ...], rank: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Draw rows whose products have about the variance of standardised values."""
    scale = rank ** (-0.5 / len(shape))
    return [scale * random.normal(size=(size, rank)) for size in shape]


def singular_start(
    observations: Observations, rank: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Take the left singular vectors of the unfoldings, unknown entries being the mean, 0.

    Columns beyond a mode's size stay random.
    """
    factors = random_start(observations.shape, rank, random)
    seed = int(random.integers(2**31))
    for mode, size in enumerate(observations.shape):
        vectors = _leading_vectors(_unfolding(observations, mode), rank, seed)
        scale = np.sqrt(size) * rank ** (-0.5 / observations.n_modes)
        factors[mode][:, : vectors.shape[1]] = scale * vectors
    return factors


def _unfolding(observations: Observations, mode: int) -> Any:
    """Return the entries as a matrix with the rows of one mode, 0 where unknown."""
    columns = np.zeros(len(observations), dtype=np.int64)
    width = 1
    for other, size in enumerate(observations.shape):
        if other == mode:
            continue
        columns, width = columns * size + observations.indices[:, other], width * size
        if width > MAX_DENSE_UNFOLDING:  # many modes would overflow: number what is there
            columns = np.unique(columns, return_inverse=True)[1].ravel()
            width = int(columns.max()) + 1
    rows, size = observations.indices[:, mode], observations.shape[mode]
    matrix = sparse.coo_array((observations.values, (rows, columns)), shape=(size, width))
    return matrix.toarray() if size * width <= MAX_DENSE_UNFOLDING else matrix.tocsr()


def _leading_vectors(matrix: Any, rank: int, seed: int) -> np.ndarray:
    width = min(rank, *matrix.shape)
    if matrix.shape[0] > 1_000:
        return randomized_svd(matrix, width, random_state=seed)[0]
    gram = matrix @ matrix.T
    gram = gram.toarray() if sparse.issparse(gram) else gram
    return np.linalg.eigh(gram)[1][:, ::-1][:, :width]


def on_device(factors: list[np.ndarray]) -> Factors:
    """Pad the rows of every mode as the layouts are padded."""
    return tuple(
        jnp.asarray(np.pad(factor, ((0, padded(len(factor)) - len(factor)), (0, 0))))
        for factor in factors
    )
