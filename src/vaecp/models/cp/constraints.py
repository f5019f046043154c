"""What the rows of a mode may be: non-negative, unimodal, smooth, orthogonal, or known.

With the other modes held, the rows a_j of a mode minimise the sum of a_j' G_j a_j - 2 b_j' a_j,
where gaps alone make the Gram matrices G_j differ from row to row. A constraint is one class that
lowers this sum within its bounds. Where it acts on columns, one column at a time is solved for
with the others held: a weighted regression of the column on targets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solveh_banded
from sklearn.isotonic import isotonic_regression

from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

N_INNER = 10
"""Passes over the columns of a mode per sweep."""
TINY = 1e-12


class Constraint(ABC):
    """How the rows of one mode are found."""

    has_size: ClassVar[bool] = True
    """Whether columns keep to the constraint when they are multiplied by a number."""
    places_empty_rows: ClassVar[bool] = False
    """Whether a row without any entry has a place: between its neighbours, or where it is known."""

    @abstractmethod
    def update(
        self, gram: np.ndarray, right_hand: np.ndarray, rows: np.ndarray, sizes: np.ndarray
    ) -> np.ndarray:
        """Return rows that keep to the constraint, with no higher a sum than those given.

        `sizes` are the squared lengths of each component in all other modes together.
        """

    def penalty(self, rows: np.ndarray) -> np.ndarray:
        """Return what each component costs beside its errors, for other modes of length 1."""
        return np.zeros(rows.shape[1])

    def check(self, name: str, size: int, rank: int) -> None:  # noqa: B027
        """Refuse a mode or rank that the constraint cannot serve."""


class Free(Constraint):
    """No constraint: every row solves its own equations."""

    def update(
        self, gram: np.ndarray, right_hand: np.ndarray, rows: np.ndarray, sizes: np.ndarray
    ) -> np.ndarray:
        return _solved(gram, right_hand)


class _ByColumn(Constraint):
    @abstractmethod
    def column(self, target: np.ndarray, weight: np.ndarray, size: float) -> np.ndarray:
        """Return the column within the constraint that is nearest to its targets."""

    def update(
        self, gram: np.ndarray, right_hand: np.ndarray, rows: np.ndarray, sizes: np.ndarray
    ) -> np.ndarray:
        rows = np.array(rows)
        for _ in range(N_INNER):
            before = rows.copy()
            for place in range(rows.shape[1]):
                weight = gram[:, place, place]
                pull = right_hand[:, place] - np.einsum("js,js->j", gram[:, place], rows)
                # A row without entries has no target of its own: it stays where it is.
                target = rows[:, place] + pull / np.where(weight > 0, weight, 1.0)
                rows[:, place] = self.column(target, weight, float(sizes[place]))
            if np.abs(rows - before).max() <= 1e-9 * np.abs(rows).max():
                break
        return rows


@dataclass(frozen=True)
class NonNegative(_ByColumn):
    """No entry below zero, as concentrations and spectra are."""

    def column(self, target: np.ndarray, weight: np.ndarray, size: float) -> np.ndarray:
        return np.maximum(target, 0.0)


@dataclass(frozen=True)
class Unimodal(_ByColumn):
    """One peak: columns rise up to it and fall after it, as chromatograms do.

    The labels of the mode must be in order. Nothing is below zero unless `non_negative` is False.
    """

    non_negative: bool = True

    def column(self, target: np.ndarray, weight: np.ndarray, size: float) -> np.ndarray:
        found = unimodal_regression(target, np.maximum(weight, TINY * (weight.max() or 1.0)))
        return np.maximum(found, 0.0) if self.non_negative else found


@dataclass(frozen=True)
class Smooth(_ByColumn):
    """Little curvature from label to label, as in Whittaker's smoother.

    The cost of a component is `strength` times the sum of its squared second differences in this
    mode, times its squared lengths in the other modes: so it does not depend on how sizes lie
    between modes. The labels of the mode must be in order, and evenly spaced.
    """

    strength: float = 1.0
    places_empty_rows: ClassVar[bool] = True

    def column(self, target: np.ndarray, weight: np.ndarray, size: float) -> np.ndarray:
        weight = np.maximum(weight, TINY * (weight.max() or 1.0))
        bands = self.strength * max(size, TINY) * _second_differences(len(target))
        bands[-1] += weight
        return solveh_banded(bands, weight * target)

    def penalty(self, rows: np.ndarray) -> np.ndarray:
        return self.strength * np.sum(np.diff(rows, n=2, axis=0) ** 2, axis=0)

    def check(self, name: str, size: int, rank: int) -> None:
        if not self.strength > 0:
            raise ValueError(f"strength is {self.strength}: use a number above 0.")
        if size < 3:
            raise ObservationError(
                f"mode {name!r} has {size} labels: a smooth mode needs at least three."
            )


@dataclass(frozen=True)
class Orthogonal(Constraint):
    """Columns of length 1 at right angles to each other; sizes go to the other modes."""

    has_size: ClassVar[bool] = False

    def update(
        self, gram: np.ndarray, right_hand: np.ndarray, rows: np.ndarray, sizes: np.ndarray
    ) -> np.ndarray:
        # Above the sum lies another with one bound on all Gram matrices, whose minimum is known.
        bound = float(np.linalg.eigvalsh(gram)[:, -1].max()) or 1.0
        for _ in range(N_INNER):
            towards = bound * rows - np.einsum("jrs,js->jr", gram, rows) + right_hand
            left, _, right = np.linalg.svd(towards, full_matrices=False)
            rows = left @ right
        return rows

    def check(self, name: str, size: int, rank: int) -> None:
        if size < rank:
            raise ObservationError(
                f"mode {name!r} has {size} labels, too few for {rank} orthogonal components: use "
                f"at most {size}, or another constraint."
            )


@dataclass(frozen=True, eq=False)
class Fixed(Constraint):
    """Known columns, such as spectra that were measured alone; NaN columns are found.

    Parameters
    ----------
    values : (labels, components), in the order of the mode's labels.
    """

    values: Any
    has_size: ClassVar[bool] = False
    places_empty_rows: ClassVar[bool] = True

    def update(
        self, gram: np.ndarray, right_hand: np.ndarray, rows: np.ndarray, sizes: np.ndarray
    ) -> np.ndarray:
        known = np.asarray(self.values, dtype=np.float64)
        free = np.isnan(known).any(axis=0)
        if not free.any():
            return known.copy()
        found = np.where(free, 0.0, known)
        rest = right_hand - np.einsum("jrs,js->jr", gram, found)
        found[:, free] = _solved(gram[:, free][:, :, free], rest[:, free])
        return found

    def check(self, name: str, size: int, rank: int) -> None:
        shape = np.shape(self.values)
        if shape != (size, rank):
            raise ObservationError(
                f"the known rows of mode {name!r} are {shape}: give ({size}, {rank}), one row per "
                "label and one column per component, NaN where a component is not known."
            )


WORDS: dict[str, Constraint] = {
    "non-negative": NonNegative(),
    "unimodal": Unimodal(),
    "smooth": Smooth(),
    "orthogonal": Orthogonal(),
}


def per_mode(given: Any, observations: Observations, rank: int) -> list[Constraint] | None:
    """Return a constraint per mode, or None where there are none.

    `given` is a word or a constraint for all modes, or a mapping from modes, by name or number.
    """
    if given is None:
        return None
    names = observations.mode_names
    wanted = given if isinstance(given, Mapping) else dict.fromkeys(range(len(names)), given)
    found: list[Constraint] = [Free() for _ in names]
    for mode, constraint in wanted.items():
        place = names.index(mode) if mode in names else mode
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(names):
            raise ObservationError(
                f"there is no mode {mode!r} to constrain: use {', '.join(map(repr, names))}, or "
                "numbers from 0."
            )
        found[place] = _constraint(constraint)
        found[place].check(names[place], observations.shape[place], rank)
    return found


def _constraint(given: Any) -> Constraint:
    if isinstance(given, Constraint):
        return given
    if isinstance(given, str) and given in WORDS:
        return WORDS[given]
    raise ObservationError(
        f"the constraint {given!r} is not known: use one of {', '.join(map(repr, WORDS))}, or an "
        "object of vaecp.constraints, such as Fixed(spectra)."
    )


def unimodal_regression(target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the unimodal sequence nearest to the targets (Stout, 2008).

    The errors of the best rising fit to every beginning, and of the best falling fit to every
    end, tell where the peak is.
    """
    rising = _prefix_errors(target, weight)
    falling = _prefix_errors(target[::-1], weight[::-1])[::-1]
    split = int(np.argmin(rising + falling))
    sides = ((True, slice(split)), (False, slice(split, None)))
    return np.concatenate(
        [
            isotonic_regression(target[part], sample_weight=weight[part], increasing=increasing)
            for increasing, part in sides
            if len(target[part])
        ]
    )


