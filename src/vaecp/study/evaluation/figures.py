"""What intervals hold against what they promise, by the kind of gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from vaecp.data.gaps import Kind
from vaecp.outcomes.metrics import LEVELS
from vaecp.runtime.extras import require
from vaecp.study.evaluation.tables import METHOD
from vaecp.study.experiments import PUBLISHED

KINDS = (*get_args(Kind), PUBLISHED)
MARKERS = "osv^Dx+*<>Ph"


def reliability_figure(records: Sequence[dict[str, Any]]) -> Any | None:
    """Draw a panel per kind of gaps, in it a line per tensor: VAECP with its defaults.

    Points are medians over splits, shares and modes. None where no run says what intervals held.
    """
    found = by_kind_and_tensor(records)
    if not found:
        return None
    tensors = sorted({tensor for lines in found.values() for tensor in lines})
    figure = require("matplotlib.figure", "plots", "the figures").Figure(
        figsize=(4 * min(len(found), 3), 4.2 * -(-len(found) // 3)), layout="constrained"
    )
    panels = figure.subplots(-(-len(found) // 3), min(len(found), 3), squeeze=False).ravel()
    for ax, (kind, lines) in zip(panels, found.items(), strict=False):
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
        for tensor, shares in lines.items():
            place = tensors.index(tensor)
            ax.plot(
                LEVELS,
                shares,
                marker=MARKERS[place % len(MARKERS)],
                markersize=4,
                linewidth=1,
                color=f"C{place % 10}",
                label=tensor,
            )
        ax.set(title=kind, xlabel="an interval promises", ylabel="and holds", aspect="equal")
        ax.legend(fontsize=7)
    for ax in panels[len(found) :]:
        ax.set_visible(False)
    return figure


def by_kind_and_tensor(
    records: Sequence[dict[str, Any]],
) -> dict[str, dict[str, np.ndarray]]:
    """Return the median share that the intervals of VAECP hold at each level."""
    shares: dict[str, dict[str, list[list[float]]]] = {kind: {} for kind in KINDS}
    for record in records:
        if record["method"] == METHOD and not record["settings"] and record.get("calibration"):
            kind = record["gaps"].partition(":")[0]
            shares[kind].setdefault(record["dataset"], []).append(record["calibration"])
    return {
        kind: {tensor: np.median(lists, axis=0) for tensor, lists in tensors.items()}
        for kind, tensors in shares.items()
        if tensors
    }
