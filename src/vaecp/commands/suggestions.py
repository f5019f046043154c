"""What the shell offers at the tab key: names of methods, tensors and columns.

The names are listed here rather than imported, because the answer has to come at once.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

import typer

METHODS = (
    "VAECP",
    "VAECP.paper",
    "CPALS",
    "NCP",
    "HOSVD",
    "TuckerALS",
    "FBCP",
    "InfTucker",
)
DATASETS = (
    "amino",
    "fia",
    "sugar",
    "sugar-full",
    "alog",
    "synthetic",
    "il2",
    "covid19",
    "kinetic",
)
STUDIED = (
    "synthetic r=9",
    "synthetic r=10",
    "synthetic r=11",
    "synthetic r=12",
    "amino",
    "fia",
    "sugar",
)
_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def method(incomplete: str) -> list[str]:
    """Return the methods whose names begin so."""
    return _beginning(METHODS, incomplete)


def methods(incomplete: str) -> list[str]:
    """Complete the last name of a list with commas."""
    return _last_of_list(METHODS, incomplete)


def dataset(incomplete: str) -> list[str]:
    """Return the tensors whose names begin so."""
    return _beginning(DATASETS, incomplete)


def studied(incomplete: str) -> list[str]:
    """Complete the last name of a list with commas."""
    return _last_of_list(STUDIED, incomplete)


def column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of the table named as INPUT."""
    return _beginning(_header(ctx), incomplete)


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the last column of a list with commas."""
    return _last_of_list(_header(ctx), incomplete)


def _header(ctx: typer.Context) -> list[str]:
    """Return the first line of the input; nothing where it is no table or cannot be read."""
    # With an option still unfinished, the parser leaves the arguments where they are.
    source = ctx.params.get("source") or next(iter(ctx.args), None)
    separator = _SEPARATORS.get(Path(source).suffix.lower()) if source else None
    if separator is None:
        return []
    try:
        with Path(str(source)).expanduser().open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            # As spreadsheets write it where the comma is the decimal sign.
            separator = ";" if ";" in first and "," not in first else separator
            return next(csv.reader([first], delimiter=separator), [])
    except (OSError, UnicodeDecodeError):
        return []


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _last_of_list(names: Iterable[str], incomplete: str) -> list[str]:
    done, comma, last = incomplete.rpartition(",")
    taken = [name.strip() for name in done.split(",")]
    left = [name for name in names if name not in taken]
    return [f"{done}{comma}{name}" for name in _beginning(left, last.strip())]
