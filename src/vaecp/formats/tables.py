"""Tables with one entry per row: a column of labels per mode, and a column of values.

In `.csv` and `.tsv` the first line names the columns. Labels that all look like numbers
become numbers, except codes with leading zeros ("007"), which stay text. An empty value
(or NA, NaN, null, None) is a gap. A `.csv` may be separated by semicolons, as spreadsheets
write it where the comma is the decimal sign; a cell like 12,4 is then 12.4. `.parquet` keeps the type of every column.
"""

from __future__ import annotations

import csv
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vaecp.errors import FormatError
from vaecp.extras import require
from vaecp.formats.common import RESULTS, Filled, Request, damaged_means, is_text
from vaecp.observations import Observations

GAPS = {"", "na", "n/a", "<na>", "nan", "null", "none"}
_SEPARATORS = {".csv": (",", "commas"), ".tsv": ("\t", "tabs")}
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
_INTEGER = re.compile(r"[+-]?(0|[1-9]\d*)")
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def check_installed(suffix: str) -> None:
    """Only .parquet needs more than pandas."""
    if suffix == ".parquet":
        require("pyarrow", "parquet", "a .parquet file")


def read(path: Path, request: Request) -> Observations:
    """Read a file of this kind; see the module."""
    request.refuse_variable(path)
    frame = read_frame(path)
    if request.wide is not None:
        frame, modes, value = _lengthened(frame, path, request)
    else:
        _refuse_wide_layout(frame, path, request)
        value = request.value or str(frame.columns[-1])
        modes = request.modes or tuple(str(name) for name in frame.columns if name != value)
    repeated = [name for name in {*modes, value} if (*modes, value).count(name) > 1]
    if repeated:
        raise FormatError(
            f"{path}: column {repeated[0]!r} is asked for twice (modes {', '.join(modes)}; value "
            f"{value}): name each column once."
        )
    _check_columns(frame, (*modes, value), path)
    if not len(frame):
        raise FormatError(f"{path}: has a header but no rows: at least one entry is needed.")
    if len(modes) < 2:
        raise FormatError(
            f"{path}: has the column(s) {', '.join(map(repr, frame.columns))}, which leaves "
            f"{len(modes)} mode(s) beside the value {value!r}: a tensor needs two or more"
            f"{_separator_hint(path)}."
        )
    table = pd.DataFrame({name: frame[name] for name in (*modes, value)})
    if is_text_kind(path):
        for name in modes:
            table[name] = labels_of_column(table[name])
        table[value] = _values_of_column(table[value])
    return Observations.from_table(
        table, modes, value, duplicates=request.duplicates, absent=request.absent
    )


def _numeric_names(frame: pd.DataFrame) -> list[str]:
    return [str(name) for name in frame.columns if _NUMBER.fullmatch(str(name).strip())]


def _refuse_wide_layout(frame: pd.DataFrame, path: Path, request: Request) -> None:
    """Two or more columns called by numbers are labels of a mode, not modes themselves."""
    numeric = _numeric_names(frame)
    if request.modes is None and len(numeric) > 1:
        raise FormatError(
            f"{path}: the columns {', '.join(map(repr, numeric[:3]))} ... are called by numbers, as in "
            "one row per sample and one column per wavelength: pass --wide wavelength "
            '(wide="wavelength") to read it so, or --modes to name the label columns.'
        )


def _lengthened(
    frame: pd.DataFrame, path: Path, request: Request
) -> tuple[pd.DataFrame, tuple[str, ...], str]:
    """Turn a header of labels into a column of its own: one entry per row."""
    name, value = str(request.wide), request.value or "value"
    header = _numeric_names(frame)
    kept = request.modes or tuple(str(c) for c in frame.columns if str(c) not in header)
    header = [str(column) for column in frame.columns if str(column) not in kept]
    _check_columns(frame, kept, path)
    if not header or not kept or name in kept or value in (*kept, name):
        raise FormatError(
            f"{path}: wide is {name!r}, but the columns {', '.join(map(repr, frame.columns))} leave "
            f"{len(kept)} for labels and {len(header)} for values: name the label columns with "
            "modes, and choose a name that none of them has."
        )
    long = frame.melt(
        id_vars=list(kept), value_vars=header, var_name=name, value_name=value, ignore_index=False
    )
    return long, (*kept, name), value


