"""What the runs say: every method at its best settings, and how far it is from the best rival."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd

from vaecp import datasets
from vaecp.data.gaps import GapPattern, Kind
from vaecp.study.experiments import PUBLISHED
from vaecp.study.experiments.execution import MEASURES
from vaecp.study.experiments.results import Table
from vaecp.study.rivals import all_methods

METHOD = "VAECP"
NO_RIVALS = (METHOD, "VAECP.paper")
CELL = ["dataset", "gaps", "held_out"]
MIDDLE = [*MEASURES, "rmse_in_units", "seconds"]
MOST_RATIO = 1.02
INTERVALS = {"coverage_50": (0.43, 0.57), "coverage_90": (0.85, 0.95)}
"""How much an interval may hold, by its column."""


def at_best(frame: Table) -> Table:
    """Return one row per cell and method: middle values at the settings with the lowest RMSE.

    Middle values are medians over splits, and means over published folds, as others report them.
    Settings that were measured on fewer splits than others of the method do not compete.
    """
    measured = frame[frame["rmse"].notna()]
    measured = measured.assign(rmse_in_units=measured["rmse"] * measured["scale"])
    groups = measured.groupby([*CELL, "method", "settings"], sort=False)
    table = groups[MIDDLE].median()
    published = table.index.get_level_values("gaps").str.startswith(PUBLISHED)
    table[published] = groups[MIDDLE].mean()[published]
    table = table.assign(splits=groups.size(), device=groups["device"].last()).reset_index()
    most = table.groupby([*CELL, "method"])["splits"].transform("max")
    table = table[table["splits"] == most]
    best = table.groupby([*CELL, "method"], sort=False)["rmse"].idxmin()
    return _in_order(_with_ratios(table.loc[best], measured))


def cells_in_order(lines: Table) -> Table:
    """Put tensors in the order of the catalogue, then gaps by kind and share; keep it else."""
    tensors = {name: place for place, name in enumerate(datasets.names())}
    kinds = {kind: place for place, kind in enumerate((*get_args(Kind), PUBLISHED))}
    ranked = lines.assign(
        _tensor=lines["dataset"].map(lambda name: tensors[_base(name)]),
        _length=lines["dataset"].str.len(),  # synthetic-9 before synthetic-10
        _kind=lines["gaps"].map(lambda gaps: kinds[gaps.partition(":")[0]]),
    )
    by = ["_tensor", "_length", "dataset", "_kind", "gaps", "held_out"]
    ranked = ranked.sort_values(by, kind="stable", ignore_index=True)
    return ranked[list(lines.columns)]


def _in_order(best: Table) -> Table:
    """Put cells in order, and methods within them."""
    methods = {name: place for place, name in enumerate(all_methods())}
    by_method = best.sort_values("method", key=lambda names: names.map(methods), kind="stable")
    return cells_in_order(by_method)


def _with_ratios(best: Table, measured: Table) -> Table:
    """Add the best rival in the cell, and the ratio of every RMSE to its own, over the splits of both.

    The best rival is the one that VAECP is furthest behind, or least ahead of.
    """
    runs = measured.merge(best[[*CELL, "method", "settings"]])
    found = []
    for cell, here in runs.groupby(CELL, sort=False):
        by_split = here.pivot(index="repeat", columns="method", values="rmse")
        middle = "mean" if str(cell[1]).startswith(PUBLISHED) else "median"
        ours = METHOD if METHOD in by_split else by_split.columns[0]
        ratios = {name: _ratio(by_split, ours, name, middle) for name in by_split}
        rivals = {
            name: ratio
            for name, ratio in ratios.items()
            if name not in NO_RIVALS and np.isfinite(ratio)
        }
        rival = max(rivals, key=lambda name: rivals[name]) if rivals else None
        for name in by_split:
            ratio = _ratio(by_split, name, rival, middle) if rival else float("nan")
            found.append((*cell, name, rival, ratio))
    return best.merge(pd.DataFrame(found, columns=[*CELL, "method", "rival", "ratio"]), how="left")


def _ratio(by_split: Table, method: str, rival: str, middle: str) -> float:
    common = by_split[[method, rival]].dropna() if method != rival else by_split[[method]].dropna()
    return float(common[method].agg(middle) / common[rival].agg(middle))


def failing(best: Table) -> dict[str, Table]:
    """Return the cells in which VAECP misses a target, by the column that says so."""
    ours = best[best["method"] == METHOD]
    found = {"ratio": ours[ours["ratio"] > MOST_RATIO]}
    for column, (low, high) in INTERVALS.items():
        found[column] = ours[(ours[column] < low) | (ours[column] > high)]
    return found


def gaps_in_words(dataset: str, gaps: str, held_out: float) -> str:
    """Name the gaps of a cell for a person.

    Examples
    --------
    >>> gaps_in_words("amino", "fibres:2", 0.2)
    'fibres along emission'
    >>> gaps_in_words("hangzhou", "published:days-30", 0.3)
    'published, days-30'
    """
    if gaps.startswith(PUBLISHED):
        return gaps.replace(":", ", ")
    return GapPattern.parse(gaps, held_out).words(datasets.info(_base(dataset)).mode_names)


def _base(dataset: str) -> str:
    """Return the tensor that a variant such as synthetic-9 or movielens-week is one of."""
    return dataset if dataset in datasets.names() else dataset.partition("-")[0]
