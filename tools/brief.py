"""Make every fit short, so that the tests can run documentation which shows sensible settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import clone

from vaecp.models.cp.estimators import CPALS, NCP
from vaecp.models.fbcp.estimator import FBCP
from vaecp.models.inftucker.estimator import InfTucker
from vaecp.models.vaecp.estimator import VAECP

SMALL = {
    VAECP: {
        "rank": 3,
        "hidden": 4,
        "n_members": 1,
        "max_epochs": 2,
        "smooth": False,
        "neighbours": False,
    },
    FBCP: {"rank": 2, "max_iter": 5},
    CPALS: {"n_starts": 1, "max_iter": 5},
    NCP: {"n_starts": 1, "max_iter": 5},
    InfTucker: {"rank": 2, "max_iter": 2},
}
ENTRIES = {VAECP: 300, FBCP: 300, InfTucker: 300}
"""Fits see as many at most. Components of CP need them all to have any meaning."""


def shorten(replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """Cut the fits short; `replace` may be one that can be undone."""
    for method, settings in SMALL.items():
        replace(method, "_fit", _small(method._fit, settings, ENTRIES.get(method)))
    for method in (CPALS, NCP):
        replace(method, "every_start", _few_starts(method.every_start, SMALL[method]))


def _small(fit: Callable, settings: dict[str, Any], n_entries: int | None) -> Callable:
    def fit_small(self: Any, observations: Any, *others: Any) -> Any:
        given = {name: getattr(self, name) for name in settings}
        try:
            return fit(self.set_params(**settings), observations.take(slice(n_entries)), *others)
        finally:
            self.set_params(**given)

    return fit_small


def _few_starts(every_start: Callable, settings: dict[str, Any]) -> Callable:
    def starts(self: Any, observations: Any) -> Any:
        return every_start(clone(self).set_params(**settings), observations)

    return starts
