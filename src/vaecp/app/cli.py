"""The command line: parse, call, print.

Nothing heavy is imported before a command runs, so that `--help` answers at once. `failures` has
the exit codes.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vaecp import __version__
from vaecp.app.commands import (
    compare,
    completing,
    datasets,
    diagnose,
    evaluate,
    predict,
    report,
    reproduce,
    suggestions,
)
from vaecp.app.commands import rank as rank_command
from vaecp.app.commands.completing import Cells, Layout, Targets
from vaecp.app.commands.demo import DemoFolder, demonstrate
from vaecp.app.commands.machines import Devices, Machines
from vaecp.app.commands.option_groups import with_option_groups
from vaecp.app.commands.options import (
    Coverage,
    Output,
    Page,
    Printing,
    Seed,
    Source,
    Values,
    check_coverage_option,
    likelihood_of,
    refuse_overwriting,
)
from vaecp.app.commands.reading import Reading, Text
from vaecp.app.failures import DEBUG, STARTS_ANEW, OneLineErrors
from vaecp.errors import FormatError
from vaecp.models import registry
from vaecp.runtime.interrupts import end_on_interrupt

if TYPE_CHECKING:
    from vaecp.models.base import TensorEstimator


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
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option(DEBUG, help="Show the traceback of an error; may stand anywhere.")
    ] = False,
) -> None:
    """Fill the gaps of tables and arrays with several modes, and say how sure each value is."""


def default_model(rank: int | None, seed: int) -> TensorEstimator:
    """Return the unfitted model that the commands use."""
    from vaecp.models.vaecp.estimator import VAECP

    return VAECP(random_state=seed) if rank is None else VAECP(rank=rank, random_state=seed)


def _named_model(method: str, rank: int | None, seed: int) -> TensorEstimator:
    return registry.build(method, {} if rank is None else {"rank": rank}, seed)


def _others(name: str) -> str:
    return ", ".join(other for other in registry.methods() if other != name)


def _model(
    method: str | None, rank: int | None, seed: int, values: str, reading: Reading
) -> TensorEstimator:
    likelihood = likelihood_of(values)
    model = _named_model(method, rank, seed) if method else default_model(rank, seed)
    if reading.features and not model.uses_features:
        raise typer.BadParameter(
            f"--features is given, but {type(model).__name__} does not use features of rows: leave "
            "it out, or use VAECP."
        )
    if likelihood == "auto":
        return model
    if "likelihood" not in model.get_params():
        raise typer.BadParameter(
            f"--values is {values!r}, but {type(model).__name__} takes all values for real "
            "numbers: leave it out, or use VAECP."
        )
    return model.set_params(likelihood=likelihood)


Method = Annotated[
    str | None,
    typer.Option(
        help=f"Method: VAECP by default, or {_others('VAECP')}.", autocompletion=suggestions.method
    ),
]
Rank = Annotated[
    int | None,
    typer.Option(min=1, help="Number of components; chosen from the data by default."),
]
COMPLETE = """Examples:

$ vaecp complete spectra.csv -o filled.csv

$ vaecp complete spectra.csv -o filled.csv --save spectra.vaecp

$ vaecp complete spectra.csv -o filled.csv --report report.html

$ vaecp complete wide.csv --wide wavelength -o filled.parquet

$ vaecp complete log.csv --modes user,item --value stars -o filled.csv

$ vaecp complete sensors.csv --missing -999 -o filled.csv

$ vaecp complete sales.csv --values counts -o filled.csv

