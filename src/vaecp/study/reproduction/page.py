"""The page: where VAECP wins and where it does not, and how that was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vaecp.study.experiments import BEST, PAPER, markdown, medians, summarise, verdicts
from vaecp.study.experiments.results import Table
from vaecp.study.experiments.tables import LEAST_REPEATS, LEVEL, TEST, code_in_words, failed_runs
from vaecp.study.reproduction.choices import at_the_limit, chosen, not_converged, protocol, tried
from vaecp.study.reproduction.readings import readings_table
from vaecp.study.reproduction.study import SYNTHETIC_RATE, Study

SHOWN = (
    "method",
    "rank",
    "median",
    "lower_quartile",
    "upper_quartile",
    "mae",
    "nll",
    "crps",
    "coverage_90",
    "seconds",
    "repeats",
)


def tables(frame: Table, study: Study) -> str:
    """Return medians and quartiles per dataset and comparison, and VAECP's wins and losses."""
    parts = ["# Tables\n", _note(study)]
    summary, tested = summarise(frame), verdicts(frame)
    for (dataset, comparison), group in summary.groupby(["dataset", "comparison"], sort=False):
        parts.append(f"## {dataset}, {comparison}\n")
        parts.append(markdown(group[list(SHOWN)]))
        here = (tested["dataset"] == dataset) & (tested["comparison"] == comparison)
        if here.any():
            parts.append(
                "VAECP against each, over the same splits: ratio of RMSE and its interval.\n"
            )
            parts.append(markdown(tested[here].drop(columns=["dataset", "comparison"])))
    return "\n".join(part for part in parts if part)


def page(
    frame: Table,
    histories: list[dict[str, Any]],
    study: Study,
    pictures: Sequence[Path],
    command: str,
) -> str:
    """Return the page as Markdown."""
    parts = [
        "# The paper's experiments\n",
        f"Made by `{command}` on {_machines(frame)}, with {code_in_words(frame)}.\n",
        _note(study),
        "RMSE is in units of the training entries' standard deviation: predicting the mean of "
        "the values gives about 1. All methods see standardised values; CPALS and NCP are told to "
        'centre them (`center="values"`). The text of the paper gives no RMSE, only orderings of the '
        "methods, so that there is no published number to stand beside these.\n",
        "## Where VAECP wins, and where it does not\n",
        "Medians over the splits (RMSE, negative log predictive density, continuous ranked "
        "probability score), every method at the settings that held-out training entries chose for "
        "it (below). VAECP has the defaults of this library: an ensemble of multilinear members "
        "trained by closed-form sweeps, with rows that are smooth along ordered modes, residuals of "
        "neighbours, and members with a network where they help. The published model is "
        "`VAECP.paper`.\n",
        markdown(medians(frame, BEST).reset_index()),
        *_statements(frame, BEST),
        *_statements(frame, PAPER),
        _how_tested(),
        "## What `VAECP.paper()` does\n",
        _published(frame, study),
        *_readings(histories),
        "## How settings were chosen\n",
        protocol(frame, study),
        tried(frame),
        chosen(frame, BEST),
        chosen(frame, PAPER),
        *at_the_limit(frame),
        *not_converged(frame),
        failed_runs(frame),
        "## Figures\n",
        *(f"![{path.stem}]({path.name})\n" for path in pictures),
        "All numbers: [tables.md](tables.md), and `results.jsonl`, a line per run.\n",
    ]
    return "\n".join(part for part in parts if part)


def _note(study: Study) -> str:
    return f"**A {study.note}. Its numbers mean little.**\n" if study.note else ""


def _machines(frame: Table) -> str:
    return ", ".join(dict.fromkeys(frame["device"])) or "no device"


def _statements(frame: Table, comparison: str) -> list[str]:
    summary, tested = summarise(frame), verdicts(frame)
    tested = tested[tested["comparison"] == comparison]
    summary = summary[summary["comparison"] == comparison]
    lines = []
    for dataset, group in tested.groupby("dataset", sort=False):
        here = summary[summary["dataset"] == dataset].set_index("method")["median"]
        rivals = here.drop("VAECP")
        best = rivals.idxmin()
        if group["n_repeats"].max() < LEAST_REPEATS:
            group = group.assign(outcome="untested")
        said = [
            f"{verb} {', '.join(group.loc[group['outcome'] == outcome, 'rival'])}"
            for outcome, verb in (
                ("wins", "better than"),
                ("loses", "worse than"),
                ("undecided", "not told apart from"),
                ("untested", "not tested, with so few repeats, against"),
            )
            if (group["outcome"] == outcome).any()
        ]
        lines.append(
            f"- **{dataset}**: VAECP {here['VAECP']:.4g}; the best other method is {best} with "
            f"{rivals[best]:.4g}. VAECP is {'; '.join(said)}."
        )
    return [f"### {comparison.capitalize()}\n", "\n".join(lines) + "\n"] if lines else []


def _how_tested() -> str:
    return (
        f"Better and worse mean p < {LEVEL} in a {TEST} of the log ratios of RMSE over the same "
        "splits (Nadeau and Bengio 2003: training sets overlap), after Holm's correction over all "
        f"pairs of a comparison; that needs at least {LEAST_REPEATS} repeats. [tables.md](tables.md) "
        "has every ratio with its 95 % interval, which is for one pair alone.\n"
    )


def _published(frame: Table, study: Study) -> str:
    summary = summarise(frame)
    found = summary[(summary["method"] == "VAECP.paper") & (summary["comparison"] == BEST)]
    numbers = ", ".join(
        f"{dataset} {median:.3g}"
        for dataset, median in zip(found["dataset"], found["median"], strict=True)
    )
    return (
        "The published recipe trains both heads and the whole KL from the first step, in batches of "
        f"30 with a small constant rate: {SYNTHETIC_RATE:g} on the synthetic tensors, and elsewhere "
        f"{study.paper_rate:g}, the largest that the paper names. It names no number of epochs; here it "
        f"has about {study.paper_steps:,} steps. Median RMSE: {numbers or 'not measured'}.\n"
    )


def _readings(histories: list[dict[str, Any]]) -> list[str]:
    """Say from where to where bound and error went, and leave the conclusion to the numbers."""
    table = readings_table(histories)
    if table.empty:
        return []
    return [
        "The paper can be read in more than one way, and these readings change one thing each, on the "
        "first split: the rate; the number of steps; the weight of the KL, which is once per row in "
        "the bound, and larger where the likelihood of a batch is not scaled up to all entries; one "
        "noise level in place of the variance head. Some training entries are held out to watch the "
        "error (validation).\n",
        markdown(table),
    ]
