"""`vaecp datasets`: what named tensors there are, and getting their files."""

from __future__ import annotations

from typing import Annotated

import typer

from vaecp.commands.options import print_rows

app = typer.Typer(help="Named tensors: list them, fetch their files.", no_args_is_help=True)


@app.command("list")
def list_all() -> None:
    """List the named tensors with their sizes."""
    from vaecp import datasets

    found = [datasets.info(name) for name in datasets.names()]
    rows = [[info.name, " x ".join(map(str, info.shape)), info.title] for info in found]
    print_rows(["name", "size", "what it is"], rows)


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="One that `list` shows.")],
) -> None:
    """Download the files of a tensor where they are not here yet, and say where they lie."""
    from vaecp import datasets

    files = datasets.fetch(name)
    for path in files:
        typer.echo(path)
    if not files:
        typer.echo(f"{name} needs no file: {datasets.info(name).source}.", err=True)
    typer.echo(f"Please cite: {datasets.info(name).citation}", err=True)
