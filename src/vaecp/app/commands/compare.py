"""`vaecp compare`: the methods on a person's own file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vaecp.app.commands import suggestions
from vaecp.app.commands.measuring import (
    QUICK_RANKS,
    command_for,
    kept_results,
    nothing_measured,
    ranks_of,
    read_entries,
    settings_for,
    tell,
    told_failures,
)
from vaecp.app.commands.options import (
    EFFORT,
    Printing,
    Source,
    Trials,
    Values,
    likelihood_of,
    resumable,
)
from vaecp.app.commands.printing import print_notes
from vaecp.app.commands.reading import Reading, Text
from vaecp.models import registry
from vaecp.runtime.files import write_figure, write_text

if TYPE_CHECKING:
    from vaecp.data.observations import Observations
    from vaecp.study.experiments import Verdict

RANKS = (5, 10, 20, 40)
SHOWN = (
    "method",
    "rank",
    "median",
    "lower_quartile",
    "upper_quartile",
    "nll",
    "crps",
    "coverage_90",
    "seconds",
)
QUARTILES = ["lower_quartile", "upper_quartile"]
"""Are in the file, but not printed: a terminal is narrow."""
COMPARE = """Examples:

$ vaecp compare spectra.csv --quick

$ vaecp compare spectra.csv --methods VAECP,CPALS,FBCP --repeats 5

$ vaecp compare spectra.csv --gaps fibres:emission"""


def _compared() -> list[str]:
    return [name for name, method in registry.methods().items() if method.compared]


Methods = Annotated[
    str | None,
    typer.Option(
        help=f"Methods to compare, separated by commas: {', '.join(_compared())} by default.",
        autocompletion=suggestions.methods,
        rich_help_panel=EFFORT,
    ),
]
Repeats = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of 80/20 splits; 10 by default, 3 with --quick.", rich_help_panel=EFFORT
    ),
]
Gaps = Annotated[
    str,
    typer.Option(
        help="Pattern of the hidden entries: scattered, fibres:MODE, slabs:MODE, blocks:MODE,MODE or "
        "moved (the pattern of INPUT's own gaps, in other places). MODE is a name, or a number from 0."
    ),
]


def compare(
    source: Source,
    reading: Reading,
    text: Text,
    trials: Trials,
    printing: Printing,
    methods: Methods = None,
    repeats: Repeats = None,
    gaps: Gaps = "scattered",
    values: Values = "auto",
) -> None:
    """Compare the methods on INPUT: hide entries, predict them, and name the best.

    Every method chooses its rank by cross-validation on the entries that the first split leaves
    visible, and keeps it for the other splits. Finished runs are kept in the output folder, and are
    not made again.
    """
    from vaecp.runtime.extras import require
    from vaecp.study import experiments

    require("matplotlib", "plots", "the box plot")
    tried = ranks_of(trials, QUICK_RANKS if trials.quick else RANKS)
    own = trials.ranks is None
    candidates = experiments.candidates(_names(methods), tried, settings_for(values), own_rank=own)
    observations = read_entries(source, reading, text, printing)
    notes = _real_numbers(observations, values, candidates)
    print_notes(notes, printing)
    case = experiments.Case(source.name, observations, candidates)
    folder = trials.output or Path(f"{source.stem}-compare")
    n_repeats = repeats or (3 if trials.quick else 10)
    protocol = trials.protocol(repeats=n_repeats, gaps=_pattern(gaps, observations))
    frame = _repeats(case, protocol, folder, trials, printing)
    failed, verdict = told_failures(frame, printing), experiments.winner(frame)
    if verdict is None:
        raise nothing_measured(folder)
    title = _title(source, n_repeats, trials.quick)
    shown = _written(frame, folder, title)
    best, options = verdict.method, reading.words(text)
    account = {
        "input": source,
        "table": shown.to_dict("records"),
        "best": best,
        "certainty": _certainty(verdict),
        "command": command_for(source, best, shown["rank"].iloc[0], options, values),
        "notes": [*observations.notes, *notes],
        "failures": failed,
        "written": [folder / name for name in ("table.md", "rmse.png", "results.jsonl")],
    }
    printed = shown.drop(columns=QUARTILES)
    tell(account, printed, title, f"Best: {best} ({account['certainty']}).", printing)


def _written(frame: Any, folder: Path, title: str) -> Any:
    """Write table and picture, and return the table."""
    from vaecp.study import experiments

    table = experiments.summarise(frame)
    of_classes = [name for name in ("auc", "brier") if table[name].notna().any()]
    shown = table[[*SHOWN, *of_classes]]
    write_text(folder / "table.md", experiments.markdown(shown))
    write_figure(folder / "rmse.png", _boxes(frame, title).figure)
    return shown


def _repeats(case: Any, protocol: Any, folder: Path, trials: Trials, printing: Printing) -> Any:
    """Make the folds and the repeats of every method, and return their rows."""
    from vaecp.study import experiments

    results = kept_results(folder, printing)
    with resumable(folder):
        made = experiments.compare(
            [case],
            protocol,
            results,
            **trials.options(printing.for_people),
        )
    return results.frame(made.runs)


def _names(methods: str | None) -> list[str]:
    """Return the methods asked for, or all that are compared by default."""
    if methods is None:
        return _compared()
    return list(dict.fromkeys(registry.find(name).name for name in methods.split(",")))


def _pattern(gaps: str, observations: Observations) -> str:
    """Return the pattern with its modes as numbers, or say before any run why it cannot be."""
    import numpy as np

    from vaecp.data.gaps import GapPattern, held_out

    pattern = GapPattern.parse(gaps, mode_names=observations.mode_names)
    held_out(pattern, observations, np.random.default_rng(0))
    return str(pattern)


def _title(source: Path, repeats: int, quick: bool) -> str:
    splits = f"{repeats} split{'s' if repeats > 1 else ''}"
    return f"{source.name}: RMSE of hidden entries, {splits}{', quick run' if quick else ''}"


def _boxes(frame: Any, title: str) -> Any:
    from vaecp.show.plots import plot_rmse_boxes
    from vaecp.study.experiments.tables import repeats

    ax = plot_rmse_boxes(repeats(frame))
    ax.set_title(title)
    return ax


def _real_numbers(observations: Observations, values: str, methods: Iterable[str]) -> list[str]:
    """Say which methods take values for real numbers that VAECP may take for something else."""
    from vaecp.models.vaecp.likelihoods.choice import plausible

    names = plausible(observations.values).names if values == "auto" else (likelihood_of(values),)
    aware = ("VAECP", "InfTucker") if names == ("bernoulli",) else ("VAECP",)
    others = [name for name in methods if name not in aware]
    if not others or names == ("gaussian",):
        return []
    return [f"{', '.join(others)} take all values for real numbers, whatever they are."]


def _certainty(verdict: Verdict) -> str:
    alone = verdict.method == verdict.rival
    return "the only method that was measured" if alone else verdict.words
