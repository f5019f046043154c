"""How the study was made: which splits, which settings there were, and which were chosen."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pandas as pd

from vaecp.study.experiments import BEST, CHOICE, markdown
from vaecp.study.experiments.results import Table
from vaecp.study.experiments.tables import repeats
from vaecp.study.reproduction.study import ALSO, Study
from vaecp.study.rivals import all_methods


def protocol(study: Study) -> str:
    """Say how entries were split and settings chosen."""
    protocol = study.protocol
    return (
        f"Cells are split at random, {1 - protocol.held_out:.0%} to train and "
        f"{protocol.held_out:.0%} to test, {protocol.repeats} times, with seeds derived from "
        f"{protocol.seed}. {_choice(study)} In the comparison *as in the paper* every baseline has "
        "the rank that FBCP finds on the training entries; *at its best*, every method has its own. "
        "VAECP chooses its ranks by itself. Methods run until they converge, or as the settings in "
        f"`results.jsonl` say.\n\n{_ranks(study)}"
    )


def _choice(study: Study) -> str:
    protocol = study.protocol
    if protocol.folds_per_repeat is None:
        return (
            f"Settings are chosen by {protocol.folds}-fold cross-validation on the training entries "
            "of the first split and kept for the others, to bound the cost: no test entry of the "
            "first split enters the choice, but the other splits are drawn from the same entries."
        )
    folds = "one fold" if protocol.folds_per_repeat == 1 else f"{protocol.folds_per_repeat} folds"
    return (
        f"Settings are chosen anew on every split, by {folds} of {protocol.folds} of its training "
        "entries: no entry takes part in a choice that it is scored under."
    )


def _ranks(study: Study) -> str:
    """Say which ranks and settings there were to choose from."""

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
    for method, others in ALSO.items():
        also = " or ".join(f"{key} {value}" for other in others for key, value in other.items())
        said.append(f"{method} also with {also}")
    return f"{'; '.join(said)}. FBCP prunes what it is given, and is given the largest alone.\n"


def chosen(frame: Table, comparison: str) -> str:
    """Ranks on the splits, and what else there was a choice of."""
    reported = repeats(frame)
    reported = reported[reported["comparison"] == comparison]
    if reported.empty:
        return ""
    found = reported.groupby(["dataset", "method"], sort=False).apply(
        _settings_in_words, include_groups=False
    )
    table = found.unstack("method")
    ordered = [name for name in all_methods() if name in table]
    table = table.reindex(index=reported["dataset"].unique(), columns=ordered).fillna("")
    return f"### Settings, {comparison}\n\n{markdown(table.reset_index())}"


def _settings_in_words(group: Table) -> str:
    """Name what was chosen, the most frequent first, with how often."""
    words: Counter[str] = Counter()
    for settings, found in zip(group["settings"], group["rank_found"], strict=True):
        given = json.loads(settings)
        named = [str(given["rank"])] if "rank" in given else []
        if len(group) and "rank" in given and not pd.isna(found):
            named = [f"{found} of {given['rank']}"]
        named += [f"{key} {given[key]}" for key in ("ridge", "kernel", "sparsity") if key in given]
        words[", ".join(named)] += 1
    return "; ".join(
        f"{text} ({n}x)" if len(words) > 1 else text for text, n in words.most_common()
    )


def at_the_limit(frame: Table) -> list[str]:
    """Name the methods that took the largest rank they had: a larger one might be better."""
    reported = repeats(frame)
    reported = reported[reported["rank"].notna() & (reported["comparison"] == BEST)]
    tried = frame[(frame["comparison"] == CHOICE) & frame["rank"].notna()]
    most = tried.groupby(["dataset", "method"])["rank"].max()
    lines = []
    for (dataset, method), group in reported.groupby(["dataset", "method"], sort=False):
        if method == "FBCP":
            hits = int((group["rank_found"] >= group["rank"]).sum())
        else:
            hits = int((group["rank"] >= most.get((dataset, method), np.inf)).sum())
        if hits and method != "VAECP.paper":
            lines.append(f"{method} on {dataset} ({hits} of {len(group)} splits)")
    said = "; ".join(lines) or "none"
    return [f"Methods that took the largest rank that they had: {said}.\n"]


def not_converged(frame: Table) -> list[str]:
    """Say how many of the reported fits warned that they had not converged."""
    reported = repeats(frame)
    stopped = reported[reported["warning"].str.contains("stopped after", na=False)]
    lines = [
        f"{method} on {dataset} ({len(group)} fits)"
        for (dataset, method), group in stopped.groupby(["dataset", "method"], sort=False)
    ]
    return [f"Fits that stopped before they converged: {'; '.join(lines) or 'none'}.\n"]
