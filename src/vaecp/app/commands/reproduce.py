"""`vaecp reproduce`: the paper's experiments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vaecp.app.commands import suggestions
from vaecp.app.commands.options import Making, Printing, Quick, names_in, resumable
from vaecp.app.commands.printing import print_written

EXAMPLES = """Examples:

$ vaecp reproduce --quick

$ vaecp reproduce --only amino,fia -o results

$ vaecp reproduce --parts readings -o results

$ vaecp reproduce -o evidence/paper --tables-only --pages docs/results/paper"""


Only = Annotated[
    str | None,
    typer.Option(
        help="Tensors, separated by commas, such as amino,fia; all by default.",
        autocompletion=suggestions.studied,
    ),
]
Repeats = Annotated[
    int | None,
    typer.Option(min=1, help="How many splits: 10 (at most 5 on fia and sugar), 2 with --quick."),
]
Parts = Annotated[
    str | None,
    typer.Option(
        help="Parts, separated by commas: comparison (of all methods), ranks (error of VAECP "
        "against rank), readings (of the published recipe). All by default."
    ),
]


def reproduce(
    printing: Printing,
    making: Making,
    quick: Quick = False,
    only: Only = None,
    repeats: Repeats = None,
    parts: Parts = None,
) -> None:
    """Repeat the paper's experiments: figures, tables, and a page of results.

    All methods on the synthetic tensors (r = 9 to 12), amino, fia and sugar. Finished runs are
    kept in the output folder (vaecp-results), and are not made again.
    """
    from vaecp.study import reproduction
    from vaecp.study.experiments import Results

    output = making.output or Path("vaecp-results")
    study = reproduction.QUICK if quick else reproduction.FULL
    n_repeats = repeats or study.protocol.repeats
    study = replace(study, protocol=replace(study.protocol, seed=making.seed, repeats=n_repeats))
    given = [
        "--quick" if quick else "",
        f"--only '{only}'" if only else "",
        f"--repeats {repeats}" if repeats else "",
        f"--parts {parts}" if parts else "",
        f"--methods {making.methods}" if making.methods else "",
        f"--seed {making.seed}" if making.seed else "",
    ]
    command = " ".join(["vaecp reproduce", *filter(None, given)])
    if making.tables_only:
        pages = making.pages or output
        written = reproduction.publish(pages, Results(output), study, command)
    else:
        with resumable(output):
            written = reproduction.reproduce(
                output,
                study,
                only=names_in(only),
                parts=_parts(parts),
                command=command,
                **making.options(printing.for_people),
            )
    print_written({"command": command, "output": output, "written": written}, printing)


def _parts(text: str | None) -> tuple[str, ...]:
    from vaecp.study.reproduction import PARTS

    wanted = names_in(text)
    unknown = [part for part in wanted if part not in PARTS]
    if unknown:
        raise typer.BadParameter(f"--parts has {unknown[0]!r}: use {', '.join(PARTS)}.")
    return tuple(wanted) or PARTS