def write(observations: Observations, path: Path, shown: Path) -> None:
    """Write the entries, and a row without value for each label that has no entry."""
    for name, labels in zip(observations.mode_names, observations.labels, strict=True):
        if is_text_kind(shown):
            _check_comes_back(labels, name, shown)
        elif labels.dtype.kind not in "iufbM" and not is_text(labels):
            raise FormatError(
                f"{shown}: mode {name!r} has the label {labels[0]!r} "
                f"({type(labels[0]).__name__}), which .parquet cannot hold: use numbers, text or "
                "dates."
            )
    names = (*observations.mode_names, observations.value_name)
    _check_names(names, shown)
    indices, values = _with_unseen_labels(observations)
    frame = observations.keys(indices)
    frame[observations.value_name] = values
    write_frame(frame, path)


def check_completion(observations: Observations, shown: Path) -> None:
    """Refuse modes that have the name of a column that is added."""
    for name in observations.mode_names:
        if name in RESULTS:
            raise FormatError(
                f"{shown}: mode {name!r} has the name of a column of the result "
                f"({', '.join(RESULTS)}): rename the mode."
            )


def write_completion(completion: Filled, path: Path, shown: Path) -> None:
    """Write every entry of a completion to `path`; errors speak of `shown`."""
    check_completion(completion.observations, shown)
    frame = completion.to_frame()
    _check_names(tuple(map(str, frame.columns)), shown)
    write_frame(frame, path)


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a DataFrame without its index."""
    if is_text_kind(path):
        separator = _SEPARATORS[path.suffix.lower()][0]
        frame.to_csv(path, sep=separator, index=False, lineterminator="\n", encoding="utf-8")
        return
    check_installed(".parquet")
    frame.to_parquet(path, engine="pyarrow", index=False)


def read_frame(path: Path) -> pd.DataFrame:
    """Read a table, every column of a .csv or .tsv as text."""
    if is_text_kind(path):
        return _read_text(path)
    check_installed(".parquet")
    with damaged_means(path, "a Parquet file"):
        frame = pd.read_parquet(path, engine="pyarrow")
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index(level=named) if named else frame


def is_text_kind(path: Path) -> bool:
    """Whether a path is a .csv or .tsv."""
    return path.suffix.lower() in _SEPARATORS


def _read_text(path: Path) -> pd.DataFrame:
    kind = f"a table in UTF-8 text{_separator_hint(path)}"
    with damaged_means(path, kind):
        with path.open(encoding="utf-8-sig", newline="") as file:
            separator = separator_of(path, file.readline())
            file.seek(0)
            names = tuple(next(csv.reader(file, delimiter=separator), ()))
        if separator == ";":
            names = tuple(map(_with_point, names))
        _check_names(names, path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                sep=separator,
                header=0,
                names=list(names),
                dtype=str,
                index_col=False,
                keep_default_na=False,
                low_memory=False,
                encoding="utf-8-sig",
            )
    # Errors name the place as an editor shows it: the header is line 1.
    frame.index = pd.RangeIndex(2, len(frame) + 2, name="line")
    return frame.map(_with_point) if separator == ";" else frame


def separator_of(path: Path, header: str) -> str:
    """Return what separates the columns of a .csv or .tsv with this first line."""
    separator = _SEPARATORS[path.suffix.lower()][0]
    cells = re.sub('"[^"]*"', "", header.strip()).split(";")
    # A comma that is no decimal sign separates, and the semicolons belong to names.
    no_commas = all("," not in cell or _DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    return ";" if separator == "," and len(cells) > 1 and no_commas else separator


def _with_point(text: str) -> str:
    return text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text


def _separator_hint(path: Path) -> str:
    if not is_text_kind(path):
        return ""
    return f" separated by {_SEPARATORS[path.suffix.lower()][1]}"


def _check_names(names: tuple[str, ...], path: Path) -> None:
    if is_text_kind(path) and all(_NUMBER.fullmatch(name.strip()) for name in names):
        raise FormatError(
            f"{path}: the first line ({', '.join(names)}) holds numbers, not the names of columns: "
            "add a line that names them."
        )
    for column, name in enumerate(names):
        if not name:
            raise FormatError(
                f"{path}: column {column + 1} has no name: name it in the first line."
            )
        if name in names[:column]:
            raise FormatError(
                f"{path}: columns {names.index(name) + 1} and {column + 1} are both called "
                f"{name!r}: give them different names."
            )


def _check_columns(frame: pd.DataFrame, wanted: tuple[str, ...], path: Path) -> None:
    for name in wanted:
        if name not in frame.columns:
            raise FormatError(
                f"{path}: has no column {name!r}: it has {', '.join(map(repr, frame.columns))}."
            )


# ---- text <-> labels and values --------------------------------------------------------


def labels_from_text(texts: np.ndarray) -> np.ndarray:
    """Return distinct texts as integers or floats where all of them look so, else as they are.

    >>> labels_from_text(np.array(["10", "9"], dtype=object))
    array([10,  9])
    >>> labels_from_text(np.array(["007", "10"], dtype=object))
    array(['007', '10'], dtype=object)
    """
    stripped = [text.strip() for text in texts]
    if all(_INTEGER.fullmatch(text) for text in stripped):
        numbers = [int(text) for text in stripped]
        return np.array(numbers) if max(map(abs, numbers), default=0) < 2**63 else texts
    if all(_NUMBER.fullmatch(text) for text in stripped):
        numbers = np.array([float(text) for text in stripped])
        return numbers if np.isfinite(numbers).all() else texts
    return texts


def is_number(text: str) -> bool:
    """Whether a text is read as a number; a code with leading zeros is not."""
    return _NUMBER.fullmatch(text.strip()) is not None


def labels_of_column(column: Any) -> np.ndarray:
    """Return a column of text as labels: numbers, or text with None where it is empty."""
    codes, texts = pd.factorize(column.to_numpy(dtype=object))
    texts = np.asarray(texts)
    labels = labels_from_text(texts)
    if labels.dtype.kind == "O":
        labels = labels.copy()
        labels[texts == ""] = None
    return labels[codes]


def _values_of_column(column: Any) -> np.ndarray:
    """Return numbers with NaN for gaps; or the text as it is, where some is no number."""
    texts = column.to_numpy(dtype=object).copy()
    texts[column.str.strip().str.lower().isin(GAPS).to_numpy()] = "nan"
    try:
        return texts.astype(np.float64)
    except ValueError:
        texts[texts == "nan"] = None
        return texts


def _check_comes_back(labels: np.ndarray, name: str, path: Path) -> None:
    texts = np.array([str(label) for label in labels.tolist()], dtype=object)
    back = labels_from_text(texts)
    same_kind = is_text(labels) if back.dtype.kind == "O" else back.dtype.kind == labels.dtype.kind
    for label, text, again in zip(labels, texts, back, strict=True):
        if not same_kind or not text or again != label or "\0" in text or "\r" in text:
            raise FormatError(
                f"{path}: mode {name!r} has the label {label!r}, which would come back as "
                f"{again!r} from text: use .parquet or .npz to keep it."
            )


def _with_unseen_labels(observations: Observations) -> tuple[np.ndarray, np.ndarray]:
    unseen = [
        np.setdiff1d(np.arange(size), observations.indices[:, mode])
        for mode, size in enumerate(observations.shape)
    ]
    extra = np.zeros((max(map(len, unseen)), observations.n_modes), dtype=np.int64)
    for mode, rows in enumerate(unseen):
        extra[: len(rows), mode] = rows
    return (
        np.concatenate([observations.indices, extra]),
        np.concatenate([observations.values.astype(np.float64), np.full(len(extra), np.nan)]),
    )
