"""Parquet files that are too large for memory: labels are encoded once, into arrays on disk.

The arrays lie in a folder beside the data. They are written part by part, so that an interrupted
run goes on where it was, and are written anew when a file has another size, time or type. Labels
are held in memory, as the rows of a model are.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from filelock import FileLock

from vaecp.data.checks import numbers_of
from vaecp.data.labels import Place, encode
from vaecp.data.stored import Part, StoredEntries, opened_array
from vaecp.errors import FormatError, VaecpError
from vaecp.formats.columns import choose_columns
from vaecp.formats.common import Request
from vaecp.formats.parquet import read_columns
from vaecp.formats.partitions import Partitions, Unit
from vaecp.formats.raw import RawTable
from vaecp.formats.text.numbers import sentinels
from vaecp.runtime.files import whole_file
from vaecp.runtime.progress import report

SCHEMA = 1
PLAN, HEADER = "plan.json", "entries.json"
OWN = re.compile(
    r"(\.[0-9a-f]{12}-)?"  # of a file that was not finished
    r"(lock|(plan|entries|\d{6,})\.json|labels-\d+\.parquet|(counts-\d+|\d{6,}-(indices|values))\.npy)"
)
"""Names of files that are written here: no others are ever removed."""
REPEATED = "Entries that are listed more than once count as repeated measurements."


def scan(
    path: str | Path,
    *,
    modes: Sequence[str] | None = None,
    value: str | None = None,
    missing: Sequence[Any] = (),
    cache: str | Path | None = None,
) -> StoredEntries:
    """Encode the entries of Parquet files for a fit that reads them from disk.

    Parameters
    ----------
    path : a Parquet file, or a folder of them; folders such as `day=3` are a column.
    modes, value, missing : as in `read`.
    cache : where the encoded entries are kept: by default `.vaecp-cache` in the folder, or
        `.NAME.vaecp-cache` beside a file. Later calls read them from there, as long as the files
        have the same names, sizes, times and types.
    """
    partitions = Partitions.at(path)
    request = Request(modes=tuple(modes) if modes else None, value=value)
    names, value_name = _chosen(partitions, request)
    folder = Path(cache).expanduser() if cache is not None else _beside(partitions.path)
    plan = {
        "schema": SCHEMA,
        "modes": names,
        "value": value_name,
        "missing": sorted(map(str, missing)),
        **partitions.describe(),
    }
    _make(folder)
    with FileLock(folder / "lock"), _damage_named(folder):
        return _Encoder(partitions, folder, plan).stored()


def _chosen(partitions: Partitions, request: Request) -> tuple[list[str], str]:
    """Choose the columns by the first rows, as those of a table in memory are."""
    _, _, head = next(partitions.batches())
    raw = RawTable(pd.DataFrame(head, columns=pd.Index(partitions.columns)).head(1000), text=False)
    try:
        found = choose_columns(raw, request)
    except VaecpError as error:
        raise FormatError(f"{partitions.path}: {error}") from error
    return list(found.modes), found.value_name


def _beside(path: Path) -> Path:
    return path / ".vaecp-cache" if path.is_dir() else path.with_name(f".{path.name}.vaecp-cache")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            if not OWN.fullmatch(path.name) or path.is_dir():
                raise FormatError(
                    f"{folder}: holds {path.name!r:.80}, which is no file of encoded entries: name "
                    "an empty folder with --cache (cache=), or a new one."
                )
        (folder / "lock").touch()
    except OSError as error:
        raise FormatError(
            f"{folder}: cannot be written ({error.strerror}), and encoded entries are kept there: "
            "name another folder with --cache (cache=)."
        ) from error


@contextmanager
def _damage_named(folder: Path) -> Iterator[None]:
    """Turn whatever encoded entries of wrong contents lead to into one line."""
    try:
        yield
    except (VaecpError, OSError, MemoryError):
        raise
    except Exception as error:
        reason = str(error)[:200] or type(error).__name__
        raise FormatError(
            f"{folder}: is damaged ({reason}): remove this folder, and it is written anew."
        ) from error


class _Encoder:
    """Writes what is missing of a cache."""

    def __init__(self, partitions: Partitions, folder: Path, plan: dict[str, Any]) -> None:
        self.partitions, self.folder, self.plan = partitions, folder, plan
        self.modes, self.value = plan["modes"], plan["value"]
        self.missing = sentinels(plan["missing"])

    def stored(self) -> StoredEntries:
        """Return the entries, encoding what is not encoded yet."""
        if _read_json(self.folder / PLAN) != self.plan:
            for path in self.folder.iterdir():
                if path.name != "lock":
                    path.unlink()
            _write_json(self.folder / PLAN, self.plan)
        labels = [self._kept_labels(mode) for mode in range(len(self.modes))]
        if any(each is None for each in labels):
            labels = self._found_labels()
        header = _read_json(self.folder / HEADER)
        if header is None:
            header = self._encoded([each for each in labels if each is not None])
            _write_json(self.folder / HEADER, header)
        return self._opened(header, tuple(each for each in labels if each is not None))

    # ---- labels ------------------------------------------------------------------------

    def _kept_labels(self, mode: int) -> np.ndarray | None:
        path = self.folder / f"labels-{mode}.parquet"
        if not path.exists():
            return None
        labels = read_columns(path)["label"].to_numpy()
        kept = encode(labels, self.modes[mode])[1]
        if kept.dtype != labels.dtype or not np.array_equal(kept, labels):
            raise ValueError(f"{path.name} does not list distinct labels in order")
        return labels

    def _found_labels(self) -> list[np.ndarray]:
        """Collect the distinct labels of every mode, in memory: a model has a row for each."""
        found: list[list[np.ndarray]] = [[] for _ in self.modes]
        units = self.partitions.units
        for number, unit in enumerate(units):
            report(number, 2 * len(units), "parts")
            for path, row, frame in self.partitions.batches(unit, self.modes):
                for each, name in zip(found, self.modes, strict=True):
                    column = frame[name].to_numpy()
                    distinct = np.asarray(pd.unique(column))
                    if pd.isna(distinct).any():
                        encode(column, name, _in(path, row))  # says which row has none
                    each.append(distinct)
            found = [[np.asarray(pd.unique(np.concatenate(each)))] for each in found]
        labels = [encode(each[0], name)[1] for each, name in zip(found, self.modes, strict=True)]
        for mode, each in enumerate(labels):
            with whole_file(self.folder / f"labels-{mode}.parquet") as temporary:
                pd.DataFrame({"label": each}).to_parquet(temporary, engine="pyarrow")
        return labels

    # ---- entries -----------------------------------------------------------------------

    def _encoded(self, labels: Sequence[np.ndarray]) -> dict[str, Any]:
        find = [_finder(each) for each in labels]
        counts = [np.zeros(len(each), dtype=np.int64) for each in labels]
        units, n_units = self.partitions.units, len(self.partitions.units)
        parts, extremes, start = [], [], 0
        for number, unit in enumerate(units):
            report(n_units + number, 2 * n_units, "parts")
            part, indices, values = self._part(f"{number:06d}", unit, find)
            for count, column in zip(counts, indices.T, strict=True):
                if len(column) and not 0 <= column.min() <= column.max() < len(count):
                    raise ValueError("labels and entries do not belong together")
                count += np.bincount(column, minlength=len(count))
            if len(values):
                ends = [int(np.argmin(values)), int(np.argmax(values))]
                extremes += [(float(values[end]), start + end) for end in ends]
                parts.append(part)
            start += len(values)
        if not extremes:
            raise FormatError(f"{self.partitions.path}: has no observed value in {self.value!r}.")
        for mode, count in enumerate(counts):
            with whole_file(self.folder / f"counts-{mode}.npy") as temporary:
                np.save(temporary, count)
        n_rows = self.partitions.n_rows
        return {
            "parts": [[part.name, part.n_entries, part.checksum] for part in parts],
            "extremes": [min(extremes)[1], max(extremes)[1]],
            "gaps": n_rows - start,
        }

    def _part(
        self, name: str, unit: Unit, find: Sequence[Callable[[np.ndarray], np.ndarray]]
    ) -> tuple[Part, np.ndarray, np.ndarray]:
        """Encode one unit, unless that was done before."""
        done = _read_json(self.folder / f"{name}.json")
        if done is not None:
            part = Part(name, done["n_entries"], done["checksum"])
            indices, values = part.open(self.folder, len(self.modes))
            if _checksum(indices, values) == part.checksum:
                return part, indices, values
        all_indices, all_values = [], []
        for path, row, frame in self.partitions.batches(unit, [*self.modes, self.value]):
            values = numbers_of(frame[self.value], self.value, _in(path, row))
            known = ~(np.isnan(values) | np.isin(values, self.missing))
            columns = zip(find, self.modes, strict=True)
            codes = [each(frame[mode].to_numpy()[known]) for each, mode in columns]
            all_indices.append(np.stack(codes, axis=1).astype(np.int32))
            all_values.append(values[known])
        indices, values = np.concatenate(all_indices), np.concatenate(all_values)
        part = Part(name, len(values), _checksum(indices, values))
        for path, array in zip(part.paths(self.folder), (indices, values), strict=True):
            with whole_file(path) as temporary:
                np.save(temporary, array)
        # Written last: a part without it is done again.
        _write_json(
            self.folder / f"{name}.json", {"n_entries": part.n_entries, "checksum": part.checksum}
        )
        return part, indices, values

    def _kept_counts(self, mode: int) -> np.ndarray:
        path = self.folder / f"counts-{mode}.npy"
        try:
            return np.array(opened_array(path))
        except OSError as error:
            raise ValueError(f"{path.name} cannot be read") from error

    def _opened(self, header: dict[str, Any], labels: tuple[np.ndarray, ...]) -> StoredEntries:
        gaps = header["gaps"]
        notes = [f"{gaps:,} rows without a value are gaps."] if gaps else []
        counts = [self._kept_counts(mode) for mode in range(len(labels))]
        found = StoredEntries(
            self.folder,
            tuple(Part(*each) for each in header["parts"]),
            tuple(len(each) for each in labels),
            tuple(self.modes),
            labels,
            self.value,
            tuple(counts),
            tuple(header["extremes"]),
            (*notes, REPEATED),
        )
        found.validate()
        return found


def _checksum(indices: np.ndarray, values: np.ndarray) -> int:
    return zlib.crc32(values.data, zlib.crc32(indices.data))


def _finder(labels: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return what finds labels; the table of hashes is made once."""
    index = pd.Index(labels)
    if labels.dtype.kind in "iu" and len(labels) == int(labels[-1]) - int(labels[0]) + 1:
        return lambda column: column - labels[0]
    return lambda column: index.get_indexer(pd.Index(column.astype(labels.dtype, copy=False)))


def _in(path: Path, first: int) -> Place:
    return lambda row: f"row {first + row} of {path.name}"


def _read_json(path: Path) -> Any:
    """Return what a file holds; None where there is none, or it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _write_json(path: Path, content: Any) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
