"""The command line: parse, call, print.

Nothing heavy is imported before a command runs, so that `--help` answers at once.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from vaecp import __version__
from vaecp.commands import compare, datasets, reproduce
from vaecp.commands.options import (
    Absent,
    AbsentOption,
    Duplicates,
    DuplicatesOption,
    Modes,
    Seed,
    Source,
    Value,
    Variable,
    Wide,
    read_input,
)
from vaecp.errors import FormatError, VaecpError

if TYPE_CHECKING:
    from vaecp.models.base import TensorEstimator


class OneLineErrors(TyperGroup):
    """Says what went wrong in one line on standard error, without a traceback."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        code = 0
        try:
            code = super().main(*args, standalone_mode=False, **extra) or 0
        except VaecpError as error:
            code = _complain(str(error))
        except OSError as error:
            code = _complain(f"{error.filename or 'file'}: {error.strerror or error}")
        except Exception as error:
            usage = getattr(error, "format_message", None)
            if usage is None:  # a bug, which is shown
                raise
            message = usage()  # empty where the help has been printed instead
            code = _complain(f"{message} Try 'vaecp --help'.") if message else 2
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("vaecp: interrupted.", err=True)
            raise typer.Exit(130) from None


def _complain(message: str) -> int:
    typer.echo(f"vaecp: error: {' '.join(message.split())}", err=True)
    return 2


app = typer.Typer(
    cls=OneLineErrors,
    name="vaecp",
    help="Fill the gaps of tables and arrays with several modes, and say how sure each value is.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


Coverage = Annotated[float, typer.Option(help="Probability that low to high holds the value.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write; its suffix decides.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vaecp {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Fill the gaps of tables and arrays with several modes, and say how sure each value is."""


def default_model(rank: int | None, seed: int) -> TensorEstimator:
    """Return the unfitted model that the commands use."""
    from vaecp.models.vaecp import VAECP

    return VAECP(random_state=seed) if rank is None else VAECP(rank=rank, random_state=seed)


def _named_model(method: str, rank: int | None, seed: int) -> TensorEstimator:
    from vaecp.experiments import build

    return build(method, {} if rank is None else {"rank": rank}, seed)


@app.command()
def complete(
    source: Source,
    output: Output,
    modes: Modes = None,
    value: Value = None,
    variable: Variable = None,
    wide: Wide = None,
    absent: AbsentOption = Absent.unknown,
    duplicates: DuplicatesOption = Duplicates.error,
    method: Annotated[
        str | None, typer.Option(help="Another method than VAECP, such as CPALS.")
    ] = None,
    rank: Annotated[int | None, typer.Option(min=1, help="Width of the latent rows.")] = None,
    seed: Seed = 0,
    coverage: Coverage = 0.9,
    save: Annotated[Path | None, typer.Option(help="Also write the fitted model here.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fill every gap of INPUT, with standard deviation and interval of each entry."""
    _check_coverage(coverage)
    from vaecp.files import check_target
    from vaecp.formats import check_writable, write_completion

    check_writable(output)
    if save is not None:
        check_target(save)
    _refuse_overwriting(source, output, save)
    if save is not None and save.resolve() == output.resolve():
        raise FormatError(f"{save}: is named for the table and for the model: name two files.")
    observations = read_input(source, modes, value, variable, wide, absent, duplicates)
    model = _named_model(method, rank, seed) if method else default_model(rank, seed)
    from vaecp.completion import complete as complete_tensor

    started = time.perf_counter()
    with _working(f"Fitting {observations!r}", quiet or as_json):
        result = complete_tensor(observations, model, coverage)
        if save is not None:
            from vaecp.store import save as save_model

            save_model(result.model, save)
        write_completion(result, output)
    summary = {
        "input": str(source),
        "output": str(output),
        "shape": list(observations.shape),
        "observed": len(observations),
        "gaps filled": len(observations.gaps()),
        "mean std of the gaps": _mean_or_none(result.std[~result.observed]),
        "seconds": round(time.perf_counter() - started, 2),
    }
    if save is not None:
        summary["model"] = str(save)
    if not result.model.standardiser_.scale:
        summary["note"] = "all observed values are equal, so nothing is known of their spread"
    _print_summary(summary, quiet, as_json)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Written by --save.")],
    queries: Annotated[Path, typer.Argument(metavar="QUERIES", help="Table of labels.")],
    output: Output,
    coverage: Coverage = 0.9,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Predict the entries that QUERIES lists: its columns, and mean, std, low and high."""
    _check_coverage(coverage)
    from vaecp.formats import check_writable, read_frame, write_frame

    check_writable(output, tables_only=True)
    _refuse_overwriting(queries, output)
    _refuse_overwriting(model, output)
    frame = read_frame(queries)
    from vaecp.queries import answer
    from vaecp.store import load

    answered, n_unseen = answer(load(model), frame, str(queries), coverage)
    write_frame(answered, output)
    summary = {"output": str(output), "predicted": len(answered), "with unseen labels": n_unseen}
    _print_summary(summary, quiet, as_json)


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write into.")] = Path(
        "vaecp-demo"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same result.")] = 0,
) -> None:
    """Fill the gaps of a real tensor that ships with TensorLy, and check it on hidden entries."""
    from vaecp import demo as story

    story.check_folder(output)
    with _working("Fitting immune responses to interleukin 2 (13 x 4 x 12 x 8)", quiet=False):
        result = story.run(default_model(None, seed), _rivals(seed), seed)
        written = story.write_results(result, output)
    completion = result.completion
    rows = {
        "entries observed": f"{len(completion.observations):,}",
        "gaps filled": f"{len(completion.observations.gaps()):,}",
        "entries hidden to check": f"{result.n_held_out:,}",
        **{f"RMSE there: {name}": f"{error:.4f}" for name, error in result.rmse.items()},
        "inside the 90 % interval": f"{result.coverage:.1%}",
        "seconds to fit and fill": f"{result.seconds:.1f}",
        "written": ", ".join(map(str, written)),
    }
    _print_table(rows, "Immune responses to interleukin 2")


app.command()(compare.compare)
app.command()(compare.rank)
app.command()(reproduce.reproduce)
app.add_typer(datasets.app, name="datasets")


def _rivals(seed: int) -> dict[str, TensorEstimator]:
    from vaecp.models.cp import CPALS

    return {"masked CP": CPALS(random_state=seed)}


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise typer.BadParameter(
            f"coverage is {coverage}: use a number between 0 and 1, such as 0.9."
        )


def _refuse_overwriting(source: Path, *targets: Path | None) -> None:
    for target in targets:
        if target is not None and source.resolve() == target.resolve():
            raise FormatError(f"{target}: is the input, which is not overwritten: name another.")


def _mean_or_none(values: Any) -> float | None:
    return float(values.mean()) if values.size else None


def _working(message: str, quiet: bool) -> Any:
    """Show that something happens, on standard error and only to a person."""
    from rich.console import Console

    return Console(stderr=True, quiet=quiet).status(message)


def _print_summary(summary: dict[str, Any], quiet: bool, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({key.replace(" ", "_"): value for key, value in summary.items()}))
    elif not quiet:
        shown = {key: value for key, value in summary.items() if value is not None}
        _print_table({key: _text(value) for key, value in shown.items()})


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " x ".join(map(str, value))
    return f"{value:,.4g}" if isinstance(value, float) else f"{value}"


def _print_table(rows: dict[str, str], title: str | None = None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, box=box.SIMPLE, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(value))
    Console().print(table)


def main() -> None:
    """Run the command line."""
    app(prog_name="vaecp")


if __name__ == "__main__":
    main()
