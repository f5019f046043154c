"""What the shell offers at the tab key: names of methods, tensors and columns.

The names are listed here rather than imported, because the answer has to come at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from vaecp.formats.text.decoding import encoding_of
from vaecp.formats.text.sniffing import USUAL, layout_of_file
from vaecp.models import registry

DATASETS = (
    "amino",
    "fia",
    "sugar",
    "sugar-full",
    "alog",
    "hangzhou",
    "beijing",
    "movielens",
    "enron",
    "ems",
    "synthetic",
    "il2",
    "covid19",
    "kinetic",
)
VALUES = {
    "auto": (),
    "gaussian": ("real",),
    "student-t": ("outliers",),
    "bernoulli": ("yes-no",),
    "poisson": (),
    "negative-binomial": ("counts",),
    "large-counts": (),
    "ordinal": ("ratings",),
    "log-normal": ("amounts",),
    "logit-normal": ("shares",),
    "non-negative": ("spectra",),
}
"""Kinds of values, and other names that people use."""

STUDIED = (
    "synthetic r=9",
    "synthetic r=10",
    "synthetic r=11",
    "synthetic r=12",
    "amino",
    "fia",
    "sugar",
)
EVALUATED = (
    "amino",
    "fia",
    "sugar",
    "il2",
    "alog",
    "hangzhou",
    "beijing",
    "movielens",
    "movielens-week",
    "synthetic",
    "covid19",
    "kinetic",
    "enron",
    "ems",
)


def method(incomplete: str) -> list[str]:
    """Return the methods whose names begin so."""
    return _beginning(registry.methods(), incomplete)


def kinds_of_values() -> dict[str, tuple[str, ...]]:
    """Return the kinds of values by name, with those that plug-ins have brought."""
    registry.methods()
    loaded = sys.modules.get("vaecp.models.vaecp.likelihoods.registry")
    known = {} if loaded is None else loaded.kinds()
    return VALUES | {name: kind.aliases for name, kind in known.items() if name not in VALUES}


def values(incomplete: str) -> list[str]:
    """Return the kinds of values whose names begin so."""
    found = kinds_of_values()
    return _beginning([*found, *(name for names in found.values() for name in names)], incomplete)


def methods(incomplete: str) -> list[str]:
    """Complete the last name of a list with commas."""
    return _last_of_list(registry.methods(), incomplete)


def dataset(incomplete: str) -> list[str]:
    """Return the tensors whose names begin so."""
    return _beginning(DATASETS, incomplete)


def studied(incomplete: str) -> list[str]:
    """Complete the last name of a list with commas."""
    return _last_of_list(STUDIED, incomplete)


def evaluated(incomplete: str) -> list[str]:
    """Complete the last name of a list with commas."""
    return _last_of_list(EVALUATED, incomplete)


def column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of the table named as INPUT."""
    return _beginning(_header(ctx), incomplete)


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the last column of a list with commas."""
    return _last_of_list(_header(ctx), incomplete)


def _header(ctx: typer.Context) -> tuple[str, ...]:
    """Return the columns of the input; nothing where it is no text table or cannot be read."""
    # With an option still unfinished, the parser leaves the arguments where they are.
    source = ctx.params.get("source") or next(iter(ctx.args), None)
    path = Path(str(source)).expanduser()
    if source is None or path.suffix.lower() not in USUAL:
        return ()
    try:
        return layout_of_file(path, encoding_of(path)).names
    except (OSError, ValueError):
        return ()


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _last_of_list(names: Iterable[str], incomplete: str) -> list[str]:
    done, comma, last = incomplete.rpartition(",")
    taken = [name.strip() for name in done.split(",")]
    left = [name for name in names if name not in taken]
    return [f"{done}{comma}{name}" for name in _beginning(left, last.strip())]
