"""What each part of VAECP is worth: the same splits with a part left out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from vaecp.study.evaluation.methods import ABLATION
from vaecp.study.evaluation.tables import CELL, cells_in_order, gaps_in_words
from vaecp.study.experiments import PUBLISHED, markdown
from vaecp.study.experiments.results import Table
from vaecp.study.experiments.statistics import corrected_t
from vaecp.study.experiments.tables import LEAST_REPEATS, code_in_words

HOW = """\
Each line leaves something out of VAECP, or adds it everywhere, on the same splits; all else has its
defaults. RMSE and CRPS are medians over the splits in standard deviations of the training entries.
The ratio is that of the RMSE to VAECP as it is, as the geometric mean over the splits: above 1 the
part earns its place. Its 95 % interval is that of a corrected resampled t test (Nadeau and Bengio
2003), for one line alone.
"""
WHOLE = next(iter(ABLATION))


def ablation_page(frame: Table, command: str) -> str:
    """Return the page as Markdown."""
    lines = ablation_lines(frame)
    parts = [
        "# What each part is worth\n",
        f"Made by `{command}` with {code_in_words(frame)}.\n",
        HOW,
    ]
    for (dataset, gaps, held_out), group in lines.groupby(CELL, sort=False):
        parts.append(f"## {dataset}, {gaps_in_words(dataset, gaps, held_out)}\n")
        parts.append(markdown(group.drop(columns=CELL)))
    return "\n".join(parts)


def ablation_lines(frame: Table) -> Table:
    """Return one row per cell and variant, in the order of `ABLATION`."""
    names = {_key(settings): name for name, settings in ABLATION.items()}
    known = frame.assign(
        variant=frame["settings"].map(lambda text: names.get(_key(json.loads(text))))
    )
    known = known[known["rmse"].notna() & known["variant"].notna()]
    rows = []
    for cell, group in known.groupby(CELL, sort=False):
        table = group.pivot_table(index="repeat", columns="variant", values="rmse")
        for variant in ABLATION:
            if variant in table:
                own = group[group["variant"] == variant]
                rows.append(dict(zip(CELL, cell, strict=True)) | _line(variant, own, table))
    return cells_in_order(pd.DataFrame(rows)) if rows else pd.DataFrame(rows, columns=[*CELL])


def _line(variant: str, own: Table, table: Table) -> dict[str, Any]:
    line: dict[str, Any] = {
        "VAECP": variant,
        "RMSE": float(own["rmse"].median()),
        "ratio": float("nan"),
        "interval": "",
        "CRPS": float(own["crps"].median()),
        "90 % holds": f"{100 * own['coverage_90'].median():.1f}",
        "seconds": float(own["seconds"].median()),
        "splits": len(own),
    }
    if WHOLE in table and variant != WHOLE:
        both = np.log(table[[variant, WHOLE]].dropna())
        logs = (both[variant] - both[WHOLE]).to_numpy(dtype=float)
        if len(logs):
            found = corrected_t(logs, _share(own))
            line["ratio"] = float(np.exp(found.mean))
            if len(logs) >= LEAST_REPEATS:
                line["interval"] = f"{np.exp(found.low):.3f} to {np.exp(found.high):.3f}"
    return line


def _share(own: Table) -> float:
    """Return the share that was tested on; folds of one tensor overlap as splits do."""
    share = float(own["held_out"].iloc[0])
    return share if not str(own["gaps"].iloc[0]).startswith(PUBLISHED) else min(share, 0.5)


def _key(settings: dict[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)
