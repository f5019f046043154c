"""`vaecp reproduce`: the paper's experiments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vaecp.app.commands import suggestions
from vaecp.app.commands.options import Making, Printing, listed, resumable
from vaecp.app.commands.printing import print_written

EXAMPLES = """Examples:

$ vaecp reproduce --quick

$ vaecp reproduce --only amino,fia -o results"""


def reproduce(
    printing: Printing,
    making: Making,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer repeats, folds and ranks; fits are not shortened."),
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            help="Which tensors, with commas, such as amino,fia: all.",
            autocompletion=suggestions.studied,
        ),
    ] = None,
) -> None:
    """Repeat the paper's experiments: figures, tables, and a page that says what came out.

    All methods on the synthetic tensors (r = 9 to 12), amino, fia and sugar. Finished runs are
    kept in the output folder (vaecp-results), and are not made again.
    """
    from vaecp.study import reproduction
    from vaecp.study.experiments import Results

    output = making.output or Path("vaecp-results")
    study = reproduction.QUICK if quick else reproduction.FULL
    study = replace(study, protocol=replace(study.protocol, seed=making.seed))
    given = [
        "--quick" if quick else "",
        f"--only '{only}'" if only else "",
        f"--methods {making.methods}" if making.methods else "",
        f"--seed {making.seed}" if making.seed else "",
    ]
    command = " ".join(["vaecp reproduce", *filter(None, given)])
    if making.tables_only:
        written = reproduction.publish(output, Results(output).records, study, command)
    else:
        with resumable(output):
            options = making.options(printing.for_people)
            written = reproduction.reproduce(
                output, study, only=listed(only), command=command, **options
            )
    print_written({"command": command, "output": output, "written": written}, printing)
