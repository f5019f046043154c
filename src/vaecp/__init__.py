"""Fill the gaps of tables and arrays with several modes, and say how sure each value is.

The names below load on first use, so that `import vaecp` and `vaecp --help` are quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vaecp import datasets as datasets
    from vaecp.data.observations import Observations as Observations
    from vaecp.data.prediction import Prediction as Prediction
    from vaecp.formats import read as read
    from vaecp.formats.stored import scan as scan
    from vaecp.models.cp import constraints as constraints
    from vaecp.models.cp.estimators import CPALS as CPALS
    from vaecp.models.cp.estimators import NCP as NCP
    from vaecp.models.fbcp.estimator import FBCP as FBCP
    from vaecp.models.inftucker.estimator import InfTucker as InfTucker
    from vaecp.models.registry import Method as Method
    from vaecp.models.registry import register as register
    from vaecp.models.tucker.estimators import HOSVD as HOSVD
    from vaecp.models.tucker.estimators import TuckerALS as TuckerALS
    from vaecp.models.vaecp.estimator import VAECP as VAECP
    from vaecp.models.vaecp.recipe import Recipe as Recipe
    from vaecp.outcomes import diagnostics as diagnostics
    from vaecp.outcomes import eem as eem
    from vaecp.outcomes import interop as interop
    from vaecp.outcomes import metrics as metrics
    from vaecp.outcomes.completion import Completion as Completion
    from vaecp.outcomes.completion import complete as complete
    from vaecp.outcomes.store import load as load
    from vaecp.outcomes.store import save as save
    from vaecp.show import plots as plots
    from vaecp.show.report import model_report as model_report
    from vaecp.study import experiments as experiments

__version__ = "0.1.0"

_HOMES = {
    "VAECP": "vaecp.models.vaecp.estimator",
    "Recipe": "vaecp.models.vaecp.recipe",
    "CPALS": "vaecp.models.cp.estimators",
    "NCP": "vaecp.models.cp.estimators",
    "HOSVD": "vaecp.models.tucker.estimators",
    "TuckerALS": "vaecp.models.tucker.estimators",
    "FBCP": "vaecp.models.fbcp.estimator",
    "InfTucker": "vaecp.models.inftucker.estimator",
    "Method": "vaecp.models.registry",
    "register": "vaecp.models.registry",
    "Observations": "vaecp.data.observations",
    "Prediction": "vaecp.data.prediction",
    "Completion": "vaecp.outcomes.completion",
    "complete": "vaecp.outcomes.completion",
    "read": "vaecp.formats",
    "scan": "vaecp.formats.stored",
    "save": "vaecp.outcomes.store",
    "load": "vaecp.outcomes.store",
    "model_report": "vaecp.show.report",
}
_MODULES = {
    "constraints": "vaecp.models.cp.constraints",
    "datasets": "vaecp.datasets",
    "diagnostics": "vaecp.outcomes.diagnostics",
    "eem": "vaecp.outcomes.eem",
    "experiments": "vaecp.study.experiments",
    "interop": "vaecp.outcomes.interop",
    "metrics": "vaecp.outcomes.metrics",
    "plots": "vaecp.show.plots",
}

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    else:
        raise AttributeError(f"module 'vaecp' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
