"""What several commands share: options, and how their values are read.

Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vaecp.app.commands import suggestions
from vaecp.app.commands.help_texts import FORMATS, TABLES, VALUES
from vaecp.errors import FormatError, ObservationError
from vaecp.runtime.interrupts import on_interrupt
from vaecp.runtime.threads import n_cores

if TYPE_CHECKING:
    from vaecp.study.experiments import Protocol

MOST_NUMBERS = 1_000
"""Of a list such as 1-8."""
PRINTING = "Printing"
EFFORT = "Effort"

Source = Annotated[
    Path, typer.Argument(metavar="INPUT", help=f"Table or array with gaps: {FORMATS}.")
]
Seed = Annotated[
    int,
    typer.Option(min=0, max=2**32 - 1, help="Random seed: the same seed gives the same result."),
]
Coverage = Annotated[
    float, typer.Option(help="Probability that the interval from low to high holds the value.")
]
Output = Annotated[Path, typer.Option("--output", "-o", help=f"File to write: {FORMATS}.")]
TableOutput = Annotated[Path, typer.Option("--output", "-o", help=f"Table to write: {TABLES}.")]
Folder = Annotated[Path | None, typer.Option("--output", "-o", help="Folder to write into.")]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model that `fit` or `complete --save` wrote.")
]
Page = Annotated[
    Path | None, typer.Option("--report", help="Also write a report about the fit (.html).")
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="Fewer repeats, folds and ranks; fits are not shortened.",
        rich_help_panel=EFFORT,
    ),
]
Values = Annotated[
    str,
    typer.Option(
        "--values",
        help=f"What kind of values there are: {VALUES}. auto chooses from the values.",
        autocompletion=suggestions.values,
    ),
]


def likelihood_of(values: str) -> str:
    """Return the name of a kind of values, or say which there are."""
    if values == "auto":
        return values
    from vaecp.models.vaecp.likelihoods import find

    try:
        return find(values).name
    except ValueError as error:
        raise typer.BadParameter(str(error).replace("likelihood is", "--values is")) from None


def check_coverage_option(coverage: float) -> None:
    """Refuse, as a mistake in an option, a coverage that is no probability."""
    from vaecp.data import checks

    try:
        checks.check_coverage(coverage)
    except ObservationError as error:
        raise typer.BadParameter(str(error)) from None


def refuse_overwriting(source: Path, *targets: Path | None) -> None:
    """Refuse to write where the input is."""
    for target in targets:
        if target is not None and source.resolve() == target.resolve():
            raise FormatError(f"{target}: is the input, which is not overwritten: name another.")


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
class Running:
    """How the runs of an experiment are made."""

    seed: Seed = 0
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many processes: one per core by default.", rich_help_panel=EFFORT
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Address of a Dask scheduler, such as tcp://host:8786, whose workers make the runs.",
            rich_help_panel=EFFORT,
        ),
    ] = None
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Repeat runs that failed.", rich_help_panel=EFFORT),
    ] = False

    def options(self, show: bool) -> dict[str, Any]:
        """Return what the functions that make runs take."""
        jobs = self.cluster or (n_cores() if self.jobs is None else self.jobs)
        return {"jobs": jobs, "show": show, "retry_failed": self.retry_failed}


@dataclass(frozen=True)
class Trials(Running):
    """How much is run on a person's own file, and where it is kept."""

    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Cross-validation folds that choose the rank; 5 by default, 2 with --quick.",
            rich_help_panel=EFFORT,
        ),
    ] = None
    ranks: Annotated[
        str | None,
        typer.Option(
            help="Ranks to choose from, separated by commas, or a range such as 1-8.",
            rich_help_panel=EFFORT,
        ),
    ] = None
    output: Folder = None
    quick: Quick = False

    def protocol(self, **more: Any) -> Protocol:
        """Return how runs are laid out."""
        from vaecp.study.experiments import Protocol

        folds = self.folds or (2 if self.quick else 5)
        return Protocol(folds=folds, seed=self.seed, **more)


@dataclass(frozen=True)
class Making(Running):
    """Which runs of a study are made, and where they are kept."""

    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, separated by commas, such as VAECP,CPALS; all by default.",
            autocompletion=suggestions.methods,
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder to write into; finished runs in it are kept."),
    ] = None
    tables_only: Annotated[
        bool,
        typer.Option(
            "--tables-only", help="Make no run: write the pages of the runs that are there."
        ),
    ] = False
    pages: Annotated[
        Path | None,
        typer.Option(help="Folder for pages and figures: that of the runs by default."),
    ] = None

    def options(self, show: bool) -> dict[str, Any]:
        return super().options(show) | {"methods": names_in(self.methods), "pages": self.pages}


def numbers(option: str, text: str) -> tuple[int, ...]:
    """Return the integers of a list with commas, in which 1-4 stands for 1,2,3,4."""
    found: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.strip().partition("-")
            asked = range(int(first), int(last or first) + 1)
            found += asked[: MOST_NUMBERS + 1]
    except (ValueError, OverflowError):
        found = []
    if not found or min(found) < 1 or len(found) > MOST_NUMBERS:
        raise typer.BadParameter(
            f"{option} is {text!r:.60}: give integers from 1, such as 5,10,20 or 1-8, at most "
            f"{MOST_NUMBERS:,} of them."
        )
    return tuple(found)


def names_in(text: str | None) -> list[str]:
    """Return the names of a list with commas; none without a list."""
    return [name.strip() for name in text.split(",")] if text else []


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Say on Ctrl-C that what is finished is kept."""
    line = f"vaecp: interrupted. Finished runs are in {folder}: run the same command to continue."
    try:
        with on_interrupt(lambda: line):
            yield
    except KeyboardInterrupt:
        typer.echo(line, err=True)
        raise typer.Exit(130) from None
