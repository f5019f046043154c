"""How the study was made: which splits, which settings there were, and which were chosen."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from vaecp.study.experiments import BEST, CHOICE, markdown
from vaecp.study.experiments.results import Table
from vaecp.study.experiments.tables import repeats
from vaecp.study.reproduction.study import Study
from vaecp.study.rivals import all_methods

CHOSEN = ("ridge", "kernel", "sparsity")
"""What is chosen beside the rank."""


def protocol(frame: Table, study: Study) -> str:
    """Say how entries were split and settings chosen, and what there was to choose from."""
    protocol = study.protocol
    return (
        f"Cells are split at random, {1 - protocol.held_out:.0%} to train and "
        f"{protocol.held_out:.0%} to test, {_how_often(frame)}, with seeds derived from "
        f"{protocol.seed}. {_choice(frame, study)} In the comparison *as in the paper* every baseline has "
        "the rank that FBCP finds on the training entries; *at its best*, every method has its own. "
        "Methods run until they converge, or as the settings in `results.jsonl` say. FBCP prunes what "
        "it is given; the rank that it finds for all is what is left of the largest.\n"
    )


def _how_often(frame: Table) -> str:
    """Say how many splits there are; tensors on which fits take long have fewer."""
    counts = repeats(frame).groupby("dataset", sort=False)["repeat"].nunique()
    if counts.empty:
        return "no times"
    most = counts.max()
    fewer = [f"{n} on {name}" for name, n in counts.items() if n < most]
    often = "once" if most == 1 else f"{most} times"
    return often + (f" ({', '.join(fewer)})" if fewer else "")


def _choice(frame: Table, study: Study) -> str:
    folds = frame[frame["comparison"] == CHOICE]
    if folds.empty:
        return "There was nothing to choose."
    by_method = folds[folds["method"] != "VAECP"]
    each = by_method if len(by_method) else folds
    n_used, n_folds = each["fold"].nunique(), each["n_folds"].max()
    if each["repeat"].max() == 0:
        return (
            f"Settings are chosen by {n_used} of {n_folds} folds of the training entries of the first "
            "split and kept for the others, to bound the cost: no test entry of the first split enters "
            "the choice, but the other splits are drawn from the same entries."
        )
    return (
        f"Settings are chosen anew on every split, by {n_used} of {n_folds} folds of its training "
        f"entries: no entry takes part in a choice that it is scored under.{_ladder(study)}"
    )


def _ladder(study: Study) -> str:
    if study.protocol.patience is None:
        return ""
    return (
        " Ranks are tried upwards, for every method in the same way, and with each ridge or kernel "
        f"anew: after {study.protocol.patience} in a row without a lower error, larger ones are not "
        "tried."
    )


def tried(frame: Table) -> str:
    """Return a table of the settings that there were to choose from."""
    folds = frame[(frame["comparison"] == CHOICE) & frame["rank"].notna()]
    if folds.empty:
        return ""
    found = folds.groupby(["dataset", "method"], sort=False).apply(_range, include_groups=False)
    return f"### Ranks tried\n\n{markdown(_spread(found, folds))}"


def _range(group: Table) -> str:
    ranks = sorted(set(group["rank"]))
    also = {
        f"{key} {value}"
        for settings in group["settings"]
        for key, value in json.loads(settings).items()
        if key in CHOSEN
    }
    return ", ".join(map(str, ranks)) + "".join(f"; or {text}" for text in sorted(also))


def _spread(found: Table, rows: Table) -> Table:
    """Return a row per dataset and a column per method."""
    table = found.unstack("method")
    ordered = [name for name in all_methods() if name in table]
    return table.reindex(index=rows["dataset"].unique(), columns=ordered).fillna("").reset_index()


def chosen(frame: Table, comparison: str) -> str:
    """Ranks on the splits, and what else there was a choice of."""
    reported = repeats(frame)
    reported = reported[reported["comparison"] == comparison]
    if reported.empty:
        return ""
    found = reported.groupby(["dataset", "method"], sort=False).apply(
        _settings_in_words, include_groups=False
    )
    return f"### Settings, {comparison}\n\n{markdown(_spread(found, reported))}"


def _settings_in_words(group: Table) -> str:
    """Name what was chosen, the most frequent first, with how often."""
    words: Counter[str] = Counter()
    for settings, found in zip(group["settings"], group["rank_found"], strict=True):
        given = json.loads(settings)
        named = [str(given["rank"])] if "rank" in given else []
        if len(group) and "rank" in given and not pd.isna(found):
            named = [f"{found} of {given['rank']}"]
        named += [f"{key} {given[key]}" for key in CHOSEN if key in given]
        words[", ".join(named)] += 1
    return "; ".join(
        f"{text} ({n}x)" if len(words) > 1 else text for text, n in words.most_common()
    )


def at_the_limit(frame: Table) -> list[str]:
    """Name the methods that took the largest rank they had, or the smallest: others might be better."""
    reported = repeats(frame)
    reported = reported[reported["rank"].notna() & (reported["comparison"] == BEST)]
    tried = frame[(frame["comparison"] == CHOICE) & frame["rank"].notna()]
    ends = tried.groupby(["dataset", "method"])["rank"].agg(["min", "max"])
    found: dict[str, list[str]] = {"largest": [], "smallest": []}
    for (dataset, method), group in reported.groupby(["dataset", "method"], sort=False):
        least, most = _ends(group, ends, (dataset, method))
        prunes = method == "FBCP"
        kept = group["rank_found"] if prunes else group["rank"]
        hits = {"largest": kept >= most, "smallest": (kept <= least) & (not prunes)}
        for which, hit in hits.items():
            if hit.any():
                found[which].append(
                    f"{method} on {dataset} ({int(hit.sum())} of {len(group)} splits)"
                )
    return [
        f"Methods that took the {which} rank that they had: {'; '.join(lines) or 'none'}.\n"
        for which, lines in found.items()
    ]


def _ends(group: Table, ends: Table, place: tuple[Any, Any]) -> tuple[float, float]:
    """Return the first and the last rank there was; none bound a method that had no choice."""
    if place in ends.index:
        least, most = ends.loc[place]
        return least, most
    return -np.inf, float(group["rank"].max()) if place[1] == "FBCP" else np.inf


def not_converged(frame: Table) -> list[str]:
    """Say how many of the reported fits had not converged, by their record or by a warning."""
    reported = repeats(frame)
    warned = reported["warning"].str.contains("stopped after", na=False)
    stopped = reported[warned | ~reported["converged"].fillna(value=True)]
    lines = [
        f"{method} on {dataset} ({len(group)} fits)"
        for (dataset, method), group in stopped.groupby(["dataset", "method"], sort=False)
    ]
    return [f"Fits that stopped before they converged: {'; '.join(lines) or 'none'}.\n"]
