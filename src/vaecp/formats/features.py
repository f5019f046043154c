"""Tables about the rows of modes, as files: one row per label, one column per feature."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vaecp.data.features import with_features
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError, VaecpError
from vaecp.formats import read_table
from vaecp.formats.common import is_text
from vaecp.formats.text.labels import read_labels, tidied
from vaecp.formats.text.numbers import gaps_among


def with_listed_features(
    observations: Observations,
    paths: Mapping[str, str | Path],
    *,
    add_rows: bool = True,
    **options: Any,
) -> Observations:
    """Return the observations with the features that files list of the rows of modes.

    The labels are in the column with the name of the mode, else in the first. `options` are those
    of text tables, as of `vaecp.read`.
    """
    tables = {}
    for name, path in paths.items():
        if name not in observations.mode_names:
            raise ObservationError(
                f"{path}: is to describe the mode {name!r}, which does not exist: use "
                f"{', '.join(map(repr, observations.mode_names))}."
            )
        labels = observations.labels[observations.mode_names.index(name)]
        tables[name] = _table(Path(path), name, labels, options)
    try:
        return with_features(observations, tables, add_rows=add_rows)
    except VaecpError as error:
        raise type(error)(f"{', '.join(map(str, paths.values()))}: {error}") from error


def _table(path: Path, mode: str, labels: np.ndarray, options: dict[str, Any]) -> pd.DataFrame:
    frame = read_table(path, **options).frame
    if mode not in frame.columns:
        frame = frame.rename(columns={frame.columns[0]: mode})
    columns = {}
    for name in frame.columns:
        cells = frame[name].to_numpy()
        texts = name == mode and is_text(labels)
        columns[name] = _cells(cells, str(name), as_text=texts) if _has_texts(cells) else cells
        if texts and not _has_texts(cells):
            columns[name] = np.array([str(cell) for cell in cells], dtype=object)
    return pd.DataFrame(columns)


def _has_texts(cells: np.ndarray) -> bool:
    return any(isinstance(cell, str) for cell in cells)


def _cells(cells: np.ndarray, name: str, *, as_text: bool) -> np.ndarray:
    """Read texts as numbers, dates or categories, whichever all of them are; None where missing."""
    stripped = [tidied(cell) if isinstance(cell, str) else "" for cell in cells]
    if as_text:
        return np.array([text or None for text in stripped], dtype=object)
    kept = np.where(gaps_among(stripped), "", np.array(stripped, dtype=object))
    values = read_labels(kept, name).values
    return pd.Series(values).infer_objects().to_numpy()