$ vaecp complete ratings.csv --features film=films.csv -o filled.csv"""


@app.command(epilog=COMPLETE)
@with_option_groups
def complete(
    source: Source,
    output: Output,
    reading: Reading,
    text: Text,
    devices: Devices,
    printing: Printing,
    method: Method = None,
    rank: Rank = None,
    values: Values = "auto",
    seed: Seed = 0,
    coverage: Coverage = 0.9,
    cells: Annotated[
        Cells | None,
        typer.Option(
            help="Write all entries of the tensor, or those that a table lists: all by default, "
            f"listed where there are more than {completing.MOST_CELLS:,}."
        ),
    ] = None,
    layout: Annotated[
        Layout,
        typer.Option(help="Write the rows and columns of the input, or one row per entry."),
    ] = Layout.input,
    save: Annotated[Path | None, typer.Option(help="Also write the fitted model here.")] = None,
    page: Page = None,
    check: report.Check = True,
) -> None:
    """Fill every gap of INPUT, with standard deviation and interval of each entry."""
    check_coverage_option(coverage)
    _check_targets(source, output, save, page)
    model = devices.given_to(_model(method, rank, seed, values, reading))
    code = reading.code(source, text)
    targets = Targets(source, output, save, page, cells, layout, coverage, check, code)
    completing.fill_and_write(reading.open(source, text), model, targets, printing)


FIT = """Examples:

$ vaecp fit ratings.csv -o ratings.vaecp

$ vaecp fit ratings.csv -o ratings.vaecp --method CPALS --rank 10

$ vaecp fit ratings.csv -o ratings.vaecp --devices all

$ vaecp fit folder-of-parquet-files -o ratings.vaecp --checkpoint ratings-checkpoint

$ srun -n 4 vaecp fit folder-of-parquet-files -o ratings.vaecp --distributed"""


@app.command(epilog=FIT)
@with_option_groups
def fit(
    source: Source,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Model to write, such as model.vaecp.")
    ],
    reading: Reading,
    text: Text,
    machines: Machines,
    printing: Printing,
    method: Method = None,
    rank: Rank = None,
    values: Values = "auto",
    seed: Seed = 0,
) -> None:
    """Fit a model to INPUT and write it, for `vaecp predict` and `vaecp report`.

    INPUT may also be a folder of Parquet files, which are read piece by piece.
    """
    from vaecp.runtime.files import check_target

    check_target(output)
    refuse_overwriting(source, output)
    with machines.together():
        model = machines.given_to(_model(method, rank, seed, values, reading))
        if machines.streams(source):
            entries = completing.scanned(reading, source, text, machines.cache, printing)
        else:
            entries = reading.open(source, text, add_rows=True).observations
        with machines.checkpoints(model, entries), machines.watched():
            completing.fit_and_write(
                entries, model, Targets(source, model=output), machines.said(printing)
            )


@app.command(epilog="Example:\n\n$ vaecp demo -o vaecp-demo")
@with_option_groups
def demo(
    printing: Printing,
    output: DemoFolder = Path("vaecp-demo"),
    seed: Seed = 0,
) -> None:
    """Fill the gaps of a real tensor that ships with TensorLy, and check it on hidden entries."""
    from vaecp.app.demo import check_folder

    check_folder(output)
    demonstrate(default_model(None, seed), output, seed, printing)


app.command(epilog=predict.PREDICT)(with_option_groups(predict.predict))
app.command(epilog=predict.UPDATE)(with_option_groups(predict.update))
app.command(epilog=compare.COMPARE)(with_option_groups(compare.compare))
app.command(epilog=rank_command.EXAMPLES)(with_option_groups(rank_command.rank))
app.command(epilog=diagnose.EXAMPLES)(with_option_groups(diagnose.diagnose))
app.command(epilog=report.EXAMPLES)(with_option_groups(report.report))
app.command(epilog=reproduce.EXAMPLES)(with_option_groups(reproduce.reproduce))
app.command(epilog=evaluate.EXAMPLES)(with_option_groups(evaluate.evaluate))
app.add_typer(datasets.app, name="datasets")


def _check_targets(source: Path, output: Path, save: Path | None, page: Path | None) -> None:
    """Say before any work which file cannot be written."""
    from vaecp.formats import check_writable
    from vaecp.runtime.files import check_target

    check_writable(output)
    if save is not None:
        check_target(save)
    refuse_overwriting(source, output, save)
    if save is not None and save.resolve() == output.resolve():
        raise FormatError(f"{save}: is named for the table and for the model: name two files.")
    if page is not None:
        report.check_page(page, source, output, save)


def main() -> None:
    """Run the command line."""
    end_on_interrupt(STARTS_ANEW)
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files need not be text
        sys.stdout.reconfigure(errors="backslashreplace")
    app(prog_name="vaecp")


if __name__ == "__main__":
    main()
