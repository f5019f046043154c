"""`vaecp reproduce`: the paper's experiments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vaecp.commands import suggestions
from vaecp.commands.options import Printing, Seed, n_jobs, resumable
from vaecp.commands.printing import as_json

EXAMPLES = """Examples:

$ vaecp reproduce --quick

$ vaecp reproduce --only amino,fia -o results"""


def reproduce(
    printing: Printing,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer repeats, folds, ranks and sweeps.")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write into, and to go on from.")
    ] = Path("vaecp-results"),
    only: Annotated[
        str | None,
        typer.Option(
            help="Which tensors, with commas, such as amino,fia: all.",
            autocompletion=suggestions.studied,
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Which methods, with commas, such as VAECP,CPALS: all.",
            autocompletion=suggestions.methods,
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="How many processes: one per core by default.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Make runs that failed again.")
    ] = False,
) -> None:
    """Repeat the paper's experiments: figures, tables, and a page that says what came out.

    All methods on the synthetic tensors (r = 9 to 12), amino, fia and sugar. Finished runs are
    kept in the output folder, and are not made again.
    """
    from vaecp import reproduction

    study = reproduction.QUICK if quick else reproduction.FULL
    study = replace(study, protocol=replace(study.protocol, seed=seed))
    given = [
        "--quick" if quick else "",
        f"--only '{only}'" if only else "",
        f"--methods {methods}" if methods else "",
        f"--seed {seed}" if seed else "",
    ]
    command = " ".join(["vaecp reproduce", *filter(None, given)])
    with resumable(output):
        written = reproduction.reproduce(
            output,
            study,
            only=_names(only),
            methods=_names(methods),
            jobs=n_jobs(jobs),
            show=printing.for_people,
            retry_failed=retry_failed,
            command=command,
        )
    if printing.as_json:
        as_json({"command": command, "output": output, "written": written})
    elif not printing.quiet:
        for path in written:
            typer.echo(path)


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",")] if text else []
