"""The main job on real data that ships with TensorLy: a drug-response tensor with gaps.

Eight kinds of immune cells answered to thirteen variants of interleukin 2, at twelve
doses and four times (Orcutt-Jahns et al., 2021). Two variants were never measured at the
earliest time, so two whole dose x cell panels are missing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vaecp import datasets
from vaecp.data.observations import Observations
from vaecp.errors import FormatError
from vaecp.formats import write_frame
from vaecp.models.base import TensorEstimator
from vaecp.outcomes.completion import Completion, fill
from vaecp.runtime.extras import require
from vaecp.runtime.files import write_figure

CELL = "Treg"
TIME = 0.5


@dataclass(frozen=True)
class DemoResult:
    """What the demo measured on entries that the model did not see.

    Attributes
    ----------
    completion : every entry; the hidden ones count as observed, since they were measured.
    hidden : the entries that were kept from the model to check it.
    """

    completion: Completion
    hidden: Observations
    rmse: dict[str, float]
    coverage: float
    seconds: float


def interleukin() -> Observations:
    """Return the response tensor, with the names that its modes have in TensorLy."""
    return replace(datasets.load("il2"), mode_names=("ligands", "times", "doses", "cells"))


def run(model: TensorEstimator, rivals: dict[str, TensorEstimator], seed: int = 0) -> DemoResult:
    """Hide a tenth of the observed entries, fit on the rest, and fill every gap."""
    observations = interleukin()
    training, held_out = observations.split(0.1, random_state=seed)
    started = time.perf_counter()
    fitted = model.fit_tensor(training)
    completion = fill(fitted, observations)
    seconds = time.perf_counter() - started
    prediction = fitted.predict_at(held_out.indices)
    low, high = prediction.interval(0.9)
    rmse = {
        type(model).__name__: _rmse(prediction.mean, held_out),
        **{
            name: _rmse(rival.fit_tensor(training).predict_at(held_out.indices).mean, held_out)
            for name, rival in rivals.items()
        },
        "the mean": _rmse(training.values.mean(), held_out),
    }
    inside = (low <= held_out.values) & (held_out.values <= high)
    return DemoResult(completion, held_out, rmse, float(inside.mean()), seconds)


def check_folder(folder: Path) -> None:
    """Say before any work whether the results can be drawn and written there."""
    if folder.exists() and not folder.is_dir():
        raise FormatError(f"{folder}: is a file, but the demo writes into a folder: name another.")
    require("matplotlib", "plots", "the picture of the demo")


def write_results(result: DemoResult, folder: Path) -> list[Path]:
    """Write the completed table and one picture, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    table, picture = folder / "interleukin.csv", folder / "interleukin.png"
    write_frame(to_frame(result), table)
    return [table, write_figure(picture, _draw(result.completion))]


def to_frame(result: DemoResult) -> pd.DataFrame:
    """Return one row per entry, with `hidden` beside `observed`."""
    frame = result.completion.to_frame()
    hidden = np.zeros(result.completion.observations.shape, dtype=bool)
    hidden[tuple(result.hidden.indices.T)] = True
    frame.insert(frame.columns.get_loc("observed") + 1, "hidden", hidden.ravel())  # type: ignore[operator]
    return frame


def _rmse(mean: Any, held_out: Observations) -> float:
    return float(np.sqrt(np.mean((mean - held_out.values) ** 2)))


def _draw(completion: Completion) -> Any:
    """Draw ligands x doses for one cell and time: observed, filled, and how unsure."""
    figure = require("matplotlib.figure", "plots", "the picture of the demo").Figure(
        figsize=(13, 4.6), layout="constrained"
    )
    observations = completion.observations
    ligands, times, doses, cells = observations.labels
    at = (slice(None), list(times).index(TIME), slice(None), list(cells).index(CELL))
    panels: list[tuple[str, np.ndarray, str]] = [
        ("observed (grey: never measured)", observations.to_array()[at], "viridis"),
        ("filled", completion.filled[at], "viridis"),
        ("standard deviation", completion.std[at], "magma"),
    ]
    axes = figure.subplots(1, 3, sharey=True)
    limits = (np.nanmin(panels[1][1]), np.nanmax(panels[1][1]))
    for ax, (title, values, colours) in zip(axes, panels, strict=True):
        low, high = limits if colours == "viridis" else (0, None)
        image = ax.imshow(values, aspect="auto", cmap=colours, vmin=low, vmax=high)
        ax.set_facecolor("lightgrey")
        ax.set_title(title)
        ax.set_xlabel("dose")
        ax.set_xticks(range(len(doses)), [f"{dose:.2g}" for dose in doses], rotation=90)
        figure.colorbar(image, ax=ax)
    axes[0].set_yticks(range(len(ligands)), ligands)
    figure.suptitle(f"Response of {CELL} cells at time {TIME}")
    return figure
