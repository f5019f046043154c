"""What is compared, and with which settings.

VAECP has its defaults. Of its rivals every setting listed here is run, and the table takes the
one that is best *on the test entries*: an advantage that VAECP does not have.
"""

from __future__ import annotations

from typing import Any

from vaecp.study.evaluation.tensors import SUBJECTS
from vaecp.study.experiments import settings_of

RANKS = (2, 5, 10, 20, 40, 80)
METHODS = (
    "VAECP",
    "CPALS",
    "FBCP",
    "SMURFF",
    "LightGBM",
    "row effects",
    "linear interpolation",
    "cubic interpolation",
    "mean",
)


def settings(method: str, dataset: str) -> list[tuple[tuple[str, Any], ...]]:
    """Return what a method is tried with on a tensor: nothing where it chooses for itself."""
    tried: dict[str, list[dict[str, Any]]] = {
        "CPALS": [{"rank": rank} for rank in RANKS]
        + [{"rank": rank, "ridge": ridge} for rank in RANKS for ridge in (0.03, 1.0)],
        "FBCP": [{"rank": rank} for rank in (20, 40)],
        "SMURFF": [{"rank": rank} for rank in (4, 16, 64)],
        "LightGBM": [{"leaves": leaves} for leaves in (31, 127)],
        "row effects": [{"ridge": ridge} for ridge in (0.1, 1.0, 10.0)],
        "linear interpolation": [{"mode": mode} for mode in SUBJECTS[dataset].ordered],
        "cubic interpolation": [{"mode": mode} for mode in SUBJECTS[dataset].ordered],
    }
    return [settings_of(**given) for given in tried.get(method, [{}])]
