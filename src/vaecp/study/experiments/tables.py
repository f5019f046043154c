"""What the repeats say: medians and quartiles, and who is better than whom, how surely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from vaecp.study.experiments.results import Table
from vaecp.study.experiments.runs import CHOICE, TRAINING
from vaecp.study.experiments.statistics import corrected_t, holm
from vaecp.study.rivals import all_methods

HEADLINE = {"median": "RMSE", "nll": "NLL", "crps": "CRPS"}
"""What a table of methods shows of each: columns of the summary, and what they are called."""

LEVEL = 0.05
LEAST_REPEATS = 5
"""With fewer splits a test says too little to name a winner."""
TEST = "corrected resampled t test"


@dataclass(frozen=True)
class Verdict:
    """A paired comparison of two methods over the same splits.

    Attributes
    ----------
    ratio : the RMSE of `method` over that of `rival`, as the geometric mean over the splits, with
        the ends `low` and `high` of its 95 % interval.
    n_lower : on how many of the `n_repeats` splits `method` was better.
    p : of Nadeau and Bengio's corrected resampled t test of the log ratios; after Holm's
        correction where a pair is one of several.
    """

    method: str
    rival: str
    ratio: float
    low: float
    high: float
    n_lower: int
    n_repeats: int
    p: float

    @property
    def outcome(self) -> str:
        """One of "wins", "loses" or "undecided"."""
        if self.n_repeats < LEAST_REPEATS or not self.p < LEVEL:
            return "undecided"
        return "wins" if self.ratio < 1 else "loses"

    @property
    def words(self) -> str:
        """How sure it is, for a person."""
        counted = f"lower RMSE than {self.rival} in {self.n_lower} of {self.n_repeats} repeats"
        if self.n_repeats < LEAST_REPEATS:
            return f"{counted}; a test needs at least {LEAST_REPEATS}, so this is a hint"
        chance = ", which chance explains well enough" if self.outcome == "undecided" else ""
        return (
            f"{counted}; {self.ratio:.3g} times its RMSE, 95 % interval {self.low:.3g} to "
            f"{self.high:.3g}, p = {self.p:.2g} by a {TEST}{chance}"
        )


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
        auc=("auc", "median"),
        brier=("brier", "median"),
        seconds=("seconds", "median"),
        repeats=("rmse", "size"),
        rank=("rank", "first"),
        settings=("settings", "first"),
    ).reset_index()
    order = table.groupby(["dataset", "comparison"], sort=False).ngroup()
    return table.assign(order=order).sort_values(["order", "median"]).drop(columns="order")


def medians(frame: Table, comparison: str, measures: Mapping[str, str] = HEADLINE) -> Table:
    """Return medians, a row per dataset and measure, a column per method, the lowest in bold."""
    tables = {}
    for column, words in measures.items():
        table = by_method(frame, comparison, column)
        shown = table.map(lambda value: f"{value:.3g}" if np.isfinite(value) else "")
        lowest = table.eq(table.min(axis=1), axis=0)
        tables[words] = shown.mask(lowest, "**" + shown + "**")
    together = pd.concat(tables, names=["measure", "dataset"]).swaplevel()
    return together.loc[list(dict.fromkeys(together.index.get_level_values("dataset")))]


def by_method(frame: Table, comparison: str, column: str) -> Table:
    """Spread a column of the summary: a row per dataset, a column per method."""
    found = summarise(frame)
    found = found[found["comparison"] == comparison]
    table = found.pivot(index="dataset", columns="method", values=column)
    ordered = [name for name in all_methods() if name in table]
    return table.reindex(index=found["dataset"].unique(), columns=ordered)


def paired(frame: Table, method: str, rival: str) -> Verdict:
    """Compare two methods on the splits of one dataset and comparison that both were made on."""
    reported = repeats(frame)
    table = reported.pivot_table(index="repeat", columns="method", values="rmse")
    table = np.log(np.maximum(table[[method, rival]].dropna(), np.finfo(float).tiny))
    if table.empty:
        return Verdict(method, rival, float("nan"), 0.0, float("inf"), 0, 0, 1.0)
    logs = (table[method] - table[rival]).to_numpy(dtype=float)
    found = corrected_t(logs, float(reported["held_out"].iloc[0]))
    ratio, low, high = (float(np.exp(x)) for x in (found.mean, found.low, found.high))
    return Verdict(method, rival, ratio, low, high, int((logs < 0).sum()), len(logs), found.p)


def verdicts(frame: Table, method: str = "VAECP") -> Table:
    """Return how a method does against every other, per dataset and comparison.

    Holm's correction is over all pairs of a comparison, on all datasets.
    """
    found: dict[str, list[tuple[str, Verdict]]] = {}
    for (dataset, comparison), group in repeats(frame).groupby(
        ["dataset", "comparison"], sort=False
    ):
        methods = list(dict.fromkeys(group["method"]))
        pairs = found.setdefault(comparison, [])
        for rival in methods if method in methods else []:
            if rival != method:
                pairs.append((dataset, paired(group, method, rival)))
    rows = [
        {"dataset": dataset, "comparison": comparison, "outcome": verdict.outcome} | asdict(verdict)
        for comparison, pairs in found.items()
        for (dataset, _), verdict in zip(
            pairs, corrected([verdict for _, verdict in pairs]), strict=True
        )
    ]
    columns = ["rival", "outcome", "ratio", "low", "high", "n_lower", "n_repeats", "p"]
    return pd.DataFrame(rows, columns=["dataset", "comparison", *columns])


def corrected(family: Sequence[Verdict]) -> list[Verdict]:
    """Apply Holm's correction to verdicts that are read together."""
    adjusted = holm([verdict.p for verdict in family])
    return [replace(verdict, p=p) for verdict, p in zip(family, adjusted, strict=True)]


