"""Fill the gaps of tables and arrays with several modes, and say how sure each value is.

The names below load on first use, so that `import vaecp` and `vaecp --help` are quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vaecp import datasets as datasets
    from vaecp import interop as interop
    from vaecp import metrics as metrics
    from vaecp import plots as plots
    from vaecp.completion import Completion as Completion
    from vaecp.completion import complete as complete
    from vaecp.formats import read as read
    from vaecp.models.cp import CPALS as CPALS
    from vaecp.models.cp import NCP as NCP
    from vaecp.models.fbcp import FBCP as FBCP
    from vaecp.models.inftucker import InfTucker as InfTucker
    from vaecp.models.tucker import HOSVD as HOSVD
    from vaecp.models.tucker import TuckerALS as TuckerALS
    from vaecp.models.vaecp import VAECP as VAECP
    from vaecp.observations import Observations as Observations
    from vaecp.prediction import Prediction as Prediction
    from vaecp.report import model_report as model_report
    from vaecp.store import load as load
    from vaecp.store import save as save

__version__ = "0.1.0"

_HOMES = {
    "VAECP": "vaecp.models.vaecp",
    "CPALS": "vaecp.models.cp",
    "NCP": "vaecp.models.cp",
    "HOSVD": "vaecp.models.tucker",
    "TuckerALS": "vaecp.models.tucker",
    "FBCP": "vaecp.models.fbcp",
    "InfTucker": "vaecp.models.inftucker",
    "Observations": "vaecp.observations",
    "Prediction": "vaecp.prediction",
    "Completion": "vaecp.completion",
    "complete": "vaecp.completion",
    "read": "vaecp.formats",
    "save": "vaecp.store",
    "load": "vaecp.store",
    "model_report": "vaecp.report",
}
_MODULES = ("datasets", "interop", "metrics", "plots")

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"vaecp.{name}")
    else:
        raise AttributeError(f"module 'vaecp' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
