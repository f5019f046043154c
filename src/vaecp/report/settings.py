"""What it takes to repeat a fit: settings and versions."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from vaecp import __version__
from vaecp.models.base import TensorEstimator

PACKAGES = ("jax", "numpy", "scipy", "scikit-learn", "tensorly", "plotly")


def settings_of(model: TensorEstimator) -> list[tuple[str, str]]:
    """Return every parameter of the estimator, and how the fit ended."""
    chosen = _chosen(model)
    rows = [
        (name, f"{chosen[name]}, chosen by the method" if name in chosen else _text(value))
        for name, value in sorted(model.get_params(deep=False).items())
    ]
    for attribute, words in (
        ("n_iter_", "steps that were run"),
        ("converged_", "converged"),
        ("rank_", "rank that was found"),
    ):
        if hasattr(model, attribute):
            rows.append((words, _text(getattr(model, attribute))))
    return rows


def versions() -> list[tuple[str, str]]:
    """Return the versions of this library and of what it computes with."""
    rows = [("vaecp", __version__), ("Python", platform.python_version())]
    for package in PACKAGES:
        try:
            rows.append((package, version(package)))
        except PackageNotFoundError:  # optional
            continue
    return [*rows, ("machine", f"{platform.system()} {platform.machine()}")]


def code_to_repeat(model: TensorEstimator) -> str:
    """Return Python that fits such a model again."""
    return (
        "import vaecp\n\n"
        'observations = vaecp.read("your data")  # or vaecp.Observations.from_table(...)\n'
        f"model = vaecp.{model!r}\n"
        "result = vaecp.complete(observations, model)"
    )


def _chosen(model: TensorEstimator) -> dict[str, int]:
    """Return what the method took where it was left to choose, as far as its results show it."""
    left_open = {name for name, value in model.get_params(deep=False).items() if value is None}
    found = {}
    widths = {factor.shape[1] for factor in getattr(model, "factors_", None) or ()}
    if len(widths) == 1:
        found["rank"] = widths.pop()
    history = getattr(model, "history_", {})
    if "member" in history:
        found["n_members"] = len(set(history["member"]))
    return {name: value for name, value in found.items() if name in left_open}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "chosen by the method" if value is None else str(value)
