"""What the repeats say: medians and quartiles, and who is better than whom, how surely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from vaecp.experiments.methods import METHODS
from vaecp.experiments.results import Table
from vaecp.experiments.runs import CHOICE, TRAINING

LEVEL = 0.05
LEAST_REPEATS = 6
"""With fewer pairs the signed-rank test cannot fall below a probability of 0.05."""


@dataclass(frozen=True)
class Verdict:
    """A paired comparison of two methods over the same splits.

    Attributes
    ----------
    difference : the median of RMSE of `method` minus RMSE of `rival`.
    n_lower : on how many of the `n_repeats` splits `method` was better.
    p : of Wilcoxon's two-sided signed-rank test. Splits overlap, so that it is a guide.
    """

    method: str
    rival: str
    difference: float
    n_lower: int
    n_repeats: int
    p: float

    @property
    def outcome(self) -> str:
        """One of "wins", "loses" or "undecided"."""
        if self.n_repeats < LEAST_REPEATS or not self.p < LEVEL:
            return "undecided"
        return "wins" if self.difference < 0 else "loses"

    @property
    def words(self) -> str:
        """How sure it is, for a person."""
        counted = f"lower RMSE than {self.rival} in {self.n_lower} of {self.n_repeats} repeats"
        if self.n_repeats < LEAST_REPEATS:
            return f"{counted}; a test needs at least {LEAST_REPEATS}, so this is a hint"
        chance = ", which chance explains well enough" if self.outcome == "undecided" else ""
        return f"{counted}, p = {self.p:.2g} by a paired signed-rank test{chance}"


def repeats(frame: Table) -> Table:
    """Keep the rows that are reported: no folds, no histories, no failures."""
    reported = ~frame["comparison"].isin([CHOICE, TRAINING]) & frame["rmse"].notna()
    return frame[reported & frame["fold"].isna()]


def summarise(frame: Table) -> Table:
    """Return one row per dataset, comparison and method, the lowest median first."""
    groups = repeats(frame).groupby(["dataset", "comparison", "method"], sort=False)
    table = groups.agg(
        median=("rmse", "median"),
        lower_quartile=("rmse", lambda values: values.quantile(0.25)),
        upper_quartile=("rmse", lambda values: values.quantile(0.75)),
        mae=("mae", "median"),
        nll=("nll", "median"),
        crps=("crps", "median"),
        coverage_90=("coverage_90", "median"),
        seconds=("seconds", "median"),
        repeats=("rmse", "size"),
        rank=("rank", "first"),
        settings=("settings", "first"),
    ).reset_index()
    order = table.groupby(["dataset", "comparison"], sort=False).ngroup()
    return table.assign(order=order).sort_values(["order", "median"]).drop(columns="order")


def medians(frame: Table, comparison: str) -> Table:
    """Return the median RMSE, a row per dataset and a column per method, the lowest in bold."""
    table = by_method(frame, comparison, "median")
    lowest = table.eq(table.min(axis=1), axis=0)
    shown = table.map(lambda value: "" if np.isnan(value) else f"{value:.3g}")
    return shown.mask(lowest, "**" + shown + "**")


def by_method(frame: Table, comparison: str, column: str) -> Table:
    """Spread a column of the summary: a row per dataset, a column per method."""
    found = summarise(frame)
    found = found[found["comparison"] == comparison]
    table = found.pivot(index="dataset", columns="method", values=column)
    ordered = [name for name in METHODS if name in table]
    return table.reindex(index=found["dataset"].unique(), columns=ordered)


def paired(frame: Table, method: str, rival: str) -> Verdict:
    """Compare two methods on the splits of one dataset and comparison that both were made on."""
    table = repeats(frame).pivot_table(index="repeat", columns="method", values="rmse")
    differences = (table[method] - table[rival]).dropna().to_numpy(dtype=float)
    if not len(differences):
        return Verdict(method, rival, float("nan"), 0, 0, 1.0)
    p = _signed_rank(differences) if differences.any() else 1.0
    n_lower = int((differences < 0).sum())
    return Verdict(method, rival, float(np.median(differences)), n_lower, len(differences), p)


def verdicts(frame: Table, method: str = "VAECP") -> Table:
    """Return how a method does against every other, per dataset and comparison."""
    rows: list[dict[str, Any]] = []
    for names, group in repeats(frame).groupby(["dataset", "comparison"], sort=False):
        methods = list(dict.fromkeys(group["method"]))
        for rival in methods if method in methods else []:
            if rival != method:
                found = paired(group, method, rival)
                rows.append(
                    {
                        "dataset": names[0],
                        "comparison": names[1],
                        "rival": rival,
                        "outcome": found.outcome,
                        "difference": found.difference,
                        "n_lower": found.n_lower,
                        "n_repeats": found.n_repeats,
                        "p": found.p,
                    }
                )
    columns = ["dataset", "comparison", "rival", "outcome", "difference", "n_lower", "n_repeats"]
    return pd.DataFrame(rows, columns=[*columns, "p"])


def winner(frame: Table) -> Verdict | None:
    """Return the method with the lowest median RMSE against the next; None without methods."""
    table = summarise(frame)
    if table.empty:
        return None
    first = str(table["method"].iloc[0])
    second = str(table["method"].iloc[min(1, len(table) - 1)])
    return paired(frame, first, second)


def failures(frame: Table) -> list[str]:
    """Return one line per method and dataset that failed, with how often and the first message."""
    failed = frame[frame["error"] != ""]
    return [
        f"{method} on {dataset}: {len(group)} of {len(_all(frame, dataset, method))} runs failed, "
        f"first with {group['error'].iloc[0]}"
        for (dataset, method), group in failed.groupby(["dataset", "method"], sort=False)
    ]


def markdown(frame: Table) -> str:
    """Return a data frame as a Markdown table, numbers with four digits."""
    lines = [[str(name).replace("_", " ") for name in frame.columns], ["---"] * frame.shape[1]]
    lines += [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _signed_rank(differences: np.ndarray) -> float:
    found: Any = stats.wilcoxon(differences)
    return float(found.pvalue)


def _all(frame: Table, dataset: Any, method: Any) -> Table:
    return frame[(frame["dataset"] == dataset) & (frame["method"] == method)]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.4g}"
    return "" if value is pd.NA else str(value).replace("|", "\\|")
