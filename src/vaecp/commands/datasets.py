"""`vaecp datasets`: what named tensors there are, and getting their files."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from vaecp.commands import suggestions
from vaecp.commands.grouping import grouped
from vaecp.commands.options import Printing
from vaecp.commands.printing import as_json, print_rows, text_of, working

app = typer.Typer(help="Named tensors: list them, fetch their files.", no_args_is_help=True)


@app.command("list")
@grouped
def list_all(printing: Printing) -> None:
    """List the named tensors with their sizes."""
    from vaecp import datasets

    found = [datasets.info(name) for name in datasets.names()]
    if printing.as_json:
        shown = ("name", "title", "shape", "mode_names", "value_name", "citation", "licence")
        as_json(
            {"datasets": [{key: dataclasses.asdict(info)[key] for key in shown} for info in found]}
        )
    elif not printing.quiet:
        rows = [[info.name, text_of(info.shape), info.title] for info in found]
        print_rows(["name", "size", "what it is"], rows)


@app.command(epilog="Example:\n\n$ vaecp datasets fetch amino")
@grouped
def fetch(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="One that `list` shows.", autocompletion=suggestions.dataset
        ),
    ],
    printing: Printing,
) -> None:
    """Download the files of a tensor where they are not here yet, and say where they lie."""
    from vaecp import datasets

    info = datasets.info(name)
    with working(f"Fetching {name}", printing):
        files = datasets.fetch(name)
    if printing.as_json:
        as_json({"name": name, "files": files, "source": info.source, "citation": info.citation})
    elif not printing.quiet:
        for path in files:
            typer.echo(path)
        if not files:
            typer.echo(f"{name} needs no file: {info.source}.", err=True)
        typer.echo(f"Please cite: {info.citation}", err=True)
