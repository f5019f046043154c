"""`vaecp compare` and `vaecp rank`: the methods on a person's own file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vaecp.commands import suggestions
from vaecp.commands.options import (
    EFFORT,
    Effort,
    Printing,
    Reading,
    Source,
    numbers,
    resumable,
)
from vaecp.commands.printing import as_json, print_rows, text_of

if TYPE_CHECKING:
    from vaecp.experiments import Verdict

RANKS, QUICK_RANKS = (5, 10, 20, 40), (3, 10)
CURVE = (5, 10, 15, 20, 30, 40, 50, 75, 100)
QUICK_BUDGETS: dict[str, dict[str, Any]] = {
    "VAECP": {"max_epochs": 60, "n_members": 2},
    "VAECP.paper": {"max_epochs": 10},
    "CPALS": {"max_iter": 80},
    "NCP": {"max_iter": 80},
    "HOSVD": {"max_iter": 80},
    "TuckerALS": {"max_iter": 80},
    "FBCP": {"max_iter": 80, "n_starts": 2},
    "InfTucker": {"max_iter": 8},
}
SHOWN = ("method", "rank", "median", "lower_quartile", "upper_quartile", "coverage_90", "seconds")
COMPARE = """Examples:

$ vaecp compare spectra.csv --quick

$ vaecp compare spectra.csv --methods VAECP,CPALS,FBCP --repeats 5"""
RANK = """Examples:

$ vaecp rank spectra.csv --quick

