"""How alike components are: Tucker's congruence, and pairs that cancel each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

DEGENERATE = -0.85
"""Two components whose congruence lies below this cancel each other."""

Factors = Sequence[np.ndarray]


@dataclass(frozen=True, eq=False)
class Match:
    """Which components of two decompositions belong together, and how alike they are.

    Attributes
    ----------
    order : the component of the second decomposition that belongs to each of the first.
    congruences : (modes, components), the absolute cosine of each pair in each mode.
    """

    order: np.ndarray
    congruences: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        """The congruence of each pair: the product over the modes."""
        return self.congruences.prod(axis=0)

    @property
    def worst(self) -> float:
        """The lowest congruence of any pair in any mode."""
        return float(self.congruences.min())


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the cosine of every column of one matrix with every column of another."""
    return _unit(first).T @ _unit(second)


def match(first: Factors, second: Factors) -> Match:
    """Pair the components of two decompositions of equal rank, so that congruence is largest.

    Both are lists of (rows, components), one matrix per mode that is compared.
    """
    each = np.abs([cosines(one, other) for one, other in zip(first, second, strict=True)])
    rows, order = linear_sum_assignment(-each.prod(axis=0))
    return Match(order, each[:, rows, order])


def triple_cosines(factors: Factors) -> np.ndarray:
    """Return the congruence of every component with every other, sign included."""
    return np.prod([cosines(rows, rows) for rows in factors], axis=0)


def degenerate_pairs(factors: Factors) -> list[tuple[int, int, float]]:
    """Return the pairs of components that cancel each other, with their congruence.

    Such components grow without bound while their sum stays finite: a sign of too many
    components, or of data that no sum of so many products fits best.
    """
    found = triple_cosines(factors)
    first, second = np.nonzero(np.triu(found < DEGENERATE, k=1))
    return [(int(a), int(b), float(found[a, b])) for a, b in zip(first, second, strict=True)]


def _unit(columns: np.ndarray) -> np.ndarray:
    sizes = np.linalg.norm(columns, axis=0)
    return columns / np.where(sizes > 0, sizes, 1.0)
