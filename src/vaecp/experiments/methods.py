"""The methods that are compared, by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vaecp.errors import VaecpError
from vaecp.models.base import TensorEstimator


class MethodError(VaecpError, ValueError):
    """A method that there is not."""


@dataclass(frozen=True)
class Method:
    """One column of a comparison.

    Attributes
    ----------
    build : makes an unfitted estimator from its settings.
    baseline : whether it is given FBCP's rank in the comparison as in the paper.
    weight : a rough cost per entry, which only decides what is started first.
    side_by_side : whether folds and repeats are fitted together.
    """

    build: Callable[..., TensorEstimator]
    baseline: bool = True
    weight: float = 1.0
    side_by_side: bool = False


def _class(module: str, name: str) -> Callable[..., TensorEstimator]:
    """Import the method on first use, so that naming it costs nothing."""

    def build(**settings: Any) -> TensorEstimator:
        return getattr(importlib.import_module(f"vaecp.models.{module}"), name)(**settings)

    return build


def _paper(**settings: Any) -> TensorEstimator:
    from vaecp.models.vaecp import VAECP

    return VAECP.paper(**settings)


METHODS = {
    "VAECP": Method(_class("vaecp", "VAECP"), baseline=False, weight=20.0, side_by_side=True),
    "VAECP.paper": Method(_paper, baseline=False, weight=30.0, side_by_side=True),
    "CPALS": Method(_class("cp", "CPALS"), weight=2.0),
    "NCP": Method(_class("cp", "NCP"), weight=3.0),
    "HOSVD": Method(_class("tucker", "HOSVD")),
    "TuckerALS": Method(_class("tucker", "TuckerALS")),
    "FBCP": Method(_class("fbcp", "FBCP"), weight=8.0),
    "InfTucker": Method(_class("inftucker", "InfTucker"), weight=10.0),
}


def method(name: str) -> Method:
    """Return a method by name.

    Examples
    --------
    >>> method("CPALS").build(rank=3)
    CPALS(rank=3)
    """
    if name not in METHODS:
        raise MethodError(f"there is no method {name!r}: use one of {', '.join(METHODS)}.")
    return METHODS[name]


def build(name: str, settings: Mapping[str, Any], seed: int) -> TensorEstimator:
    """Return an unfitted estimator."""
    return method(name).build(**settings, random_state=seed)
