"""Patterns of gaps: which observed entries to hold out, so that they lie as real gaps lie.

Most patterns cut the observed entries into units (cells, fibres, slabs or blocks) and hold out
whole units at random, until about the wanted share of the entries is held out. Repeated
measurements of a cell are always held out together.

>>> tensor = Observations.from_array(np.ones((4, 5, 6)))
>>> mask = held_out(GapPattern("fibres", (2,), share=0.3), tensor, np.random.default_rng(0))
>>> int(mask.sum()), int(mask.reshape(20, 6).all(axis=1).sum())
(36, 6)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
import pandas as pd

from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

Kind = Literal["scattered", "fibres", "slabs", "blocks", "moved"]

BLOCK_SHARE = 0.25
"""A block is this long, as a share of the rows of each mode that it lies along."""
LEAST_DENSITY = 0.2
"""Below this share of observed cells, a moved pattern of gaps hides nearly all of a row."""
LEAST_ENTRIES = 2
"""Fibres and slabs with fewer entries on average are no other than scattered cells."""
MOST_TRIES = 20


@dataclass(frozen=True)
class GapPattern:
    """How held-out entries lie.

    Parameters
    ----------
    kind : "scattered" cells; whole "fibres"; "slabs", all entries of a row of a mode; "blocks" of
        consecutive rows; or "moved", where the tensor's own gaps lie after its rows are permuted.
    modes : for fibres the mode that they run along; for slabs the mode whose rows are held out;
        for blocks the ordered modes that they extend along (in others they have one row); for
        moved gaps the ordered modes, whose rows are shifted in a circle, so that neighbouring
        gaps stay neighbours.
    share : of the entries that is held out; for moved gaps the largest share.
    length : how many consecutive rows a slab or block has along its modes, one number for all or one
        each; None is 1 for slabs, and a quarter of the rows for blocks.
    """

    kind: Kind = "scattered"
    modes: tuple[int, ...] = ()
    share: float = 0.2
    length: int | tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ObservationError(
                f"the kind of gaps is {self.kind!r}: use one of {', '.join(get_args(Kind))}."
            )
        if not 0 < self.share < 1:
            raise ObservationError(f"share is {self.share}: use a number between 0 and 1.")
        if not self.modes and self.kind in ("fibres", "slabs", "blocks"):
            raise ObservationError(f"{self.kind} need a mode: write {self.kind}:0, for example.")

    @classmethod
    def parse(cls, text: str, share: float = 0.2, mode_names: Sequence[str] = ()) -> Self:
        """Read what `str` writes; modes may also be named.

        Examples
        --------
        >>> str(GapPattern.parse("blocks:1,week", mode_names=["user", "item", "week"]))
        'blocks:1,2'
        """
        kind, _, listed = text.partition(":")
        modes = []
        for name in (part.strip() for part in listed.split(",") if listed):
            if name not in mode_names and not name.isdecimal():
                known = f" or names of modes ({', '.join(mode_names)})" if mode_names else ""
                raise ObservationError(
                    f"gaps are {text!r}, but {name!r} is no mode: use numbers{known}, such as "
                    "fibres:2."
                )
            modes.append(mode_names.index(name) if name in mode_names else int(name))
        return cls(kind.strip(), tuple(modes), share)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return self.kind + (f":{','.join(map(str, self.modes))}" if self.modes else "")

    def words(self, mode_names: Sequence[str]) -> str:
        """Name the pattern for a person.

        Examples
        --------
        >>> GapPattern("slabs", (1,)).words(["user", "item", "week"])
        'slabs of item'
        """
        named = " and ".join(mode_names[mode] for mode in self.modes)
        return {
            "scattered": f"scattered, {100 * self.share:.3g} %",
            "fibres": f"fibres along {named}",
            "slabs": f"slabs of {named}",
            "blocks": f"blocks along {named}",
            "moved": "moved gaps",
        }[self.kind]


def patterns_for(
    observations: Observations, ordered: Sequence[bool], share: float = 0.2
) -> tuple[GapPattern, ...]:
    """Return the patterns that a tensor can show, each one different from the others.

    Parameters
    ----------
    ordered : per mode, whether the order of its rows means something, as of wavelengths.
    """
    along = tuple(mode for mode, has_order in enumerate(ordered) if has_order)
    asked = [GapPattern("fibres", (mode,), share) for mode in range(observations.n_modes)]
    if observations.n_modes > 2:  # of a matrix, a slab is a fibre
        asked += [GapPattern("slabs", (mode,), share) for mode in range(observations.n_modes)]
    found = [GapPattern("scattered", (), share)]
    for pattern in asked:
        n_units = int(_units(pattern, observations).max()) + 1
        if 2 <= n_units <= len(observations) / LEAST_ENTRIES:
            found.append(pattern)
    if along:
        found.append(GapPattern("blocks", along, share))
    n_observed = int(_units(found[0], observations).max()) + 1
    if LEAST_DENSITY <= n_observed / observations.n_cells < 1:
        found.append(GapPattern("moved", along, share))
    return tuple(found)


def held_out(
    pattern: GapPattern, observations: Observations, random: np.random.Generator
) -> np.ndarray:
    """Return a mask of the entries that are held out; at least one is, and one is not."""
    mask = _mask(pattern, observations, random)
    if mask is None:
        raise ObservationError(
            f"the observed entries are one unit of the pattern {str(pattern)!r}, which cannot be "
            "held out and trained on: use another pattern."
        )
    return mask


def _mask(
    pattern: GapPattern, observations: Observations, random: np.random.Generator
) -> np.ndarray | None:
    """Return a mask of the entries that are held out; None where they are one unit."""
    _check_modes(pattern, observations)
    if pattern.kind == "moved":
        return _moved(pattern, observations, random)
    units = _units(pattern, observations, random)
    chosen = _drawn(units, np.bincount(units), pattern.share, random)
    return None if chosen is None else chosen[units]


def held_out_by(
    patterns: Sequence[GapPattern], observations: Observations, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return per entry which pattern holds it out, by its place in `patterns`, and the unit it is in.

    The place is -1 where no pattern holds an entry out. Units of several patterns may cross: their
    common entries count for the earlier pattern, and no entry of a chosen unit is left to train on.
    A pattern of which the entries are one unit holds nothing out.
    """
    place, unit = np.full(len(observations), -1, dtype=np.int8), np.zeros(len(observations), int)
    for number, pattern in enumerate(patterns):
        _check_modes(pattern, observations)
        units = _units(pattern, observations, random)
        chosen = _drawn(units, np.bincount(units), pattern.share, random)
        if chosen is not None:
            mask = chosen[units] & (place < 0)
            place[mask], unit[mask] = number, units[mask] + unit.max() + 1
    return place, unit