def winner(frame: Table) -> Verdict | None:
    """Return the method with the lowest median RMSE against the next; None without methods.

    It stands against every other one, so that its p is corrected for their number.
    """
    names = [str(name) for name in summarise(frame)["method"]]
    if not names:
        return None
    rivals = names[1:] or names
    return corrected([paired(frame, names[0], rival) for rival in rivals])[0]


def failures(frame: Table) -> list[str]:
    """Return one line per method and dataset that failed, with how often and the first message."""
    failed = frame[frame["error"] != ""]
    return [
        f"{method} on {dataset}: {len(group)} of {len(_all(frame, dataset, method))} runs failed, "
        f"first with {group['error'].iloc[0]}"
        for (dataset, method), group in failed.groupby(["dataset", "method"], sort=False)
    ]


def failed_runs(frame: Table) -> str:
    """Return the section of a page that lists them, or nothing."""
    lines = [f"- {line}\n" for line in failures(frame)]
    return f"## Runs that failed\n\n{''.join(lines)}" if lines else ""


def code_in_words(frame: Table) -> str:
    """Name the commit of the newest run, or digests of the code outside a checkout.

    Runs are those of `Results.of_one_version`.
    """
    if not len(frame):
        return "no code"
    newest = frame["commit"].iloc[-1]
    if not newest:
        digests = dict.fromkeys(frame["code"].replace("", "of an earlier version"))
        return f"code {', '.join(digests)}"
    if (frame["commit"] == newest).all():
        return f"commit {newest}"
    words = f"commit {newest}; every run is of code identical, by digest, to that commit's"
    confirmed = frame.loc[frame["confirmed"].fillna(0) > 0, ["method", "confirmed"]]
    if not len(confirmed):
        return words
    fewest = confirmed.groupby("method", sort=False)["confirmed"].min()
    told = ", ".join(f"{method} {n_runs}" for method, n_runs in fewest.items())
    return (
        f"{words}, or of code with the same figures: on every tensor at least so many runs of a method were "
        f"made again, and agreed to six digits, or within a tenth where a method draws anew at every run ({told})"
    )


def markdown(frame: Table) -> str:
    """Return a data frame as a Markdown table, numbers with four digits."""
    lines = [[str(name).replace("_", " ") for name in frame.columns], ["---"] * frame.shape[1]]
    lines += [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _all(frame: Table, dataset: Any, method: Any) -> Table:
    return frame[(frame["dataset"] == dataset) & (frame["method"] == method)]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.4g}"
    return "" if value is pd.NA else str(value).replace("|", "\\|")
