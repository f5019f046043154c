"""What it takes to repeat a fit: settings and versions."""

from __future__ import annotations

import platform
from typing import Any

from vaecp.models.base import TensorEstimator
from vaecp.runtime.versions import versions

PACKAGES = ("jax", "numpy", "scipy", "scikit-learn", "tensorly", "plotly")


def settings_shown(model: TensorEstimator) -> list[tuple[str, str]]:
    """Return every parameter of the estimator, and how the fit ended."""
    went = model.diagnostics_
    rows = [
        (name, _text(value, went.found.get(name)))
        for name, value in sorted(model.get_params(deep=False).items())
    ]
    if "likelihood_reason" in went.found:
        rows.append(("why this likelihood", str(went.found["likelihood_reason"])))
    if went.n_iter:
        rows.append(("steps that were run", str(went.n_iter)))
    if went.converged is not None:
        rows.append(("converged", _text(went.converged)))
    rank = getattr(model, "effective_rank_", None)
    if rank is not None:
        low, high = getattr(model, "effective_rank_range_", (rank, rank))
        likely = f" (90 % likely {low} to {high})" if low < high else ""
        rows.append(("components above the noise", f"{rank}{likely}"))
    if "features" in went.found:
        rows.append(("features of rows", str(went.found["features"])))
    return rows


def versions_shown() -> list[tuple[str, str]]:
    """Return the versions of this library and of what it computes with, and the machine."""
    return [*versions(*PACKAGES).items(), ("machine", f"{platform.system()} {platform.machine()}")]


def code_to_repeat(model: TensorEstimator, source: str | None = None) -> str:
    """Return Python that fits such a model again; `source` is the code that reads the data."""
    home, own = type(model).__module__, type(model).__module__.startswith("vaecp.")
    return (
        f"import vaecp\n{'' if own else f'from {home} import {type(model).__name__}'}\n"
        f"observations = {source or '...  # the entries that this model was fitted to'}\n"
        f"model = {'vaecp.' if own else ''}{model!r}\n"
        "result = vaecp.complete(observations, model)"
    )


def _text(value: Any, found: Any = None) -> str:
    if value is None:
        return "chosen by the method" if found is None else f"{found}, chosen by the method"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if found in (None, value) else f"{value}; the method found {found}"
