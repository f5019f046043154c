"""A row of units below the header, as spreadsheets and instruments write one."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from vaecp.formats.raw import RawTable
from vaecp.formats.text.written import GAPS, is_value

LONGEST_UNIT = 20


def without_units(
    frame: pd.DataFrame, raw: RawTable, notes: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Leave out a first row that has units: texts above numbers, and otherwise nothing.

    Some column has a text there that is no number, and nothing but numbers below it; no column has
    a text there that also occurs below.
    """
    if not (raw.text and raw.header and len(frame) > 1):
        return frame, list(notes)
    first, below = frame.iloc[0].str.strip(), frame.iloc[1:]
    units = [name for name in frame.columns if first[name]]
    if not units or not all(len(first[name]) <= LONGEST_UNIT for name in units):
        return frame, list(notes)
    above_numbers = [n for n in units if not _is_number(first[n]) and _has_numbers(below[n])]
    plain = all(name in above_numbers or first[name] == "-" for name in units)
    if not above_numbers or not plain:
        return frame, list(notes)
    place = f"{frame.index.name} {frame.index[0]}"
    shown = ", ".join(dict.fromkeys(first[name] for name in above_numbers))
    return below, [*notes, f"Left out {place}, which holds units ({shown[:60]})."]


def _is_number(text: str) -> bool:
    return text.lower() in GAPS or is_value(text) or text.startswith(("<", ">"))


def _has_numbers(cells: pd.Series) -> bool:
    texts = [text.strip() for text in cells.unique()]
    known = [text for text in texts if text.lower() not in GAPS]
    return bool(known) and all(map(_is_number, known))
