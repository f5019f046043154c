"""`vaecp compare` and `vaecp rank`: the methods on a person's own file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vaecp.commands.options import (
    Absent,
    AbsentOption,
    Duplicates,
    DuplicatesOption,
    Folder,
    Folds,
    Jobs,
    Modes,
    Quick,
    Ranks,
    Repeats,
    Retry,
    Seed,
    Source,
    Value,
    Variable,
    Wide,
    n_jobs,
    numbers,
    print_rows,
    read_input,
    resumable,
    text_of,
)

if TYPE_CHECKING:
    from vaecp.experiments import Verdict
    from vaecp.observations import Observations

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
Methods = Annotated[str | None, typer.Option(help="Which methods, with commas: all seven.")]


def compare(
    source: Source,
    modes: Modes = None,
    value: Value = None,
    variable: Variable = None,
    wide: Wide = None,
    absent: AbsentOption = Absent.unknown,
    duplicates: DuplicatesOption = Duplicates.error,
    repeats: Repeats = None,
    folds: Folds = None,
    methods: Methods = None,
    ranks: Ranks = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    output: Folder = None,
    quick: Quick = False,
    retry_failed: Retry = False,
) -> None:
    """Compare the methods on INPUT: hide entries, predict them, and name the best.

    Every method chooses its rank by cross-validation, never on the hidden entries. Finished
    runs are kept in the output folder, and are not made again.
    """
    from vaecp import experiments
    from vaecp.extras import require

    require("matplotlib", "plots", "the box plot")
    tried = numbers("--ranks", ranks) if ranks else QUICK_RANKS if quick else RANKS
    names = _names(methods, list(experiments.METHODS))
    candidates = experiments.candidates(names, tried, QUICK_BUDGETS if quick else None)
    observations = read_input(source, modes, value, variable, wide, absent, duplicates)
    folder = output or Path(f"{source.stem}-compare")
    protocol = experiments.Protocol(
        repeats=repeats or (3 if quick else 10), folds=folds or (2 if quick else 5), seed=seed
    )
    case = experiments.Case(source.name, observations, candidates)
    results = experiments.Results(folder)
    with resumable(folder):
        made = experiments.compare(
            [case], protocol, results, jobs=n_jobs(jobs), show=True, retry_failed=retry_failed
        )
    title = _title(source, protocol.repeats, quick)
    frame = results.frame(made.runs)
    table = experiments.summarise(frame)
    for line in experiments.failures(frame):
        typer.echo(f"vaecp: {line}", err=True)
    if table.empty:
        raise _nothing_measured(folder)
    shown = table[list(SHOWN)]
    rows = [[text_of(cell) for cell in row] for row in shown.itertuples(index=False)]
    print_rows([name.replace("_", " ") for name in SHOWN], rows, title)
    _write(folder, experiments.markdown(shown), _boxes(frame, title))
    verdict = experiments.winner(frame)
    if verdict is not None:
        rank = int(table["rank"].iloc[0])
        reading = _reading(modes, value, variable, absent, duplicates)
        _announce(verdict, source, rank, reading, folder)


def rank(
    source: Source,
    modes: Modes = None,
    value: Value = None,
    variable: Variable = None,
    wide: Wide = None,
    absent: AbsentOption = Absent.unknown,
    duplicates: DuplicatesOption = Duplicates.error,
    folds: Folds = None,
    ranks: Ranks = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    output: Folder = None,
    quick: Quick = False,
    retry_failed: Retry = False,
) -> None:
    """Show how the error of VAECP on INPUT depends on the rank, by cross-validation."""
    from vaecp import experiments
    from vaecp.extras import require

    require("matplotlib", "plots", "the rank curve")
    tried = numbers("--ranks", ranks) if ranks else QUICK_RANKS if quick else CURVE
    observations = read_input(source, modes, value, variable, wide, absent, duplicates)
    folder = output or Path(f"{source.stem}-rank")
    results = experiments.Results(folder)
    frame = _curve(
        source, observations, tried, results, folder, folds, seed, jobs, quick, retry_failed
    )
    for line in experiments.failures(frame):
        typer.echo(f"vaecp: {line}", err=True)
    measured = frame[frame["rmse"].notna()]
    if measured.empty:
        raise _nothing_measured(folder)
    means = measured.groupby("rank")["rmse"].agg(["mean", "min", "max"])
    rows = [
        [str(r), *(f"{cell:.4g}" for cell in row)]
        for r, row in zip(means.index, means.to_numpy(), strict=True)
    ]
    title = f"VAECP on {source.name}: cross-validated RMSE" + (" (quick)" if quick else "")
    print_rows(["rank", "mean", "lowest fold", "highest fold"], rows, title)
    from vaecp.plots import plot_rank_curve

    ax = plot_rank_curve(measured)
    ax.set_title(title)
    _save(ax, folder / "rank.png")
    best = int(means["mean"].idxmin())
    reading = _reading(modes, value, variable, absent, duplicates)
    typer.echo(
        f"The lowest is at rank {best}. To fit it:\n\n  {_command(source, 'VAECP', best, reading)}\n"
    )
    typer.echo(f"Written: {folder / 'rank.png'}, {results.path}")


def _curve(
    source: Path,
    observations: Observations,
    ranks: tuple[int, ...],
    results: Any,
    folder: Path,
    folds: int | None,
    seed: int,
    jobs: int | None,
    quick: bool,
    retry_failed: bool,
) -> Any:
    """Make the folds of VAECP, and return their rows."""
    from vaecp import experiments

    candidates = experiments.candidates(["VAECP"], ranks, QUICK_BUDGETS if quick else None)
    case = experiments.Case(source.name, observations, candidates)
    protocol = experiments.Protocol(folds=folds or (2 if quick else 5), seed=seed)
    runs = experiments.fold_runs(case, protocol, always=True)
    with resumable(folder):
        experiments.carry_out(
            runs,
            {case.data: observations},
            results,
            jobs=n_jobs(jobs),
            title="Folds",
            show=True,
            retry_failed=retry_failed,
        )
    return results.frame(runs)


def _names(methods: str | None, known: list[str]) -> list[str]:
    """Return the methods asked for; the published recipe only by name, since it collapses."""
    if methods is None:
        return [name for name in known if name != "VAECP.paper"]
    return list(dict.fromkeys(name.strip() for name in methods.split(",")))


def _title(source: Path, repeats: int, quick: bool) -> str:
    splits = f"{repeats} split{'s' if repeats > 1 else ''}"
    return f"{source.name}: RMSE of hidden entries, {splits}{', quick run' if quick else ''}"


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


def _write(folder: Path, table: str, ax: Any) -> None:
    from vaecp.files import whole_file

    with whole_file(folder / "table.md") as temporary:
        temporary.write_text(table, encoding="utf-8")
    _save(ax, folder / "rmse.png")


def _save(ax: Any, path: Path) -> None:
    from vaecp.files import whole_file

    with whole_file(path) as temporary:
        ax.figure.savefig(temporary, dpi=150)


def _reading(
    modes: str | None,
    value: str | None,
    variable: str | None,
    absent: Absent,
    duplicates: Duplicates,
) -> list[str]:
    """Return the reading options that differ from the defaults, to be given again."""
    given = {"--modes": modes, "--value": value, "--variable": variable}
    if absent is not Absent.unknown:
        given["--absent"] = absent.value
    if duplicates is not Duplicates.error:
        given["--duplicates"] = duplicates.value
    return [word for option, text in given.items() if text for word in (option, text)]


def _command(source: Path, method: str, rank: int, reading: list[str]) -> str:
    words = ["vaecp", "complete", str(source), "-o", f"{source.stem}-filled.csv"]
    named = [] if method == "VAECP" else ["--method", method]
    return shlex.join([*words, *named, "--rank", str(rank), *reading])


def _announce(verdict: Verdict, source: Path, rank: int, reading: list[str], folder: Path) -> None:
    alone = verdict.method == verdict.rival
    sure = "the only method that was measured" if alone else verdict.words
    typer.echo(f"Best: {verdict.method} ({sure}). To fit it:\n")
    typer.echo(f"  {_command(source, verdict.method, rank, reading)}\n")
    typer.echo(
        f"Written: {', '.join(str(folder / n) for n in ('table.md', 'rmse.png', 'results.json'))}"
    )
