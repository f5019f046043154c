"""`vaecp datasets`: what named tensors there are, and getting their files."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from vaecp.app.commands import suggestions
from vaecp.app.commands.help_texts import FormatsInHelp
from vaecp.app.commands.option_groups import with_option_groups
from vaecp.app.commands.options import Output, Printing
from vaecp.app.commands.printing import as_json, print_rows, text_of, working

app = typer.Typer(
    cls=FormatsInHelp, help="Named tensors: list, fetch or write them.", no_args_is_help=True
)

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="One that `list` shows.", autocompletion=suggestions.dataset
    ),
]


@app.command("list")
@with_option_groups
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
@with_option_groups
def fetch(name: Name, printing: Printing) -> None:
    """Download the files of a tensor, unless they are there already, and print where they are."""
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


@app.command(epilog="Example:\n\n$ vaecp datasets write il2 -o responses.csv")
@with_option_groups
def write(name: Name, output: Output, printing: Printing) -> None:
    """Write the entries of a tensor to a file that the other commands read."""
    from vaecp import datasets
    from vaecp.formats import check_writable
    from vaecp.formats import write as write_file

    check_writable(output)
    datasets.info(name)
    with working(f"Fetching {name}", printing):
        observations = datasets.load(name)
        write_file(observations, output)
    if printing.as_json:
        as_json(
            {
                "name": name,
                "output": output,
                "shape": observations.shape,
                "observed": len(observations),
            }
        )
    elif not printing.quiet:
        typer.echo(
            f"{output}: {text_of(observations.shape)}, {len(observations):,} of "
            f"{observations.n_cells:,} entries observed."
        )
