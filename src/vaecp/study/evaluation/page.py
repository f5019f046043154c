"""The table of gaps as Markdown."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from vaecp.study.evaluation.tables import (
    CELL,
    INTERVALS,
    METHOD,
    MOST_RATIO,
    at_best,
    failing,
    gaps_in_words,
)
from vaecp.study.evaluation.tensors import SHARE, is_aside
from vaecp.study.experiments import PUBLISHED, markdown
from vaecp.study.experiments.results import Table
from vaecp.study.experiments.runs import SCATTERED
from vaecp.study.experiments.tables import code_in_words, failed_runs
from vaecp.study.rivals.published import FIGURES

HOW = """\
Middle values over splits: medians, and means over published folds. RMSE, trimmed RMSE (without the
worst hundredth of the entries), MAE and CRPS are in standard deviations of the training entries.
VAECP has its defaults. Every rival has those of the settings tried that have the lowest RMSE *on the
hidden entries*, an advantage that VAECP does not have. Rivals without a spread have no NLL, CRPS or
intervals. Seconds hold the fit and the prediction. The ratio to the best rival is over the splits that both were
run on; the best rival is the one with the highest such ratio.
"""
IN_SHORT = """\
A fifth of the cells hidden at random (folds that were published for tensors without such runs): RMSE,
negative log predictive density and continuous ranked probability score. The lowest of a line is bold.
Rivals that were run on fewer splits than VAECP are left out here.
"""
RELIABILITY = """\
## What intervals hold

What the intervals of VAECP hold against what they promise, by the kind of gaps; a line per tensor, the
median over splits.

