"""How INPUT is read: what in it is what, and how a text table is written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vaecp.app.commands import suggestions

if TYPE_CHECKING:
    from vaecp.data.stored import StoredEntries
    from vaecp.formats import Opened

READING = "Reading the input"
TEXT = "Text tables (detected by default)"
SIGNS = {"\t": "tab", " ": "space"}
"""What signs are called that are hard to type."""


class Absent(StrEnum):
    """What an entry that the input does not list is."""

    unknown = "unknown"
    zero = "zero"


class Below(StrEnum):
    """What becomes of fluorescence whose emission is shorter than its excitation."""

    keep = "keep"
    zero = "zero"
    missing = "missing"


class Duplicates(StrEnum):
    """What to do with entries that the input lists more than once."""

    error = "error"
    keep = "keep"
    mean = "mean"


@dataclass(frozen=True)
class Text:
    """How a text table is written: detected in the file, unless it is named."""

    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line names the columns.",
            rich_help_panel=TEXT,
        ),
    ] = None
    separator: Annotated[
        str | None,
        typer.Option(help="Sign between columns: , ; | or tab.", rich_help_panel=TEXT),
    ] = None
    decimal: Annotated[
        str | None, typer.Option(help="Decimal sign: . or ,", rich_help_panel=TEXT)
    ] = None
    thousands: Annotated[
        str | None,
        typer.Option(help="Sign between thousands: . or , or ' or space.", rich_help_panel=TEXT),
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="Encoding, such as utf-8 or cp1252.", rich_help_panel=TEXT)
    ] = None
    date_format: Annotated[
        str | None,
        typer.Option(
            help="Format of dates, such as %d/%m/%Y; text keeps them as text.", rich_help_panel=TEXT
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Return the options that were given."""
        signs = {name: sign for sign, name in SIGNS.items()}
        return {
            name: signs.get(item, item) for name, item in vars(self).items() if item is not None
        }


Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="A value that means missing, such as -999. May be repeated.", rich_help_panel=READING
    ),
]