def _prefix_errors(target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the error of the best rising fit to the first 0, 1, 2 ... targets.

    Pool adjacent violators: neighbouring blocks whose means fall become one.
    """
    errors, blocks, total = np.zeros(len(target) + 1), [], 0.0
    for place, (value, heavy) in enumerate(zip(target.tolist(), weight.tolist(), strict=True)):
        mean, mass = value, heavy
        while blocks and blocks[-1][0] >= mean:
            other, others = blocks.pop()
            total += mass * others / (mass + others) * (mean - other) ** 2
            mean, mass = (mass * mean + others * other) / (mass + others), mass + others
        blocks.append((mean, mass))
        errors[place + 1] = total
    return errors


@cache
def _second_differences(size: int) -> np.ndarray:
    """Return D'D of the second differences, as the upper bands that SciPy takes."""
    differences = np.diff(np.eye(size), n=2, axis=0)
    square = differences.T @ differences
    bands = np.zeros((3, size))
    for offset in range(3):
        bands[2 - offset, offset:] = np.diagonal(square, offset)
    return bands


def _solved(gram: np.ndarray, right_hand: np.ndarray) -> np.ndarray:
    rank = gram.shape[-1]
    # Rounding alone can make a Gram of collinear columns indefinite by this much.
    jitter = 4 * rank * np.finfo(np.float64).eps * np.trace(gram, axis1=1, axis2=2)
    jitter += np.finfo(np.float64).tiny
    return np.linalg.solve(gram + jitter[:, None, None] * np.eye(rank), right_hand[..., None])[
        ..., 0
    ]
