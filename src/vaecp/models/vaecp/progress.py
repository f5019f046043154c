"""How far a whole fit is, in percent of the time that it takes about, and what it is doing.

How long the search goes on is not known before it ends. What fits have taken so far says so roughly: the
number of trainings tells short ones, and multiplications tell long ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from vaecp.models.vaecp.effort import Effort

OnProgress = Callable[[int, int, str], None]
"""Told the steps done, how many there are about, and what is being done."""

TRAININGS, OF_BUDGET = 45, 0.6
"""What a normal search takes: so many stretches of training, and this share of its budget."""
SEARCHING, SEARCHING_ALONE = 0.55, 0.9
"""Shares of a fit that the search takes, with networks to be tried after it and without."""
TRAINED, JUDGED = 0.9, 0.97
"""Shares after which networks are trained, and members judged."""


def part_of(on_progress: OnProgress | None, first: float, last: float) -> OnProgress | None:
    """Return what tells of a stretch of the fit, as the part of the whole from one share to another."""
    if on_progress is None:
        return None

    def told(done: int, total: int, doing: str) -> None:
        share = first + (last - first) * done / max(total, 1)
        on_progress(round(100 * share), 100, doing)

    return told


@dataclass
class Progress:
    """Tells whoever watches; never that less is done than before."""

    watcher: OnProgress | None
    effort: Effort
    n_entries: int
    searching: float = SEARCHING_ALONE  # share of the fit
    reached: float = 0.0
    started: float = 0.0

    def at(self, share: float, doing: str) -> None:
        """Say which share of the fit is over."""
        self.reached = max(self.reached, min(share, 0.99))
        if self.watcher is not None:
            self.watcher(round(100 * self.reached), 100, f"% {doing}")

    def searched(self, n_trainings: int, spent: float, error: float | None) -> None:
        """Say how far the search is, and the lowest held-out error so far, in standard deviations."""
        self.started = self.started or time.monotonic()
        share = (n_trainings / TRAININGS + spent / (OF_BUDGET * self._budget)) / 2
        if self.effort.seconds is not None:
            share = (time.monotonic() - self.started) / self.effort.seconds
        told = "" if error is None else f", error {error:.3g} std"
        self.at(self.searching * min(share, 1.0), f"searching{told}")

    def part(self, first: float, last: float, doing: str) -> OnProgress:
        """Return what tells of a loop that takes the fit from one share to another."""

        def told(done: int, total: int, unit: str) -> None:
            self.at(first + (last - first) * done / max(total, 1), doing)

        return told

    @property
    def _budget(self) -> float:
        return self.effort.budget(self.n_entries)
