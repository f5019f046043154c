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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from filelock import FileLock

from vaecp.data.array_files import opened_array
from vaecp.data.checks import numbers_of
from vaecp.data.labels import Place, encode
from vaecp.data.stored import Part, StoredEntries
from vaecp.errors import FormatError, VaecpError
from vaecp.formats.columns import choose_columns
from vaecp.formats.common import Request
from vaecp.formats.parquet import read_columns
from vaecp.formats.partitions import Partitions, Unit
from vaecp.formats.raw import RawTable
from vaecp.formats.text.numbers import sentinels
from vaecp.runtime.files import whole_file
from vaecp.runtime.progress import report
from vaecp.runtime.threads import side_by_side

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
        units = self.partitions.units
        found: list[np.ndarray] = []
        for number, each in enumerate(side_by_side(self._labels_of, units)):
            report(number, 2 * len(units), "parts")
            found = [*map(_distinct, zip(found, each, strict=True))] if found else each
        labels = [encode(each, name)[1] for each, name in zip(found, self.modes, strict=True)]
        for mode, each in enumerate(labels):
            with whole_file(self.folder / f"labels-{mode}.parquet") as temporary:
                pd.DataFrame({"label": each}).to_parquet(temporary, engine="pyarrow")
        return labels

    def _labels_of(self, unit: Unit) -> list[np.ndarray]:
        found: list[list[np.ndarray]] = [[] for _ in self.modes]
        for path, row, frame in self.partitions.batches(unit, self.modes):
            for each, name in zip(found, self.modes, strict=True):
                column = frame[name].to_numpy()
                each.append(np.asarray(pd.unique(column)))
                if pd.isna(each[-1]).any():
                    encode(column, name, _in(path, row))  # says which row has none
        return [_distinct(each) for each in found]

    # ---- entries -----------------------------------------------------------------------

    def _encoded(self, labels: Sequence[np.ndarray]) -> dict[str, Any]:
        find = [_finder(each) for each in labels]
        counts = [np.zeros(len(each), dtype=np.int64) for each in labels]
        units, n_units = self.partitions.units, len(self.partitions.units)
        parts, extremes, start = [], [], 0

        def encoded(numbered: tuple[int, Unit]) -> _Encoded:
            return _Encoded.of(*self._part(f"{numbered[0]:06d}", numbered[1], find), counts)

        for number, found in enumerate(side_by_side(encoded, [*enumerate(units)])):
            report(n_units + number, 2 * n_units, "parts")
            for count, more in zip(counts, found.counts, strict=True):
                count += more
            if found.part.n_entries:
                extremes += [(value, start + place) for value, place in found.ends]
                parts.append(found.part)
            start += found.part.n_entries
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
        indices = np.empty((unit.n_rows, len(self.modes)), dtype=np.int32)
        values, n = np.empty(unit.n_rows), 0
        for path, row, frame in self.partitions.batches(unit, [*self.modes, self.value]):
            numbers = numbers_of(frame[self.value], self.value, _in(path, row))
            known = ~(np.isnan(numbers) | np.isin(numbers, self.missing))
            end = n + int(known.sum())
            values[n:end] = numbers[known]
            for mode, (each, column) in enumerate(zip(find, self.modes, strict=True)):
                indices[n:end, mode] = each(frame[column].to_numpy()[known])
            n = end
        indices, values = indices[:n], values[:n]
        part = Part(name, n, _checksum(indices, values))
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


@dataclass(frozen=True, eq=False)
class _Encoded:
    """What is to be known of a part once it is on disk."""

    part: Part
    counts: list[np.ndarray]
    ends: list[tuple[float, int]]  # the least and the largest value, with their places

    @classmethod
    def of(
        cls, part: Part, indices: np.ndarray, values: np.ndarray, sizes: Sequence[np.ndarray]
    ) -> _Encoded:
        counts = []
        for column, size in zip(indices.T, sizes, strict=True):
            if len(column) and not 0 <= column.min() <= column.max() < len(size):
                raise ValueError("labels and entries do not belong together")
            counts.append(np.bincount(column, minlength=len(size)))
        places = [int(np.argmin(values)), int(np.argmax(values))] if len(values) else []
        return cls(part, counts, [(float(values[place]), place) for place in places])


def _distinct(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(pd.unique(np.concatenate(arrays)))


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
