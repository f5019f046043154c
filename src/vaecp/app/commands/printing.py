"""What people see, and what machines read: tables, progress bars, warnings, JSON."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from vaecp.app.commands.options import Printing


def as_json(summary: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output."""
    typer.echo(json.dumps(_finite(summary), default=_plain, allow_nan=False))


def print_summary(rows: Mapping[str, str], title: str | None = None) -> None:
    """Print names and values."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, box=box.SIMPLE, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(value))
    _print(table)


def print_written(account: Mapping[str, Any], printing: Printing) -> None:
    """Print the account to a machine, or the files that were written to a person, one per line."""
    if printing.as_json:
        as_json(account)
    elif not printing.quiet:
        for path in account["written"]:
            typer.echo(path)


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table with a header."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, box=box.SIMPLE)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    _print(table)


def text_of(value: Any) -> str:
    """Return a shape with crosses, a number with four digits, anything else as it is."""
    if isinstance(value, list | tuple):
        return " x ".join(map(str, value))
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def is_missing(value: Any) -> bool:
    """Whether a value is pandas' NA, as the rank is of a method that chooses it by itself."""
    return str(value) == "<NA>"


def print_notes(notes: Sequence[str], printing: Printing) -> None:
    """Print, to a person, what was decided and what looks wrong."""
    for note in notes if printing.for_people else ():
        typer.echo(f"note: {note}")


@contextmanager
def working(message: str, printing: Printing) -> Iterator[None]:
    """Show on standard error, and only to a person, what is done and how long it still takes."""
    from vaecp.runtime.progress import bar, is_terminal, watched, watcher_of

    if not printing.for_people or not is_terminal():
        yield
        return
    with bar(message, transient=True) as move, watched(watcher_of(move)):
        yield


@contextmanager
def kept_warnings(printing: Printing) -> Iterator[list[str]]:
    """Collect warnings as lines: shown to people on standard error, else left to the caller."""
    lines: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield lines
    for warning in caught:
        line = " ".join(str(warning.message).split())
        if line not in lines:
            lines.append(line)
            if printing.for_people:
                typer.echo(f"vaecp: warning: {line}", err=True)


def _print(table: Any) -> None:
    from rich.console import Console

    Console().print(table)


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinities: they become null."""
    if isinstance(value, Mapping):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """Turn paths into text, NumPy's numbers and arrays into Python's, and NA into null."""
    if is_missing(value):
        return None
    return value.tolist() if hasattr(value, "tolist") else str(value)
