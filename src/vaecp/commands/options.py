"""What several commands share: options, reading the input, printing tables.

Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from vaecp.observations import Observations


class Absent(StrEnum):
    """What an entry that the input does not list is."""

    unknown = "unknown"
    zero = "zero"


class Duplicates(StrEnum):
    """What to do with entries that the input lists more than once."""

    error = "error"
    keep = "keep"
    mean = "mean"


Source = Annotated[Path, typer.Argument(metavar="INPUT", help="Table or array with gaps.")]
Modes = Annotated[
    str | None, typer.Option(help="Label columns, with commas: all but the last by default.")
]
Value = Annotated[str | None, typer.Option(help="Value column: the last by default.")]
Variable = Annotated[str | None, typer.Option(help="Which array of a .npz, .mat or .nc file.")]
Wide = Annotated[
    str | None, typer.Option(help="The header holds labels of this mode: one column per label.")
]
AbsentOption = Annotated[Absent, typer.Option(help="What an entry that is not listed is.")]
DuplicatesOption = Annotated[
    Duplicates, typer.Option(help="What to do with entries that are listed more than once.")
]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same result.")]
Folder = Annotated[Path | None, typer.Option("--output", "-o", help="Folder to write into.")]
Repeats = Annotated[int | None, typer.Option(min=1, help="How many 80/20 splits: 10.")]
Folds = Annotated[int | None, typer.Option(min=2, help="Folds that choose the rank: 5.")]
Ranks = Annotated[str | None, typer.Option(help="Ranks to choose from, with commas.")]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="How many processes: one per core by default.")
]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer repeats, folds, ranks and sweeps.")]
Retry = Annotated[bool, typer.Option("--retry-failed", help="Make runs that failed again.")]


def read_input(
    source: Path,
    modes: str | None,
    value: str | None,
    variable: str | None,
    wide: str | None,
    absent: Absent,
    duplicates: Duplicates,
) -> Observations:
    """Read the observed entries as the reading options say."""
    from vaecp.formats import read

    return read(
        source,
        modes=[name.strip() for name in modes.split(",")] if modes else None,
        value=value,
        variable=variable,
        absent=absent.value,
        duplicates=duplicates.value,
        wide=wide,
    )


def numbers(option: str, text: str) -> tuple[int, ...]:
    """Return the integers of a list with commas."""
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise typer.BadParameter(f"{option} is {text!r}: give integers from 1, such as 5,10,20.")
    return found


def n_jobs(jobs: int | None) -> int:
    """Return the number of processes: one per core that may be used, unless told."""
    import os

    if jobs is not None:
        return jobs
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Say on Ctrl-C that what is finished is kept."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(
            f"vaecp: interrupted. Finished runs are in {folder}: the same command goes on where "
            "it stopped.",
            err=True,
        )
        raise typer.Exit(130) from None


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table with a header."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, box=box.SIMPLE)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def text_of(value: Any) -> str:
    """Return a number with four digits, anything else as it is."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
