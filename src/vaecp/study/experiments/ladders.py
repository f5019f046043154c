"""Ladders: settings that differ in rank alone, tried upwards as long as that helps.

A large rank that overfits costs far more than the right one, so that a grid of ranks spends most of
its time where there is nothing to find, or ends before it finds anything. A ladder ends by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Settings = tuple[tuple[str, Any], ...]


def ladders(candidates: Sequence[Settings]) -> list[list[Settings]]:
    """Group settings that differ in rank alone, the smallest rank first.

    Examples
    --------
    >>> ladders([(("rank", 2),), (("rank", 1),), (("rank", 1), ("ridge", 1.0))])
    [[(('rank', 1),), (('rank', 2),)], [(('rank', 1), ('ridge', 1.0))]]
    """
    found: dict[Settings, list[Settings]] = {}
    for settings in candidates:
        rest = tuple(pair for pair in settings if pair[0] != "rank")
        found.setdefault(rest, []).append(settings)
    return [
        sorted(each, key=lambda settings: dict(settings).get("rank", 0)) for each in found.values()
    ]


def n_rungs(errors: Sequence[float | None], patience: int | None) -> int:
    """Return how many rungs of a ladder are tried, as far as it is known already.

    A ladder ends after `patience` rungs in a row that are no better than the best before them. Rungs
    count that will be tried whatever comes out of those that are not measured yet (None).

    Examples
    --------
    >>> n_rungs([0.9, 0.5, 0.6, None, None, None], patience=2)
    4
    >>> n_rungs([0.9, 0.5, 0.6, 0.7, None, None], patience=2)
    4
    """
    if patience is None:
        return len(errors)
    best, quiet = np.inf, 0
    for n, error in enumerate(errors):
        if error is None:
            return min(len(errors), n + patience - quiet)
        quiet = 0 if error < best else quiet + 1
        best = min(best, error)
        if quiet == patience:
            return n + 1
    return len(errors)
