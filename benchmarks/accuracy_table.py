"""The runs of `accuracy.py` as Markdown: one line per tensor, gaps and method."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
from tasks import GAPS, SPLITS

NAMES = {
    "VAECP": "VAECP",
    "paper": "VAECP.paper()",
    "CPALS": "masked CP",
    "FBCP": "FBCP",
    "SMURFF": "SMURFF",
    "mean": "mean",
}


def table(rows: list[dict]) -> str:
    """Medians over splits (means over the folds of alog), each method at its best settings."""
    lines = [
        "| tensor | hidden | method | settings | splits | RMSE | ratio to the best other | NLL | CRPS "
        "| inside 50 % | 90 % | 95 % | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows = latest(rows)
    for dataset in SPLITS:
        for gaps in GAPS:
            chosen = [row for row in rows if (row["dataset"], row["gaps"]) == (dataset, gaps)]
            lines += _lines(dataset, gaps, chosen)
    return "\n".join(lines)


def latest(rows: list[dict]) -> list[dict]:
    """Of runs that differ in the version of the library alone, keep the last."""
    names = ("method", "dataset", "gaps", "split", "settings", "seed")
    return list({json.dumps([row[name] for name in names]): row for row in rows}.values())


def best_settings(rows: list[dict]) -> dict[str, list[dict]]:
    """Per method the runs at the settings with the lowest middle RMSE on the test entries."""
    groups: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for row in rows:
        if row["seed"] == 0:
            groups[row["method"], json.dumps(row["settings"])].append(row)
    most = {
        method: max(len(group) for (name, _), group in groups.items() if name == method)
        for method in {name for name, _ in groups}
    }
    best: dict[str, list[dict]] = {}
    for (method, _), group in groups.items():
        if len(group) < most[method]:  # settings that were tried on fewer splits do not compare
            continue
        if method not in best or middle(group, "rmse") < middle(best[method], "rmse"):
            best[method] = group
    return best


def middle(runs: list[dict], name: str) -> float:
    values = [np.nan if run[name] is None else run[name] for run in runs]
    return float(np.mean(values) if runs[0]["dataset"] == "alog" else np.median(values))


def _lines(dataset: str, gaps: str, rows: list[dict]) -> list[str]:
    best = best_settings(rows)
    lines = []
    for method, name in NAMES.items():
        if method not in best:
            continue
        runs = best[method]
        others = [middle(best[other], "rmse") for other in best if other not in (method, "paper")]
        ratio = f"{middle(runs, 'rmse') / min(others):.3f}" if others else ""
        cells = [
            dataset,
            "published folds" if dataset == "alog" else gaps,
            name,
            ", ".join(f"{key} {value}" for key, value in runs[0]["settings"].items()) or "defaults",
            str(len(runs)),
            f"{middle(runs, 'rmse'):.4g}",
            ratio,
            *(_number(middle(runs, score), ".3g") for score in ("nll", "crps")),
            *(_number(100 * middle(runs, f"coverage_{level}"), ".1f") for level in (50, 90, 95)),
            f"{middle(runs, 'seconds'):.3g} ({runs[-1]['device']})",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _number(value: float, form: str) -> str:
    return f"{value:{form}}" if np.isfinite(value) else ""
