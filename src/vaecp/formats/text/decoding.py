"""Which encoding a text file has: from its first bytes, else whether it is valid UTF-8.

Only the standard library is used here, so that the shell's completion answers at once.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO

from vaecp.errors import FormatError

FALLBACK = "cp1252"
"""What spreadsheets in Western Europe and America write that do not write UTF-8."""
CHUNK = 1 << 20
CELLS_PER_BYTE = 8
FEW_CELLS = 10_000_000
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d\ufeff\ufffe\uffff]")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_of(path: Path) -> str:
    """Return the name of the encoding; every byte is looked at, because one can decide."""
    with path.open("rb") as file:
        head = file.read(CHUNK)
        for mark, name in _MARKS:
            if head.startswith(mark):
                return name
        if name := _wide(head):
            return name
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while head:
                decoder.decode(head)
                head = file.read(CHUNK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return FALLBACK
    return "utf-8"


def checked_encoding(name: str) -> str:
    """Return the encoding that a person named, or refuse a name that there is not."""
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise FormatError(
            f"there is no encoding {name!r}: use utf-8, cp1252 (Windows), latin-1, utf-16 or "
            "another that Python knows."
        ) from None


def first_text(path: Path, encoding: str, n_characters: int) -> str:
    """Return the beginning of a file; bytes that are no text are refused."""
    with path.open(encoding=encoding, newline="") as file:
        text = file.read(n_characters)
    if found := _NO_TEXT.search(text):
        raise ValueError(f"character {found.start() + 1} is {found[0]!r}, which is no text")
    return text


def refuse_short_lines(path: Path, encoding: str, n_columns: int) -> None:
    """Refuse lines that are far too short for their table: cells that are absent take memory too."""
    most = CELLS_PER_BYTE * path.stat().st_size + FEW_CELLS
    if path.stat().st_size * n_columns <= most:
        return
    with path.open(encoding=encoding, newline="") as file:
        n_lines = sum(max(text.count("\n"), text.count("\r")) for text in iter(_next(file), ""))
    if n_lines * n_columns > most:
        raise FormatError(
            f"{path}: its {n_lines:,} lines hold far less than {n_columns:,} columns: name only the "
            "columns that there are."
        )


def _next(file: IO[str]) -> Callable[[], str]:
    return lambda: file.read(CHUNK)


def _wide(head: bytes) -> str | None:
    """Recognise UTF-16 without a mark: of Western text every other byte is zero."""
    sample = head[: len(head) // 2 * 2]
    if not sample:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > 0.7 * half and not even:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 * half and not odd else None
