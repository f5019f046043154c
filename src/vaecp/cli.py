"""The command line: parse, call, print.

Nothing heavy is imported before a command runs, so that `--help` answers at once.

Exit codes: 0 done; 1 a bug, which is shown with its traceback; 2 wrong usage or input; 130
interrupted with Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from vaecp import __version__
from vaecp.commands import compare, datasets, report, reproduce, suggestions
from vaecp.commands.demo import DemoFolder, demonstrate
from vaecp.commands.grouping import grouped
from vaecp.commands.options import Coverage, Output, Printing, Reading, Seed, Source
from vaecp.commands.printing import (
    as_json,
    kept_warnings,
    print_summary,
    text_of,
    working,
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
        except BrokenPipeError:
            # Whoever read the output has seen enough; Python would complain again at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 1
        except OSError as error:
            code = _complain(f"{error.filename or 'file'}: {error.strerror or error}")
        except typer.Abort:
            code = _interrupted()
        except Exception as error:
            usage = getattr(error, "format_message", None)
            if usage is None:  # a bug, which is shown
                raise
            message = usage()  # empty where the help has been printed instead
            context = getattr(error, "ctx", None)
            command = context.command_path if context else "vaecp"
            stop = "" if message.endswith((".", "?")) else "."
            code = _complain(f"{message}{stop} Try '{command} --help'.") if message else 2
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(_interrupted()) from None


def _complain(message: str) -> int:
    typer.echo(f"vaecp: error: {' '.join(message.split())}", err=True)
    return 2


def _interrupted() -> int:
    typer.echo(
        "vaecp: interrupted. No file is left half-written: the same command starts anew.", err=True
    )
    return 130


app = typer.Typer(
    cls=OneLineErrors,
    name="vaecp",
    help="Fill the gaps of tables and arrays with several modes, and say how sure each value is.",
    epilog="""Start here:

$ vaecp demo

$ vaecp complete table.csv -o filled.csv

$ vaecp --install-completion""",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
)


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


COMPLETE = """Examples:

$ vaecp complete spectra.csv -o filled.csv

$ vaecp complete spectra.csv -o filled.csv --save spectra.vaecp

$ vaecp complete spectra.csv -o filled.csv --report report.html

$ vaecp complete wide.csv --wide wavelength -o filled.parquet

$ vaecp complete log.csv --modes user,item --value stars -o filled.csv"""


@app.command(epilog=COMPLETE)
@grouped
def complete(
    source: Source,
    output: Output,
    reading: Reading,
    printing: Printing,
    method: Annotated[
        str | None,
        typer.Option(
            help="Another method than VAECP, such as CPALS.", autocompletion=suggestions.method
        ),
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(min=1, help="Width of the latent rows: chosen from the data by default."),
    ] = None,
    seed: Seed = 0,
    coverage: Coverage = 0.9,
    save: Annotated[Path | None, typer.Option(help="Also write the fitted model here.")] = None,
    page: Annotated[
        Path | None, typer.Option("--report", help="Also write a page about the fit (.html).")
    ] = None,
    check: report.Check = True,
) -> None:
    """Fill every gap of INPUT, with standard deviation and interval of each entry."""
    _check_coverage(coverage)
    from vaecp.formats import check_holds, write_completion

    _check_targets(source, output, save, page)
    model = _named_model(method, rank, seed) if method else default_model(rank, seed)
    observations = reading.read(source)
    check_holds(observations, output)
    from vaecp.completion import complete as complete_tensor
    from vaecp.progress import reporting, silenced

    started = time.perf_counter()
    with kept_warnings(printing) as warned:
        with working(f"Fitting {text_of(observations.shape)}", printing):
            result = complete_tensor(observations, reporting(model), coverage)
            silenced(result.model)
            if save is not None:
                from vaecp.store import save as save_model

                save_model(result.model, save)
            write_completion(result, output)
        if page is not None:
            from vaecp.report import model_report

            with working(f"Checking for {page}" if check else f"Writing {page}", printing):
                model_report(result.model, page, observations, check=check, coverage=coverage)
    seconds = round(time.perf_counter() - started, 2)
    summary = {"input": source, "output": output, "model": save, "report": page}
    account = _account(result, coverage)
    _print_account({**summary, **account, "seconds": seconds, "warnings": warned}, printing)


PREDICT = """Examples:

