"""The figures of the paper, and one of its recipe while it trains."""

from __future__ import annotations

from typing import Any

from vaecp.runtime.extras import require
from vaecp.show.plots import plot_rank_curve, plot_rmse_boxes, plot_training
from vaecp.study.experiments import BEST, CHOICE, PAPER
from vaecp.study.experiments.results import Table
from vaecp.study.experiments.tables import repeats
from vaecp.study.reproduction.study import REAL, SYNTHETIC, Study

COMPARISONS = {PAPER: "baselines at FBCP's rank", BEST: "every method at its best rank"}


def figures(frame: Table, histories: list[dict[str, Any]], study: Study) -> dict[str, Any]:
    """Return the figures that there are results for, by file name."""
    names = [name for name in (*SYNTHETIC, *REAL) if name in set(frame["dataset"])]
    found: dict[str, Any] = {}
    synthetic = [name for name in names if name in SYNTHETIC]
    if synthetic:
        found["figure-2-synthetic.png"] = _boxes(frame, synthetic, "Synthetic tensors", study)
    for number, name in enumerate(REAL, start=3):
        if name in names:
            found[f"figure-{number}-{name}.png"] = _boxes(frame, [name], name.capitalize(), study)
    found["figure-6-rank.png"] = _ranks(frame, synthetic, names, study)
    measured = [record for record in histories if "history" in record]
    if measured:
        found["figure-7-training.png"] = _training(measured, study)
    return found


def _boxes(frame: Table, names: list[str], title: str, study: Study) -> Any:
    """Draw one row per comparison, one column per tensor."""
    figure = _figure(5 * max(len(names), 1.4), 8)
    panels = figure.subplots(2, len(names), squeeze=False)
    reported = repeats(frame)
    for row, (comparison, words) in zip(panels, COMPARISONS.items(), strict=True):
        for ax, name in zip(row, names, strict=True):
            ax.set_title(f"{name}: {words}")
            here = (reported["dataset"] == name) & (reported["comparison"] == comparison)
            if here.any():
                plot_rmse_boxes(reported[here], ax)
    return _titled(figure, f"{title}: RMSE of held-out entries", study)


def _ranks(frame: Table, synthetic: list[str], names: list[str], study: Study) -> Any:
    """Draw VAECP's curve over the folds, a panel per real tensor, one for the synthetic ones."""
    curves = frame[(frame["comparison"] == CHOICE) & (frame["method"] == "VAECP")]
    groups = [synthetic] * bool(synthetic) + [[name] for name in names if name not in synthetic]
    figure = _figure(4.5 * max(len(groups), 1.5), 4.5)
    for ax, group in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups, strict=True):
        ax.set_title("synthetic" if group is synthetic else group[0])
        here = curves["dataset"].isin(group) & curves["rmse"].notna()
        if here.any():
            plot_rank_curve(curves[here], ax)
    return _titled(
        figure, "VAECP: error against rank (folds of the first split's training entries)", study
    )


def _training(measured: list[dict[str, Any]], study: Study) -> Any:
    """Draw the readings of the recipe that change nothing but rate and length."""
    plain = [
        r for r in measured if not {"recipe__kl_weight", "recipe__scale_from"} & set(r["settings"])
    ]
    plain = plain or measured
    figure = _figure(5 * max(len(plain), 1), 4.5)
    axes = figure.subplots(1, len(plain), squeeze=False)[0]
    for ax, record in zip(axes, plain, strict=True):
        history = record["history"]
        plot_training(history["elbo"], history["validation_rmse"], ax)
        ax.set_title(f"{record['dataset']}, rate {record['settings']['learning_rate']:g}")
    return _titled(figure, "VAECP.paper(): evidence bound and error while it trains", study)


def _figure(width: float, height: float) -> Any:
    figure = require("matplotlib.figure", "plots", "the figures").Figure
    return figure(figsize=(width, height), layout="constrained")


def _titled(figure: Any, title: str, study: Study) -> Any:
    figure.suptitle(f"{title}\n({study.note})" if study.note else title)
    return figure
