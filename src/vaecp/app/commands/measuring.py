"""What `vaecp compare` and `vaecp rank` share."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vaecp.app.commands.options import Printing, Trials, likelihood_of, numbers
from vaecp.app.commands.printing import (
    as_json,
    is_missing,
    kept_warnings,
    print_notes,
    print_rows,
    text_of,
)
from vaecp.app.commands.reading import Reading, Text
from vaecp.errors import FormatError
from vaecp.models import registry

if TYPE_CHECKING:
    from pandas import DataFrame

    from vaecp.data.observations import Observations

QUICK_RANKS = (3, 10)
FEW_ENTRIES = 100
"""Below this many entries a comparison tells little."""


def read_entries(source: Path, reading: Reading, text: Text, printing: Printing) -> Observations:
    """Read the entries, and say what was decided and that few of them tell little."""
    observations = reading.open(source, text).observations
    values = observations.values
    if values.min() == values.max():
        raise FormatError(
            f"{source}: all observed values are {values[0]:.10g}, so that there is nothing to compare "
            "methods by: use values that differ."
        )
    if len(observations) < FEW_ENTRIES:
        few = (
            f"There are only {len(observations)} observed entries, so what is measured here is "
            f"mostly chance: compare methods on {FEW_ENTRIES} or more."
        )
        observations = replace(observations, notes=(*observations.notes, few))
    print_notes(observations.notes, printing)
    return observations


def kept_results(folder: Path, printing: Printing) -> Any:
    """Return what runs have measured before in a folder; what is wrong with it is one line."""
    from vaecp.study import experiments

    with kept_warnings(printing):
        return experiments.Results(folder)


def ranks_of(trials: Trials, default: tuple[int, ...]) -> tuple[int, ...]:
    """Return the ranks that were asked for."""
    return numbers("--ranks", trials.ranks) if trials.ranks else default


def told_failures(frame: Any, printing: Printing) -> list[str]:
    """Return one line per method that failed, and show them unless nothing is to be shown."""
    from vaecp.study import experiments

    lines = experiments.failures(frame)
    measured = frame["rmse"].notna().any()
    for line in lines if printing.for_people or not measured else []:
        typer.echo(f"vaecp: {line}", err=True)
    return lines


def nothing_measured(folder: Path) -> Exception:
    """Say that there is nothing to show."""
    from vaecp.errors import VaecpError

    return VaecpError(
        f"every run failed, so there is nothing to compare: the messages are in {folder}; fix "
        "the cause, and start again with --retry-failed."
    )


def settings_for(values: str) -> dict[str, dict[str, Any]]:
    """Return the settings by which VAECP is told what kind of values there are."""
    likelihood = likelihood_of(values)
    return {} if likelihood == "auto" else {"VAECP": {"likelihood": likelihood}}


def command_for(source: Path, method: str, rank: Any, options: list[str], values: str) -> str:
    """Return the command that fits the winner to the file."""
    words = ["vaecp", "complete", str(source), "-o", f"{source.stem}-filled.csv"]
    named = [] if method == "VAECP" else ["--method", method]
    has_rank = registry.find(method).takes_rank and str(rank).isdecimal()
    ranked = ["--rank", str(rank)] if has_rank else []
    kind = ["--values", values] if method == "VAECP" and values != "auto" else []
    return shlex.join([*words, *named, *ranked, *kind, *options])


def tell(
    account: dict[str, Any], table: DataFrame, title: str, headline: str, printing: Printing
) -> None:
    """Print the account to a machine, or the table, the best and what to do next to a person."""
    if printing.as_json:
        as_json(account)
    elif not printing.quiet:
        cells = table.itertuples(index=False)
        rows = [["auto" if is_missing(cell) else text_of(cell) for cell in row] for row in cells]
        print_rows([name.replace("_", " ") for name in table.columns], rows, title)
        typer.echo(f"{headline} To fit it:\n\n  {account['command']}\n")
        typer.echo(f"Written: {', '.join(map(str, account['written']))}")
