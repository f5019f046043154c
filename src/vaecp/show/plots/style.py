"""What all plots share: colours, axes, and labels as places on an axis.

Colours are Okabe and Ito's, which readers with any colour vision can tell apart; lines differ
by dashes or markers too, so that they survive a print in grey.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vaecp.data.labels import are_quantities
from vaecp.models import registry
from vaecp.runtime.extras import require

BLUE, ORANGE = "#0072B2", "#D55E00"
MARKERS = "osD^vP*X"
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", ":", "-.")
MAX_TICKS = 20
WIDE_RANGE = 200.0
"""Positive labels that span more than this factor, such as doses, get a logarithmic axis."""


def colour_of(name: str) -> str:
    """Return the colour of a method, or of anything else that is drawn beside methods."""
    method = registry.methods().get(name)
    return registry.OTHER_COLOUR if method is None else method.colour


def axes(ax: Any) -> Any:
    """Return the axes to draw on: a new figure's where none are given."""
    if ax is not None:
        return ax
    figure = require("matplotlib.figure", "plots", "a plot").Figure(layout="constrained")
    return figure.subplots()


def places(labels: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return where labels stand on an axis, and whether that is a scale."""
    labels = np.asarray(labels)
    numeric = are_quantities(labels)
    return (labels if numeric else np.arange(len(labels))), numeric


def show_labels(axis: Any, labels: np.ndarray, **look: Any) -> None:
    """Write labels at the places 0, 1, 2 ...: all of few, some of many."""
    step = -(-len(labels) // MAX_TICKS)
    shown = range(0, len(labels), step)
    texts = [_text(labels[place]) for place in shown]
    # A dollar sign would start a formula.
    axis.set_ticks(list(shown), [text.replace("$", r"\$") for text in texts], **look)


def is_logarithmic(labels: np.ndarray) -> bool:
    """Whether numbers are better spread by factors."""
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iuf" or len(labels) < 4 or labels.min() <= 0:
        return False
    return bool(labels.max() / labels.min() > WIDE_RANGE)


def _text(label: Any) -> str:
    return f"{label:.4g}" if isinstance(label, float | np.floating) else str(label)