$ vaecp rank spectra.csv --ranks 5,10,20,40"""

Methods = Annotated[
    str | None,
    typer.Option(
        help="Which methods, with commas: all seven.",
        autocompletion=suggestions.methods,
        rich_help_panel=EFFORT,
    ),
]
Repeats = Annotated[
    int | None, typer.Option(min=1, help="How many 80/20 splits: 10.", rich_help_panel=EFFORT)
]


def compare(
    source: Source,
    reading: Reading,
    effort: Effort,
    printing: Printing,
    methods: Methods = None,
    repeats: Repeats = None,
) -> None:
    """Compare the methods on INPUT: hide entries, predict them, and name the best.

    Every method chooses its rank by cross-validation, never on the hidden entries. Finished
    runs are kept in the output folder, and are not made again.
    """
    from vaecp import experiments
    from vaecp.extras import require

    require("matplotlib", "plots", "the box plot")
    quick = effort.quick
    tried = _ranks(effort, QUICK_RANKS if quick else RANKS)
    names = _names(methods, list(experiments.METHODS))
    candidates = experiments.candidates(names, tried, QUICK_BUDGETS if quick else None)
    case = experiments.Case(source.name, reading.read(source), candidates)
    folder = effort.output or Path(f"{source.stem}-compare")
    protocol = experiments.Protocol(
        repeats=repeats or (3 if quick else 10), folds=effort.n_folds, seed=effort.seed
    )
    frame = _repeats(case, protocol, folder, effort, printing)
    failed, table = _told_failures(frame, printing), experiments.summarise(frame)
    verdict = experiments.winner(frame)
    if verdict is None:
        raise _nothing_measured(folder)
    title = _title(source, protocol.repeats, quick)
    shown = table[list(SHOWN)]
    _write(folder / "table.md", experiments.markdown(shown))
    _save(_boxes(frame, title), folder / "rmse.png")
    command = _command(source, verdict.method, int(table["rank"].iloc[0]), reading)
    account = {
        "input": source,
        "table": shown.to_dict("records"),
        "best": verdict.method,
        "certainty": _certainty(verdict),
        "command": command,
        "failures": failed,
        "written": [folder / name for name in ("table.md", "rmse.png", "results.json")],
    }
    rows = [[text_of(cell) for cell in row] for row in shown.itertuples(index=False)]
    headline = f"Best: {verdict.method} ({account['certainty']})."
    _tell(account, [name.replace("_", " ") for name in SHOWN], rows, title, headline, printing)


def rank(source: Source, reading: Reading, effort: Effort, printing: Printing) -> None:
    """Show how the error of VAECP on INPUT depends on the rank, by cross-validation.

    Finished runs are kept in the output folder, and are not made again.
    """
    from vaecp import experiments
    from vaecp.extras import require

    require("matplotlib", "plots", "the rank curve")
    tried = _ranks(effort, QUICK_RANKS if effort.quick else CURVE)
    budgets = QUICK_BUDGETS if effort.quick else None
    candidates = experiments.candidates(["VAECP"], tried, budgets)
    case = experiments.Case(source.name, reading.read(source), candidates)
    folder = effort.output or Path(f"{source.stem}-rank")
    results = experiments.Results(folder)
    frame = _curve(case, results, folder, effort, printing)
    failed = _told_failures(frame, printing)
    measured = frame[frame["rmse"].notna()]
    if measured.empty:
        raise _nothing_measured(folder)
    means = measured.groupby("rank")["rmse"].agg(["mean", "min", "max"])
    title = f"VAECP on {source.name}: cross-validated RMSE" + (" (quick)" if effort.quick else "")
    _save(_rank_curve(measured, title), folder / "rank.png")
    best = int(means["mean"].idxmin())
    account = {
        "input": source,
        "table": means.reset_index().to_dict("records"),
        "best_rank": best,
        "command": _command(source, "VAECP", best, reading),
        "failures": failed,
        "written": [folder / "rank.png", results.path],
    }
    rows = [
        [str(r), *(f"{cell:.4g}" for cell in row)]
        for r, row in zip(means.index, means.to_numpy(), strict=True)
    ]
    columns = ["rank", "mean", "lowest fold", "highest fold"]
    _tell(account, columns, rows, title, f"The lowest is at rank {best}.", printing)


def _repeats(case: Any, protocol: Any, folder: Path, effort: Effort, printing: Printing) -> Any:
    """Make the folds and the repeats of every method, and return their rows."""
    from vaecp import experiments

    results = experiments.Results(folder)
    with resumable(folder):
        made = experiments.compare(
            [case],
            protocol,
            results,
            jobs=effort.n_jobs,
            show=printing.for_people,
            retry_failed=effort.retry_failed,
        )
    return results.frame(made.runs)


def _curve(case: Any, results: Any, folder: Path, effort: Effort, printing: Printing) -> Any:
    """Make the folds of VAECP, and return their rows."""
    from vaecp import experiments

    protocol = experiments.Protocol(folds=effort.n_folds, seed=effort.seed)
    runs = experiments.fold_runs(case, protocol, always=True)
    with resumable(folder):
        experiments.carry_out(
            runs,
            {case.data: case.observations},
            results,
            jobs=effort.n_jobs,
            title="Folds",
            show=printing.for_people,
            retry_failed=effort.retry_failed,
        )
    return results.frame(runs)


def _ranks(effort: Effort, default: tuple[int, ...]) -> tuple[int, ...]:
    return numbers("--ranks", effort.ranks) if effort.ranks else default


def _names(methods: str | None, known: list[str]) -> list[str]:
    """Return the methods asked for; the published recipe only by name, since it collapses."""
    if methods is None:
        return [name for name in known if name != "VAECP.paper"]
    return list(dict.fromkeys(name.strip() for name in methods.split(",")))


def _title(source: Path, repeats: int, quick: bool) -> str:
    splits = f"{repeats} split{'s' if repeats > 1 else ''}"
    return f"{source.name}: RMSE of hidden entries, {splits}{', quick run' if quick else ''}"


def _told_failures(frame: Any, printing: Printing) -> list[str]:
    """Return one line per method that failed, and show them unless nothing is to be shown."""
    from vaecp import experiments

    lines = experiments.failures(frame)
    nothing_measured = not frame["rmse"].notna().any()
    for line in lines if printing.for_people or nothing_measured else []:
        typer.echo(f"vaecp: {line}", err=True)
    return lines


def _nothing_measured(folder: Path) -> Exception:
    from vaecp.errors import VaecpError

    return VaecpError(
        f"every run failed, so there is nothing to compare: the messages are in {folder}; mend "
        "the cause, and start again with --retry-failed."
    )


def _boxes(frame: Any, title: str) -> Any:
    from vaecp.experiments.tables import repeats
    from vaecp.plots import plot_rmse_boxes

    ax = plot_rmse_boxes(repeats(frame))
    ax.set_title(title)
    return ax


def _rank_curve(measured: Any, title: str) -> Any:
    from vaecp.plots import plot_rank_curve

    ax = plot_rank_curve(measured)
    ax.set_title(title)
    return ax


def _write(path: Path, text: str) -> None:
    from vaecp.files import whole_file

    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _save(ax: Any, path: Path) -> None:
    from vaecp.files import whole_file

    with whole_file(path) as temporary:
        ax.figure.savefig(temporary, dpi=150)


def _command(source: Path, method: str, rank: int, reading: Reading) -> str:
    words = ["vaecp", "complete", str(source), "-o", f"{source.stem}-filled.csv"]
    named = [] if method == "VAECP" else ["--method", method]
    return shlex.join([*words, *named, "--rank", str(rank), *reading.words()])


def _certainty(verdict: Verdict) -> str:
    alone = verdict.method == verdict.rival
    return "the only method that was measured" if alone else verdict.words


def _tell(
    account: dict[str, Any],
    columns: list[str],
    rows: list[list[str]],
    title: str,
    headline: str,
    printing: Printing,
) -> None:
    """Print the account to a machine, or the table, the best and what to do next to a person."""
    if printing.as_json:
        as_json(account)
    elif not printing.quiet:
        print_rows(columns, rows, title)
        typer.echo(f"{headline} To fit it:\n\n  {account['command']}\n")
        typer.echo(f"Written: {', '.join(map(str, account['written']))}")
