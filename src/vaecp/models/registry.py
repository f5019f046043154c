"""The one list of methods: what each is called, where it lives, and what it can do.

The command line, its completion, experiments, plots, the report, model files and the tests read
this list; a new method is one entry. Naming a method imports nothing heavy: its module is loaded
when it is built.

A package of another author adds its methods with an entry point in the group `vaecp.plugins`:
a module that calls `register` when it is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vaecp.errors import VaecpError
from vaecp.runtime.plugins import load_plugins

if TYPE_CHECKING:
    from vaecp.models.base import TensorEstimator

OTHER_COLOUR = "#444444"


class MethodError(VaecpError, ValueError):
    """A method that there is not."""


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes
    ----------
    name : what it is called, everywhere; that of its class, by which model files find it.
    home : its class or a function that builds it, or "module:attribute", which is imported late.
    colour : of its lines and boxes.
    quick : settings of a short fit, for tests.
    takes_rank : whether `rank` is one of its settings, and can be chosen by cross-validation.
    chooses_rank : whether it chooses a rank by itself where none is given.
    baseline : whether it is given FBCP's rank in the comparison as in the paper.
    compared : whether `compare` includes it without being asked.
    cost : a rough cost per entry, which only decides what is started first.
    aliases : other names that a person may type, in lower case.
    """

    name: str
    home: str | Callable[..., TensorEstimator]
    colour: str = OTHER_COLOUR
    quick: Mapping[str, Any] = field(default_factory=dict)
    takes_rank: bool = True
    chooses_rank: bool = False
    baseline: bool = True
    compared: bool = True
    cost: float = 1.0
    aliases: tuple[str, ...] = ()

    def load(self) -> Any:
        """Return what `home` is or names."""
        if not isinstance(self.home, str):
            return self.home
        module, _, attribute = self.home.partition(":")
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found

    def build(self, **settings: Any) -> TensorEstimator:
        """Return an unfitted estimator."""
        return self.load()(**settings)


_METHODS: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Add a method, in place of an earlier one of its name.

    Commands, comparisons, plots, the report and model files know it from then on.
    """
    _METHODS[method.name] = method
    return method


def methods() -> dict[str, Method]:
    """Return all methods by name, those of plug-ins last."""
    load_plugins()
    return dict(_METHODS)


def find(name: str) -> Method:
    """Return a method by its name, in any case, or by an alias.

    Examples
    --------
    >>> find("parafac").build(rank=3)
    CPALS(rank=3)
    """
    known = methods()
    wanted = name.strip()
    if wanted in known:
        return known[wanted]
    for method in known.values():
        if wanted.lower() in (method.name.lower(), *method.aliases):
            return method
    raise MethodError(f"there is no method {name!r}: use one of {', '.join(known)}.")


def build(name: str, settings: Mapping[str, Any], seed: int) -> TensorEstimator:
    """Return an unfitted estimator."""
    return find(name).build(**settings, random_state=seed)


register(
    Method(
        "VAECP",
        "vaecp.models.vaecp.estimator:VAECP",
        colour="#0072B2",
        quick={"effort": "quick"},
        chooses_rank=True,
        baseline=False,
        cost=10.0,
    )
)
register(
    Method(
        "VAECP.paper",
        "vaecp.models.vaecp.estimator:VAECP.paper",
        colour="#56B4E9",
        quick={"max_epochs": 10},
        baseline=False,
        compared=False,  # as published it trains too slowly to compete
        cost=30.0,
    )
)
register(
    Method(
        "CPALS",
        "vaecp.models.cp.estimators:CPALS",
        colour="#D55E00",
        quick={"max_iter": 80},
        cost=2.0,
        aliases=("parafac", "cp", "cp-als", "candecomp"),
    )
)
register(
    Method(
        "NCP",
        "vaecp.models.cp.estimators:NCP",
        colour="#E69F00",
        quick={"max_iter": 80},
        cost=3.0,
    )
)
register(
    Method(
        "HOSVD",
        "vaecp.models.tucker.estimators:HOSVD",
        colour="#009E73",
        quick={"max_iter": 80},
    )
)
register(
    Method(
        "TuckerALS",
        "vaecp.models.tucker.estimators:TuckerALS",
        colour="#F0E442",
        quick={"max_iter": 80},
        aliases=("tucker", "tucker-als", "hooi"),
    )
)
register(
    Method(
        "FBCP",
        "vaecp.models.fbcp.estimator:FBCP",
        colour="#CC79A7",
        quick={"max_iter": 80, "n_starts": 2},
        cost=8.0,
    )
)
register(
    Method(
        "InfTucker",
        "vaecp.models.inftucker.estimator:InfTucker",
        colour="#999999",
        quick={"max_iter": 8},
        cost=10.0,
    )
)
