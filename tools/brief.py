"""Make every fit short, so that the tests can run documentation which shows sensible settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vaecp.models.cp import CPALS, NCP
from vaecp.models.fbcp import FBCP
from vaecp.models.inftucker import InfTucker
from vaecp.models.tucker import HOSVD
from vaecp.models.vaecp import VAECP

SMALL = {
    VAECP: {
        "rank": 3,
        "hidden": 4,
        "n_members": 1,
        "max_epochs": 2,
        "cp_start": 0.0,
        "smooth": False,
        "neighbours": False,
        "finish": 0.0,
    },
    FBCP: {"rank": 2, "max_iter": 5},
    InfTucker: {"rank": 2, "max_iter": 2},
}
ENTRIES = 300
"""All fits see as many, so that VAECP is compiled once per shape of tensor."""


def shorten(replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """Cut the fits short; `replace` may be one that can be undone."""
    for method, settings in SMALL.items():
        replace(method, "_fit_standardised", _small(method._fit_standardised, settings))

    for method in (CPALS, NCP):
        replace(method, "_fit_standardised", _tucker)


def _tucker(self: Any, observations: Any, random: Any) -> Any:
    """Stand in for masked CP, whose programs would be compiled for each set of entries."""
    return HOSVD(rank=2, max_iter=3, tol=1.0)._fit_standardised(observations, random)


def _small(fit: Callable, settings: dict[str, Any]) -> Callable:
    def fit_small(self: Any, observations: Any, random: Any) -> Any:
        given = {name: getattr(self, name) for name in settings}
        try:
            return fit(self.set_params(**settings), observations.take(slice(ENTRIES)), random)
        finally:
            self.set_params(**given)

    return fit_small