$ vaecp predict spectra.vaecp queries.csv -o answers.csv

$ vaecp predict spectra.vaecp queries.csv -o answers.csv --coverage 0.5"""


@app.command(epilog=PREDICT)
@grouped
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Written by --save.")],
    queries: Annotated[Path, typer.Argument(metavar="QUERIES", help="Table of labels.")],
    output: Output,
    printing: Printing,
    coverage: Coverage = 0.9,
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

    with working(f"Predicting {len(frame):,} entries", printing):
        answered, n_unseen = answer(load(model), frame, str(queries), coverage)
        write_frame(answered, output)
    summary = {"output": output, "predicted": len(answered), "with_unseen_labels": n_unseen}
    if printing.as_json:
        as_json({"model": model, "queries": queries, **summary, "coverage": coverage})
    elif not printing.quiet:
        print_summary({name.replace("_", " "): text_of(item) for name, item in summary.items()})


@app.command(epilog="Example:\n\n$ vaecp demo -o vaecp-demo")
@grouped
def demo(
    printing: Printing,
    output: DemoFolder = Path("vaecp-demo"),
    seed: Seed = 0,
) -> None:
    """Fill the gaps of a real tensor that ships with TensorLy, and check it on hidden entries."""
    from vaecp.demo import check_folder

    check_folder(output)
    demonstrate(default_model(None, seed), output, seed, printing)


app.command(epilog=compare.COMPARE)(grouped(compare.compare))
app.command(epilog=compare.RANK)(grouped(compare.rank))
app.command(epilog=report.EXAMPLES)(grouped(report.report))
app.command(epilog=reproduce.EXAMPLES)(grouped(reproduce.reproduce))
app.add_typer(datasets.app, name="datasets")


def _check_targets(source: Path, output: Path, save: Path | None, page: Path | None) -> None:
    """Say before any work which file cannot be written."""
    from vaecp.files import check_target
    from vaecp.formats import check_writable

    check_writable(output)
    if save is not None:
        check_target(save)
    _refuse_overwriting(source, output, save)
    if save is not None and save.resolve() == output.resolve():
        raise FormatError(f"{save}: is named for the table and for the model: name two files.")
    if page is not None:
        report.check_page(page, source, output, save)


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise typer.BadParameter(
            f"coverage is {coverage}: use a number between 0 and 1, such as 0.9."
        )


def _refuse_overwriting(source: Path, *targets: Path | None) -> None:
    for target in targets:
        if target is not None and source.resolve() == target.resolve():
            raise FormatError(f"{target}: is the input, which is not overwritten: name another.")


def _account(result: Any, coverage: float) -> dict[str, Any]:
    """Return what was filled, with what, and how well the model fits what it was given."""
    import numpy as np

    observations, observed = result.observations, np.asarray(result.observed)
    errors = (np.asarray(result.mean) - np.asarray(result.filled))[observed]
    gaps = np.asarray(result.std)[~observed]
    return {
        "shape": observations.shape,
        "modes": observations.mode_names,
        "observed": len(observations),
        "gaps_filled": int(gaps.size),
        "coverage": coverage,
        "method": type(result.model).__name__,
        "settings": result.model.get_params(),
        "quality": {
            "rmse_of_observed": float(np.sqrt(np.mean(errors**2))),
            "mean_std_of_gaps": float(gaps.mean()) if gaps.size else None,
            "constant": not result.model.standardiser_.scale,
        },
    }


def _print_account(summary: dict[str, Any], printing: Printing) -> None:
    if printing.as_json:
        as_json(summary)
    if not printing.for_people:
        return
    quality = summary["quality"]
    rows = {
        "size": " x ".join(
            f"{size} {name}" for size, name in zip(summary["shape"], summary["modes"], strict=True)
        ),
        "observed": f"{summary['observed']:,}",
        "gaps filled": f"{summary['gaps_filled']:,}",
        "mean std of the gaps": quality["mean_std_of_gaps"],
        "seconds": summary["seconds"],
        "written": ", ".join(
            str(summary[key]) for key in ("output", "model", "report") if summary[key]
        ),
    }
    if quality["constant"]:
        rows["note"] = "all observed values are equal, so nothing is known of their spread"
    print_summary({name: text_of(item) for name, item in rows.items() if item is not None})


def main() -> None:
    """Run the command line."""
    app(prog_name="vaecp")


if __name__ == "__main__":
    main()