![Reliability by the kind of gaps](reliability.png)
"""
HEADLINE_SCORES = {"RMSE": "rmse", "NLL": "nll", "CRPS": "crps"}
SHORT_RIVALS = (
    "CPALS",
    "smooth CP",
    "CP with neighbours",
    "FBCP",
    "SMURFF",
    "Gaussian process",
    "smoothing spline",
    "LightGBM",
    "row effects",
    "mean",
)
SCORES = {
    "RMSE": "rmse",
    "ratio to the best rival": "ratio",
    "MAE": "mae",
    "trimmed": "trimmed_rmse",
    "NLL": "nll",
    "CRPS": "crps",
}
SHARES = {"50 % holds": "coverage_50", "90 %": "coverage_90", "95 %": "coverage_95"}


def page(frame: Table, command: str, *, has_figure: bool = True) -> str:
    """Return the page: what was aimed at and missed, VAECP beside its best rival, everything."""
    best = at_best(frame)
    aside = best["dataset"].combine(best["gaps"], is_aside).astype(bool)
    parts = [
        "# Gaps\n",
        f"Made by `{command}` with {code_in_words(frame)}.\n",
        HOW,
        "## In short\n",
        IN_SHORT,
        markdown(headline_table(best)),
        *_section("VAECP beside the best rival", _headline(best), _beside(best)),
        *_section(
            "Tensors kept aside",
            "No setting of VAECP was chosen on these; they were named before they were run.\n\n"
            + _headline(best[aside]),
            _beside(best[aside]),
        ),
        RELIABILITY if has_figure else "",
        *_section("Published figures, in the units of the data", "", _published(best)),
        "## Every method\n",
        full_table(best),
        failed_runs(frame),
    ]
    return "\n".join(part for part in parts if part)


def headline_table(best: Table) -> Table:
    """Return RMSE, NLL and CRPS under the plainest gaps of every tensor, the lowest in bold.

    Those are a fifth of the cells, scattered, or the published folds of a tensor that has no other.
    A line has VAECP, and the rivals that were run on as many splits: medians of fewer are no match.
    """
    best = _beside_vaecp(best)
    plain = best[(best["gaps"] == SCATTERED) & (best["held_out"] == SHARE)]
    rest = best[~best["dataset"].isin(plain["dataset"])]
    folds = rest[rest["gaps"].str.startswith(PUBLISHED)].drop_duplicates(["dataset", "method"])
    measured = set(plain["method"]) | set(folds["method"])
    shown = [name for name in (METHOD, *SHORT_RIVALS) if name in measured]
    rows = []
    for dataset, group in pd.concat([plain, folds]).groupby("dataset", sort=False):
        by_method = group.set_index("method")
        for words, column in HEADLINE_SCORES.items():
            found: dict[str, float] = by_method[column].reindex(shown).astype(float).to_dict()
            lowest = np.nanmin([*found.values(), np.inf])
            cells = {
                name: f"**{value:.3g}**" if value == lowest else f"{value:.3g}"
                for name, value in found.items()
                if np.isfinite(value)
            }
            if cells:
                rows.append(
                    {"tensor": dataset, "measure": words} | {n: cells.get(n, "") for n in shown}
                )
    return pd.DataFrame(rows, columns=["tensor", "measure", *shown])


def _beside_vaecp(best: Table) -> Table:
    """Keep the cells in which VAECP was run, and the methods that were run as often there."""
    ours = best.loc[best["method"] == METHOD, [*CELL, "splits"]]
    together = best.merge(ours, on=CELL, suffixes=("", "_of_ours"))
    return together[together["splits"] >= together["splits_of_ours"]]


def _section(title: str, text: str, table: Table) -> list[str]:
    return [f"## {title}\n", text, markdown(table)] if len(table) else []


def full_table(best: Table) -> str:
    """Return one line per cell and method."""
    return markdown(pd.DataFrame([_line(row) for row in best.to_dict("records")]))


def _headline(best: Table) -> str:
    """Say how many cells miss which target."""
    ours = best[(best["method"] == METHOD) & best["ratio"].notna()]
    if ours.empty:
        return ""
    lines = [
        f"- {len(ours)} cells; the median ratio of RMSE is {ours['ratio'].median():.3f}, the highest "
        f"{ours['ratio'].max():.3f}."
    ]
    words = {"ratio": f"have an RMSE above {MOST_RATIO} times the best rival's"}
    for column, (low, high) in INTERVALS.items():
        level = column.removeprefix("coverage_")
        words[column] = (
            f"have {level} % intervals that hold less than {100 * low:g} % or more than {100 * high:g} %"
        )
    for column, cells in failing(best).items():
        named = "; ".join(
            f"{row['dataset']}, {gaps_in_words(row['dataset'], row['gaps'], row['held_out'])} "
            f"({row[column]:.3g})"
            for row in cells.to_dict("records")
        )
        lines.append(f"- {len(cells)} {words[column]}{': ' + named if named else ''}.")
    return "\n".join(lines) + "\n"


def _beside(best: Table) -> Table:
    rows = [
        _line(row) | {"best rival": row["rival"] if isinstance(row["rival"], str) else ""}
        for row in best[best["method"] == METHOD].to_dict("records")
    ]
    return pd.DataFrame(rows).drop(columns=["method", "settings"], errors="ignore")


def _published(best: Table) -> Table:
    """Put the figures of others and our own in one order: lowest first, cell by cell."""
    rows: list[dict[str, Any]] = [
        {
            "tensor": f.dataset,
            "gaps": f.gaps,
            "method": f.method,
            "RMSE": f.rmse,
            "source": f.source,
        }
        for f in FIGURES
    ]
    for row in best[best["gaps"].str.startswith(PUBLISHED)].to_dict("records"):
        ours = {"tensor": row["dataset"], "gaps": row["gaps"], "method": row["method"]}
        rows.append(ours | {"RMSE": row["rmse_in_units"], "source": "here"})
    measured = set(best["dataset"])
    table = pd.DataFrame([row for row in rows if row["tensor"] in measured])
    if table.empty:
        return table
    table["gaps"] = table["gaps"].str.replace(":", ", ")
    return table.sort_values(["tensor", "gaps", "RMSE"], kind="stable")


def _line(row: dict[str, Any]) -> dict[str, Any]:
    given = json.loads(row["settings"])
    return {
        "tensor": row["dataset"],
        "hidden": gaps_in_words(row["dataset"], row["gaps"], row["held_out"]),
        "method": row["method"],
        "settings": ", ".join(f"{key} {value}" for key, value in given.items()) or "defaults",
        "splits": int(row["splits"]),
        **{words: row[column] for words, column in SCORES.items()},
        **{words: _percent(row[column]) for words, column in SHARES.items()},
        "seconds": f"{row['seconds']:.3g} ({row['device']})",
    }


def _percent(share: float) -> str:
    return f"{100 * share:.1f}" if np.isfinite(share) else ""
