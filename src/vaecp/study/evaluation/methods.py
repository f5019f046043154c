"""What is compared, and with which settings.

VAECP has its defaults. Of its rivals every setting listed here is run, and the table takes the
one that is best *on the test entries*: an advantage that VAECP does not have.
"""

from __future__ import annotations

from typing import Any

from vaecp.study.evaluation.tensors import SUBJECTS
from vaecp.study.experiments import settings_of
from vaecp.study.experiments.protocol import Settings

RANKS = (10, 40, 20, 5, 80, 2)
RIDGES = ({}, {"ridge": 0.03}, {"ridge": 1.0})
METHODS = (
    "VAECP",
    "CPALS",
    "smooth CP",
    "CP with neighbours",
    "FBCP",
    "SMURFF",
    "LightGBM",
    "Gaussian process",
    "smoothing spline",
    "linear interpolation",
    "cubic interpolation",
    "row effects",
    "mean",
)
LARGE = ("sugar",)
"""Tensors on which Gibbs sampling takes half an hour with ranks that others have in a minute."""
VAST = ("beijing", "movielens", "movielens-week", "alog")
"""Tensors that are nearly empty, whose grids are no place for a dense method."""


def settings(method: str, dataset: str, most: int | None = None) -> list[Settings]:
    """Return what a method is tried with on a tensor: nothing where it chooses for itself.

    The list is empty where a method has nothing to stand on: interpolation without an order. It begins
    with middling ranks; `most` keeps so many.
    """
    ordered = SUBJECTS[dataset].ordered
    along = [{"mode": mode} for mode in ordered]
    samples = {"burn_in": 50, "samples": 100} if dataset in LARGE else {}
    tried: dict[str, list[dict[str, Any]]] = {
        "CPALS": [{"rank": rank, "center": "values"} | r for r in RIDGES for rank in RANKS],
        "FBCP": [{"rank": 40}],
        "SMURFF": [{"rank": rank} | samples for rank in (24, 10, 60, 4)],
        "LightGBM": [{"leaves": leaves} for leaves in (31, 127)],
        "row effects": [{"ridge": ridge} for ridge in (0.1, 1.0, 10.0)],
        "linear interpolation": along,
        "cubic interpolation": along,
        "smoothing spline": along,
        "smooth CP": [
            {"rank": rank, "strength": strength}
            for strength in (0.01, 1.0)
            for rank in (20, 10, 5)
            if ordered
        ],
        "CP with neighbours": [
            {"rank": rank} | ridge for ridge in RIDGES[:2] for rank in RANKS if ordered
        ],
        "Gaussian process": [
            {"kernel": kernel} for kernel in ("matern", "rbf") if ordered and dataset not in VAST
        ],
    }
    return [settings_of(**given) for given in tried.get(method, [{}])][:most]


WITHOUT_BOTH = {"smooth": False, "neighbours": False}
BY_GRADIENTS = {"recipe__sweeps": False, "recipe__network": True}
NETWORK_ALONE = BY_GRADIENTS | {"recipe__multilinear": False, "recipe__weight_precision": 0.0}
PUBLISHED = WITHOUT_BOTH | NETWORK_ALONE | {"recipe__prior": "shared"}
ABLATION: dict[str, dict[str, Any]] = {
    "as it is": {},
    "without smooth rows": {"smooth": False},
    "without neighbours": {"neighbours": False},
    "without smooth rows and neighbours": WITHOUT_BOTH,
    "without a network": {"recipe__network": False},
    "with a network": {"recipe__network": True},
    "without sweeps: product and network by gradients": BY_GRADIENTS,
    "without the multilinear path: networks alone": NETWORK_ALONE,
    "one member": {"n_members": 1},
    "published decoder by our recipe": PUBLISHED,
    "published decoder by our recipe, one member": PUBLISHED | {"n_members": 1},
}
"""What is left out of VAECP, by what the table calls it."""
