"""The page: where VAECP wins and where it does not, and how that was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vaecp.study.experiments import BEST, PAPER, failures, markdown, medians, summarise, verdicts
from vaecp.study.experiments.results import Table
from vaecp.study.experiments.tables import LEAST_REPEATS, LEVEL, TEST, by_method, code_in_words
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
    summary, judged = summarise(frame), verdicts(frame)
    for (dataset, comparison), group in summary.groupby(["dataset", "comparison"], sort=False):
        parts.append(f"## {dataset}, {comparison}\n")
        parts.append(markdown(group[list(SHOWN)]))
        here = (judged["dataset"] == dataset) & (judged["comparison"] == comparison)
        if here.any():
            parts.append(
                "VAECP against each, over the same splits: ratio of RMSE and its interval.\n"
            )
            parts.append(markdown(judged[here].drop(columns=["dataset", "comparison"])))
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
        'centre them (`center="values"`).\n',
        "## Where VAECP wins, and where it does not\n",
        "Medians over the splits (RMSE, negative log predictive density, continuous ranked "
        "probability score), every method at the rank that cross-validation chose for it, of "
        "those that were tried (below). VAECP has the defaults of this library: a multilinear path, "
        "smooth rows along ordered modes, neighbouring errors and an ensemble are part of it, and not "
        "of the published model.\n",
        markdown(medians(frame, BEST).reset_index()),
        *_statements(frame, BEST),
        *_statements(frame, PAPER),
        _how_tested(),
        "## What `VAECP.paper()` does\n",
        _published(frame, study),
        *_trained(histories),
        "## How the rank was chosen\n",
        _protocol(study),
        _chosen(frame, BEST),
        _chosen(frame, PAPER),
        *_failed(frame),
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
    summary, judged = summarise(frame), verdicts(frame)
    judged = judged[judged["comparison"] == comparison]
    summary = summary[summary["comparison"] == comparison]
    lines = []
    for dataset, group in judged.groupby("dataset", sort=False):
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


def _trained(histories: list[dict[str, Any]]) -> list[str]:
    """Say from where to where bound and error went, and leave the conclusion to the numbers."""
    lines = []
    for record in histories:
        if "history" not in record:
            continue
        elbo, rmse = record["history"]["elbo"], record["history"]["validation_rmse"]
        half = len(rmse) // 2
        lines.append(
            f"- {record['dataset']}, rate {record['settings']['learning_rate']:g}, {len(rmse)} "
            f"epochs: the evidence bound goes from {elbo[0]:,.0f} through {elbo[half]:,.0f} half-way "
            f"to {elbo[-1]:,.0f}, the validation RMSE from {rmse[0]:.3f} through {rmse[half]:.3f} to "
            f"{rmse[-1]:.3f} (figure 7)."
        )
    return ["\n".join(lines) + "\n"] if lines else []


def _protocol(study: Study) -> str:
    protocol = study.protocol
    return (
        f"Entries are split at random, {1 - protocol.held_out:.0%} to train and "
        f"{protocol.held_out:.0%} to test, {protocol.repeats} times, with seeds derived from "
        f"{protocol.seed}. The rank is chosen by "
        f"{protocol.folds}-fold cross-validation on the training part of the first split and kept "
        "for the others, to bound the cost: no test entry of the first split enters the choice, but "
        "the other splits are drawn from the same entries. In the comparison "
        "*as in the paper* every baseline has the rank that FBCP finds on that training part; *at "
        "its best*, every method has its own. All methods stop as their defaults say, or as the "
        f"settings in `results.jsonl` do.\n\n{_ranks(study)}"
    )


def _ranks(study: Study) -> str:
    """Say which ranks there were to choose from."""

    def listed(largest: Mapping[str, int]) -> str:
        return ", ".join(f"{name} {rank}" for name, rank in largest.items())

    said = [
        f"Ranks tried: {', '.join(map(str, study.ranks))}, on the synthetic tensors "
        f"{', '.join(map(str, study.synthetic_ranks))}; by `VAECP.paper` "
        f"{', '.join(map(str, study.paper_ranks))}, there the rank that they were made with"
    ]
    if study.largest:
        said.append(f"at most {listed(study.largest)}")
    for dataset, largest in study.largest_on.items():
        said.append(f"on {dataset} at most {listed(largest)}")
    if study.ridges:
        said.append(f"CPALS with its default ridge and {', '.join(map(str, study.ridges))}")
    return f"{'; '.join(said)}. FBCP prunes what it is given, and is given the largest alone.\n"


def _chosen(frame: Table, comparison: str) -> str:
    """Ranks, and ridges where there was a choice."""

    def words(settings: Any) -> str:
        given = json.loads(settings) if isinstance(settings, str) else {}
        named = [f"{given['rank']}"] if "rank" in given else []
        return ", ".join(named + ([f"ridge {given['ridge']:g}"] if "ridge" in given else []))

    chosen = by_method(frame, comparison, "settings").map(words)
    return f"### Ranks, {comparison}\n\n{markdown(chosen.reset_index())}" if len(chosen) else ""


def _failed(frame: Table) -> list[str]:
    lines = [f"- {line}" for line in failures(frame)]
    return ["## Runs that failed\n", "\n".join(lines) + "\n"] if lines else []
