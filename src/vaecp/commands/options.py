"""What several commands share: options, and reading the input.

Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vaecp.commands import suggestions
from vaecp.cores import n_cores

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


READING = "Reading the input"
PRINTING = "Printing"
EFFORT = "Effort"

Source = Annotated[Path, typer.Argument(metavar="INPUT", help="Table or array with gaps.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same result.")]
Coverage = Annotated[float, typer.Option(help="Probability that low to high holds the value.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write; its suffix decides.")]
Folder = Annotated[Path | None, typer.Option("--output", "-o", help="Folder to write into.")]


@dataclass(frozen=True)
class Reading:
    """How INPUT is read."""

    modes: Annotated[
        str | None,
        typer.Option(
            help="Label columns, with commas: all but the last by default.",
            autocompletion=suggestions.columns,
            rich_help_panel=READING,
        ),
    ] = None
    value: Annotated[
        str | None,
        typer.Option(
            help="Value column: the last by default.",
            autocompletion=suggestions.column,
            rich_help_panel=READING,
        ),
    ] = None
    variable: Annotated[
        str | None,
        typer.Option(help="Which array of a .npz, .mat or .nc file.", rich_help_panel=READING),
    ] = None
    wide: Annotated[
        str | None,
        typer.Option(
            help="The header holds labels of this mode: one column per label.",
            rich_help_panel=READING,
        ),
    ] = None
    absent: Annotated[
        Absent, typer.Option(help="What an entry that is not listed is.", rich_help_panel=READING)
    ] = Absent.unknown
    duplicates: Annotated[
        Duplicates,
        typer.Option(
            help="What to do with entries that are listed more than once.",
            rich_help_panel=READING,
        ),
    ] = Duplicates.error

    def read(self, source: Path) -> Observations:
        """Read the observed entries."""
        from vaecp.formats import read

        return read(
            source,
            modes=[name.strip() for name in self.modes.split(",")] if self.modes else None,
            value=self.value,
            variable=self.variable,
            absent=self.absent.value,
            duplicates=self.duplicates.value,
            wide=self.wide,
        )

    def words(self) -> list[str]:
        """Return the options that differ from the defaults, to be given again."""
        given = {
            "--modes": self.modes,
            "--value": self.value,
            "--variable": self.variable,
            "--wide": self.wide,
            "--absent": None if self.absent is Absent.unknown else self.absent.value,
            "--duplicates": None if self.duplicates is Duplicates.error else self.duplicates.value,
        }
        return [word for option, text in given.items() if text for word in (option, text)]


@dataclass(frozen=True)
class Printing:
    """What a command says of what it did."""

    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=PRINTING),
    ] = False
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON object and nothing else.", rich_help_panel=PRINTING
        ),
    ] = False

    @property
    def for_people(self) -> bool:
        """Whether tables, warnings and progress bars are wanted."""
        return not (self.quiet or self.as_json)


@dataclass(frozen=True)
class Effort:
    """How much is run, where it is kept, and by how many processes."""

    folds: Annotated[
        int | None,
        typer.Option(min=2, help="Folds that choose the rank: 5.", rich_help_panel=EFFORT),
    ] = None
    ranks: Annotated[
        str | None,
        typer.Option(help="Ranks to choose from, with commas.", rich_help_panel=EFFORT),
    ] = None
    seed: Seed = 0
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many processes: one per core by default.", rich_help_panel=EFFORT
        ),
    ] = None
    output: Folder = None
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Fewer repeats, folds, ranks and sweeps.", rich_help_panel=EFFORT
        ),
    ] = False
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Make runs that failed again.", rich_help_panel=EFFORT),
    ] = False

    @property
    def n_folds(self) -> int:
        return self.folds or (2 if self.quick else 5)

    @property
    def n_jobs(self) -> int:
        return n_jobs(self.jobs)


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
    return n_cores() if jobs is None else jobs


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
