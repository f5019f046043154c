"""The one list of file formats: their suffixes, and who reads and writes them.

Messages, help and the commands read this list; a new format is one entry. Listing suffixes
imports nothing heavy: a format is loaded when a file of its kind is read or written.

A package of another author adds a format with an entry point in the group `vaecp.plugins`: a
module that calls `register` when it is imported.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vaecp.errors import FormatError
from vaecp.runtime.plugins import load_plugins

if TYPE_CHECKING:
    from vaecp.data.observations import Observations
    from vaecp.formats.common import Filled, Request

SPREADSHEETS = (".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
TEXTS = {".txt", ".dat", ".asc", ".prn", ".tab"}


class Format(Protocol):
    """Who reads and writes the files of one kind: an object, or a module with these functions.

    Files are written to a temporary `path`, which takes its name `shown` once all went well;
    errors speak of `shown`.
    """

    def read(self, path: Path, request: Request) -> Observations:
        """Read the observed entries."""
        ...

    def write(self, observations: Observations, path: Path, shown: Path) -> None:
        """Write observed entries, so that `read` gives them back."""
        ...

    def write_completion(self, completion: Filled, path: Path, shown: Path) -> None:
        """Write every entry of a completion, with its mean, std and interval."""
        ...

    def check_completion(self, observations: Observations, shown: Path) -> None:
        """Refuse, before any long work, names and labels that the file cannot hold."""
        return None

    def check_installed(self, suffix: str) -> None:
        """Refuse where an optional dependency is missing."""
        return None


@dataclass(frozen=True)
class FileKind:
    """An entry of the list.

    Attributes
    ----------
    suffixes : in lower case, with their points; a file is of this kind if its name ends so.
    home : a `Format`, or "module" or "module:attribute", which is imported late.
    table : whether it holds rows and columns; `home` is then a `vaecp.formats.tables.Table`.
    """

    suffixes: tuple[str, ...]
    home: str | Format
    table: bool = False

    def load(self) -> Any:
        """Return the format."""
        if not isinstance(self.home, str):
            return self.home
        module, _, attribute = self.home.partition(":")
        found = importlib.import_module(module)
        return getattr(found, attribute) if attribute else found


_KINDS: dict[str, FileKind] = {}


def register(kind: FileKind) -> FileKind:
    """Add a format, in place of earlier ones with its suffixes."""
    for suffix in kind.suffixes:
        _KINDS[suffix] = kind
    return kind


def suffixes(*, tables_only: bool = False) -> tuple[str, ...]:
    """Return the suffixes of all formats, those of plug-ins last."""
    load_plugins()
    return tuple(suffix for suffix, kind in _KINDS.items() if kind.table or not tables_only)


def listed(*, tables_only: bool = False, last: str = "and") -> str:
    """Return the suffixes as they stand in a sentence."""
    *others, final = suffixes(tables_only=tables_only)
    return f"{', '.join(others)} {last} {final}" if others else final


def supported() -> str:
    """Say which files are read and written."""
    return f"vaecp reads and writes {listed()} files"


def suffix_of(path: Path) -> str:
    """Return the known suffix of a path in lower case, `.tns.gz` being one suffix."""
    name = path.name.lower()
    for suffix in suffixes():
        if name.endswith(suffix) and name != suffix:
            return suffix
    if path.is_dir():
        raise FormatError(f"{path}: is a folder: name a file; {supported()}.")
    if path.suffix.lower() in SPREADSHEETS:
        raise FormatError(f"{path}: is a spreadsheet: save it as .xlsx or .csv; {supported()}.")
    if path.suffix.lower() in TEXTS:
        renamed = path.with_suffix(".csv").name
        raise FormatError(
            f"{path}: the suffix {path.suffix!r} does not say what it is: if it is a table in text, "
            f"call it {renamed}, whatever separates its columns; {supported()}."
        )
    found = f"the suffix {path.suffix!r} is unknown" if path.suffix else "there is no suffix"
    raise FormatError(f"{path}: {found}: {supported()}.")


def kind_of(path: Path) -> FileKind:
    """Return the entry for files of this name."""
    return _KINDS[suffix_of(path)]


register(FileKind((".csv", ".tsv"), "vaecp.formats.delimited:FORMAT", table=True))
register(FileKind((".parquet",), "vaecp.formats.parquet:FORMAT", table=True))
register(FileKind((".xlsx",), "vaecp.formats.spreadsheets:FORMAT", table=True))
register(FileKind((".npy", ".npz"), "vaecp.formats.arrays"))
register(FileKind((".mat",), "vaecp.formats.matlab"))
register(FileKind((".tns", ".tns.gz"), "vaecp.formats.frostt"))
register(FileKind((".nc",), "vaecp.formats.netcdf"))