def fold_numbers(
    pattern: GapPattern, observations: Observations, n_folds: int, random: np.random.Generator
) -> np.ndarray:
    """Return the fold of every entry, from 0; units are never cut. Moved gaps have scattered folds."""
    _check_modes(pattern, observations)
    pattern = GapPattern() if pattern.kind == "moved" else pattern
    units = _units(pattern, observations, random)
    n_units = int(units.max()) + 1
    if not 2 <= n_folds <= n_units:
        raise ObservationError(
            f"n_folds is {n_folds}: use 2 to {n_units}, the number of units of the pattern "
            f"{str(pattern)!r} among the observed entries."
        )
    return (random.permutation(n_units) % n_folds)[units]


def _units(
    pattern: GapPattern, observations: Observations, random: np.random.Generator | None = None
) -> np.ndarray:
    """Number the unit of every entry; `random` places the borders of blocks."""
    columns = list(enumerate(zip(observations.indices.T, observations.shape, strict=True)))
    if pattern.kind == "fibres":
        return _numbered(pair for mode, pair in columns if mode not in pattern.modes)
    if pattern.kind in ("slabs", "blocks") and random is not None:
        for place, mode in enumerate(pattern.modes):
            rows, size = columns[mode][1]
            length = _length(pattern, place, size)
            columns[mode] = (mode, ((rows + random.integers(length)) // length, size + 1))
    if pattern.kind == "slabs":
        return _numbered(pair for mode, pair in columns if mode in pattern.modes)
    return _numbered(pair for _, pair in columns)


def _length(pattern: GapPattern, place: int, n_rows: int) -> int:
    """Return how many rows a unit has along the mode that stands at this place."""
    if isinstance(pattern.length, tuple):
        return pattern.length[place]
    return pattern.length or (1 if pattern.kind == "slabs" else max(round(BLOCK_SHARE * n_rows), 1))


def _numbered(columns: Iterable[tuple[np.ndarray, int]]) -> np.ndarray:
    """Number equal rows of these columns alike, from 0, in the order of their first entries."""
    keys, n_keys = np.zeros(1, dtype=np.int64), 1
    for column, size in columns:
        if n_keys > 2**62 // size:  # more cells than 64 bits can number: number those that occur
            keys = pd.factorize(keys)[0]
            n_keys = len(keys)
        keys, n_keys = keys * size + column, n_keys * size
    return pd.factorize(keys)[0]


def _drawn(
    units: np.ndarray, counts: np.ndarray, share: float, random: np.random.Generator
) -> np.ndarray | None:
    """Choose units at random until about a share of the entries is counted; None if there is one."""
    if len(counts) < 2:
        return None
    order = random.permutation(len(counts))
    reached = np.cumsum(counts[order])
    wanted = round(share * len(units))
    n_chosen = int(np.argmin(np.abs(reached - wanted))) + 1
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[order[: min(n_chosen, len(counts) - 1)]] = True
    return chosen


def _moved(
    pattern: GapPattern, observations: Observations, random: np.random.Generator
) -> np.ndarray:
    """Hold out the entries that lie where gaps come to lie when rows are permuted.

    Where these are more than the wanted share, some rows of the longest mode are taken.
    """
    for _ in range(MOST_TRIES):
        moved = _gaps_after_moving(pattern.modes, observations, random)
        if moved.mean() > pattern.share:
            rows = observations.indices[:, int(np.argmax(observations.shape))]
            counts = np.bincount(rows, weights=moved)
            chosen = _drawn(rows, counts, pattern.share, random)
            moved &= chosen[rows] if chosen is not None else False
        if 0 < moved.sum() < len(moved):
            return moved
    raise ObservationError(
        "moving the gaps of the tensor hides no observed entry (has it any gaps?): use another "
        "pattern."
    )


def _gaps_after_moving(
    ordered: tuple[int, ...], observations: Observations, random: np.random.Generator
) -> np.ndarray:
    """Return which observed cells are gaps once rows are permuted (or shifted, where ordered)."""
    columns = []
    for mode, (rows, size) in enumerate(
        zip(observations.indices.T, observations.shape, strict=True)
    ):
        new = (
            np.roll(np.arange(size), random.integers(size))
            if mode in ordered
            else random.permutation(size)
        )
        columns.append((np.concatenate([rows, new[rows]]), size))
    before, after = np.split(_numbered(columns), 2)
    return after > before.max()  # cells that were not seen among the observed ones


def _check_modes(pattern: GapPattern, observations: Observations) -> None:
    if max(pattern.modes, default=0) >= observations.n_modes:
        raise ObservationError(
            f"gaps are {str(pattern)!r}, but the tensor has {observations.n_modes} modes: use 0 to "
            f"{observations.n_modes - 1}."
        )