@dataclass(frozen=True)
class Reading:
    """What in INPUT is what."""

    modes: Annotated[
        str | None,
        typer.Option(
            help="Label columns, separated by commas; all but the value column by default.",
            autocompletion=suggestions.columns,
            rich_help_panel=READING,
        ),
    ] = None
    value: Annotated[
        str | None,
        typer.Option(
            help="Value column; the last by default.",
            autocompletion=suggestions.column,
            rich_help_panel=READING,
        ),
    ] = None
    variable: Annotated[
        str | None,
        typer.Option(
            help="Which array of a .npz, .mat or .nc file, or which sheet of a .xlsx file.",
            rich_help_panel=READING,
        ),
    ] = None
    wide: Annotated[
        str | None,
        typer.Option(
            help="Name of the mode whose labels are the header, one column per label.",
            rich_help_panel=READING,
        ),
    ] = None
    missing: Missing = None
    absent: Annotated[
        Absent,
        typer.Option(
            help="What an entry is that is not listed: unknown (a gap) or zero.",
            rich_help_panel=READING,
        ),
    ] = Absent.unknown
    duplicates: Annotated[
        Duplicates,
        typer.Option(
            help="What to do with entries that are listed more than once.",
            rich_help_panel=READING,
        ),
    ] = Duplicates.error
    lower: Annotated[
        str | None,
        typer.Option(
            help="Column with lower limits of empty values; the one called lower by default.",
            rich_help_panel=READING,
        ),
    ] = None
    upper: Annotated[
        str | None,
        typer.Option(
            help="Column with upper limits of empty values; the one called upper by default.",
            rich_help_panel=READING,
        ),
    ] = None
    saturated_at: Annotated[
        float | None,
        typer.Option(
            help="Value at which the detector saturates: values that reach it may be larger.",
            rich_help_panel=READING,
        ),
    ] = None
    scatter: Annotated[
        str | None,
        typer.Option(
            help="Bands of scatter in fluorescence to set to missing, as in "
            "rayleigh:1=15,raman:1=8/12 (order, nm below/above).",
            rich_help_panel=READING,
        ),
    ] = None
    below_diagonal: Annotated[
        Below,
        typer.Option(
            help="What to do with fluorescence at emissions shorter than the excitation.",
            rich_help_panel=READING,
        ),
    ] = Below.keep
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Table about the rows of a mode, one row per label, as in film=films.csv. May be "
            "repeated.",
            rich_help_panel=READING,
        ),
    ] = None

    def open(self, source: Path, text: Text, *, add_rows: bool = False) -> Opened:
        """Read the observed entries, without the scatter that is to be removed, and the features.

        `add_rows` says whether labels that have features and no entries become rows.
        """
        opened = self._open_entries(source, text)
        if not self.features:
            return opened
        from vaecp.formats.features import with_listed_features

        found = with_listed_features(opened.observations, self.tables, add_rows=add_rows)
        return replace(opened, observations=found)

    @property
    def tables(self) -> dict[str, str]:
        """The files of features, by mode."""
        found = {}
        for given in self.features or ():
            mode, sign, path = given.partition("=")
            if not (sign and mode.strip() and path.strip()):
                raise typer.BadParameter(
                    f"--features is {given!r}: name a mode and a table, such as film=films.csv."
                )
            if mode.strip() in found:
                raise typer.BadParameter(
                    f"--features names {mode.strip()!r} twice: put its columns into one table."
                )
            found[mode.strip()] = path.strip()
        return found

    def _open_entries(self, source: Path, text: Text) -> Opened:
        opened = self.open_raw(source, text)
        if not self.cleans:
            return opened
        from vaecp.data.eem import without_scatter

        below = self.below_diagonal.value
        return opened.with_entries(without_scatter(opened.observations, self.scatter or (), below))

    def scan(self, source: Path, text: Text, cache: Path | None) -> StoredEntries:
        """Encode the entries of Parquet files on disk, for a fit that reads them piece by piece."""
        from vaecp.formats.stored import scan

        options = self._options(text)
        allowed = {"modes", "value", "missing", "duplicates"}
        others = sorted(set(options) - allowed)
        others += ["scatter"] * self.cleans + ["features"] * bool(self.features)
        if others or self.duplicates is Duplicates.mean:
            name = others[0] if others else "duplicates"
            raise typer.BadParameter(
                f"--{name.replace('_', '-')} is given, but {source} is read from disk piece by piece, "
                "which does not have it: leave it out."
            )
        options.pop("duplicates", None)
        return scan(source, cache=cache, **options)

    @property
    def cleans(self) -> bool:
        """Whether scatter or values below the diagonal are removed."""
        return self.scatter is not None or self.below_diagonal is not Below.keep

    def open_raw(self, source: Path, text: Text) -> Opened:
        """Read the observed entries, and the rows of a table as they stood."""
        from vaecp.formats import open_file

        return open_file(source, **self._options(text))

    def code(self, source: Path, text: Text) -> str:
        """Return the Python that reads the entries so."""
        options = [f"{name}={item!r}" for name, item in self._options(text).items()]
        read = f"vaecp.read({', '.join([repr(str(source)), *options])})"
        if self.cleans:
            bands, below = self.scatter or "", self.below_diagonal.value
            read = f"vaecp.data.eem.without_scatter({read}, {bands!r}, {below!r})"
        if self.features:
            read = f"vaecp.formats.features.with_listed_features({read}, {self.tables!r})"
        return read

    def _options(self, text: Text) -> dict[str, Any]:
        """Return the options of `vaecp.read` that differ from the defaults."""
        given = {
            "modes": [name.strip() for name in self.modes.split(",")] if self.modes else None,
            "value": self.value,
            "variable": self.variable,
            "wide": self.wide,
            "missing": self.missing or None,
            "lower": self.lower,
            "upper": self.upper,
            "saturated_at": self.saturated_at,
            "absent": None if self.absent is Absent.unknown else self.absent.value,
            "duplicates": None if self.duplicates is Duplicates.error else self.duplicates.value,
            **text.options(),
        }
        return {name: item for name, item in given.items() if item is not None}

    def words(self, text: Text) -> list[str]:
        """Return the options that differ from the defaults, to be given again."""
        below = None if self.below_diagonal is Below.keep else self.below_diagonal.value
        cleaning = {"scatter": self.scatter, "below_diagonal": below}
        words = [word for each in self.features or () for word in ("--features", each)]
        for name, item in {**self._options(text), **cleaning}.items():
            option = name.replace("_", "-")
            if isinstance(item, bool):
                words.append(f"--{option}" if item else f"--no-{option}")
            elif name == "missing":
                words += [word for each in item for word in ("--missing", each)]
            elif item is not None:
                named = ",".join(item) if isinstance(item, list) else str(item)
                words += [f"--{option}", SIGNS.get(named, named)]
        return words
