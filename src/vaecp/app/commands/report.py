"""`vaecp report`: one page about a saved model, with its data or without."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vaecp.app.commands.options import Coverage, ModelFile, Printing, check_coverage_option
from vaecp.app.commands.printing import as_json, kept_warnings, print_notes, print_summary, working
from vaecp.app.commands.reading import Reading, Text
from vaecp.errors import FormatError

SUFFIXES = (".html", ".htm")
EXAMPLES = """Examples:

$ vaecp report spectra.vaecp --data spectra.csv

$ vaecp report spectra.vaecp -o page.html"""

Check = Annotated[
    bool,
    typer.Option(
        "--check/--no-check",
        help="For the report: hide a tenth of the entries, and fit once more to measure errors on them.",
    ),
]


def check_page(path: Path, *others: Path | None) -> None:
    """Say before any work whether a page can be written there."""
    from vaecp.runtime.files import check_target
    from vaecp.show.report import check_installed

    if path.suffix.lower() not in SUFFIXES:
        raise FormatError(f"{path}: a report is a web page: give its name the suffix .html.")
    for other in others:
        if other is not None and other.resolve() == path.resolve():
            raise FormatError(f"{path}: is named for the page and for another file: name two.")
    check_target(path)
    check_installed()


def report(
    model: ModelFile,
    reading: Reading,
    text: Text,
    printing: Printing,
    output: Annotated[Path, typer.Option("--output", "-o", help="Page to write.")] = Path(
        "report.html"
    ),
    data: Annotated[
        Path | None, typer.Option(help="Table or array that the model was fitted to.")
    ] = None,
    coverage: Coverage = 0.9,
    check: Check = True,
) -> None:
    """Write one page about MODEL: how good it is, what it learned, which values to check.

    Without --data the page shows what the model alone can tell.
    """
    check_coverage_option(coverage)
    check_page(output, model, data)
    from vaecp.outcomes.store import load
    from vaecp.show.report import model_report

    fitted = load(model)
    observations = None if data is None else reading.open(data, text).observations
    notes = () if observations is None else observations.notes
    code = None if data is None else reading.code(data, text)
    print_notes(notes, printing)
    with kept_warnings(printing) as warned, working(f"Writing {output}", printing):
        model_report(fitted, output, observations, check=check, coverage=coverage, source=code)
    if printing.as_json:
        summary = {"model": model, "data": data, "output": output}
        as_json({**summary, "notes": notes, "warnings": warned})
    elif printing.for_people:
        print_summary({"page": str(output), "to see it": "open it in a browser, without a network"})
