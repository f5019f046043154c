"""Records of runs in one folder: `results.jsonl`, a line each, and the same as a Parquet table.

Beside it, `code.jsonl` has a line per commit, with the digest of each method's code at it: by that
runs of two commits are known to be of the same code. Further lines say which other code measures the same.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd

from vaecp.data.fields import has_type
from vaecp.errors import FormatError
from vaecp.runtime.files import whole_file
from vaecp.runtime.warning import warn_user
from vaecp.study.experiments.execution import MEASURES
from vaecp.study.experiments.provenance import code, codes, commit
from vaecp.study.experiments.runs import SCATTERED, Run

NAME = "results"
CODE = "code.jsonl"
Table = Any
"""A tidy pandas DataFrame, one row per run; selections of it have no useful static type."""
COLUMNS = (
    "dataset",
    "method",
    "comparison",
    "repeat",
    "fold",
    "rank",
    "settings",
    "gaps",
    "held_out",
    *MEASURES,
    "scale",
    "rank_found",
    "converged",
    "seconds",
    "error",
    "warning",
    "n_folds",
    "seed",
    "data",
    "code",
    "commit",
    "versions",
    "device",
    "key",
    "confirmed",
)
EARLIER = {
    "gaps": SCATTERED,
    "code": "",
    "commit": "",
    "converged": None,
    "versions": {},
    "confirmed": None,
}
"""Of fields that records of earlier versions lack."""
TEXTS = ("key", "work", "gaps", "code")
COUNTS = ("repeat", "fold", "rank_found", "n_folds", "seed", "confirmed")


class Results:
    """What runs have measured so far, one record each, kept on disk as it grows.

    `results.jsonl` grows by a line per record, and is what a later start reads; of several records
    of a run the last counts. `results.parquet` is the same as a tidy table, one row per run, where
    pyarrow is installed.

    Parameters
    ----------
    folder : where the files are; None keeps the records in memory alone.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._records: dict[str, dict[str, Any]] = {}
        self._codes: dict[str, dict[str, str]] = {}
        self._confirmed: dict[tuple[str, str, str], dict[str, int]] = {}
        if self.folder is not None:
            _make_folder(self.folder)
            if self.path.exists():
                self._take(self.path)

    @classmethod
    def read(cls, path: str | Path) -> Results:
        """Return the records of one file, to look at: nothing is written."""
        results = cls()
        results._take(Path(path))
        return results

    @property
    def path(self) -> Path:
        """The file that holds the records."""
        return (self.folder or Path()) / f"{NAME}.jsonl"

    @property
    def records(self) -> list[dict[str, Any]]:
        return list(self._records.values())

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, run: Run) -> bool:
        return run.key in self._records

    def __getitem__(self, run: Run) -> dict[str, Any]:
        return self._records[run.key]

    def has_made(self, run: Run) -> bool:
        """Whether a run was made by the code of today: by other code it may come out otherwise."""
        return run in self and self.is_of(self[run], code(run.method))

    def is_of(self, record: dict[str, Any], wanted: str | None) -> bool:
        """Whether a record was made by this code of its method, or by other code that measures the same."""
        return record["code"] == wanted or self._runs_behind(record, wanted) > 0

    def differs(self, method: str, dataset: str, other: str) -> bool:
        """Whether a run of this other code on a tensor is known to come out otherwise today."""
        return self._confirmed.get((method, dataset, code(method)), {}).get(other) == 0

    def note_same(self, method: str, dataset: str, other: str, n_runs: int) -> None:
        """Take runs of other code on a tensor for ones of today's: so many, made again, measured the same.

        0 stands for code of which one measured otherwise: no other run may say the contrary later.
        """
        line = {"method": method, "dataset": dataset, "code": code(method)}
        line |= {"other": other, "runs": n_runs}
        self._note_confirmed(line)
        if self.folder is not None:
            _append(self.folder / CODE, [json.dumps(line)])

    def of(self, runs: Iterable[Run]) -> list[dict[str, Any]]:
        """Return the records of those of these runs that have been made."""
        return [self._records[run.key] for run in runs if run in self]

    def add(self, records: Sequence[dict[str, Any]]) -> None:
        """Keep records, in place of earlier ones of the same runs."""
        self._keep(records)
        if any(record["commit"] == commit() != "" for record in records):
            self._note_codes()
        if self.folder is not None and records:
            _append(self.path, [json.dumps(_finite(record)) for record in records])

    def of_one_version(self) -> list[dict[str, Any]]:
        """Return the records made by the code of the last one's commit: a table is of one version.

        A record of another commit is among them if the code of its method was the same, or measures the
        same: `confirmed` then says how many runs, made again, have shown that. Runs that
        name no commit (of 0.1.0, or outside a checkout) are not told apart.
        """
        last = self.records[-1]["commit"] if self._records else ""
        if not last:
            return [record for record in self.records if not record["commit"]]
        known = self._codes.get(last, {})
        return [
            record | {"confirmed": self._runs_behind(record, known.get(record["method"]))}
            for record in self.records
            if self.is_of(record, known.get(record["method"]))
            or (record["commit"] == last and not known)
        ]

    def _runs_behind(self, record: dict[str, Any], wanted: str | None) -> int:
        key = record["method"], str(record.get("dataset")), wanted or ""
        return self._confirmed.get(key, {}).get(record["code"], 0)

    def _take(self, path: Path) -> None:
        self._keep(_read(path))
        for line in _lines_of_code(path.with_name(CODE)):
            if has_type(line.get("codes"), dict[str, str]):
                self._codes[str(line.get("commit"))] = line["codes"]
            elif has_type(line.get("runs"), int):
                self._note_confirmed(line)

    def _keep(self, records: Sequence[dict[str, Any]]) -> None:
        for record in records:
            self._records.pop(record["key"], None)  # the last is the newest
            self._records[record["key"]] = record

    def _note_confirmed(self, line: dict[str, Any]) -> None:
        method, dataset = str(line.get("method")), str(line.get("dataset"))
        wanted, other = str(line.get("code")), str(line.get("other"))
        known = self._confirmed.setdefault((method, dataset, wanted), {})
        known[other] = line["runs"]
        for earlier, n_runs in self._confirmed.get((method, dataset, other), {}).items():
            known.setdefault(earlier, min(n_runs, line["runs"]))

    def _note_codes(self) -> None:
        """Remember what the code of every method is at this commit."""
        found = codes()
        if self._codes.get(commit()) != found:
            self._codes[commit()] = found
            if self.folder is not None:
                line = json.dumps({"commit": commit(), "codes": found})
                _append(self.folder / CODE, [line])

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder alone: two writers would lose each other's records."""
        if self.folder is None:
            yield
            return
        from filelock import FileLock, Timeout

        lock = FileLock(self.folder / f".{NAME}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise FormatError(
                f"{self.folder}: another process is adding results here: wait for it, or name "
                "another folder."
            ) from error
        try:
            yield
        finally:
            lock.release()

    def frame(self, runs: Iterable[Run] | None = None) -> Table:
        """Return the tidy table: one row per run, or per run of these that has been made."""
        rows = [
            record
            | {name: json.dumps(record[name], sort_keys=True) for name in ("settings", "versions")}
            | {"rank": record["settings"].get("rank")}
            for record in (self.records if runs is None else self.of(dict.fromkeys(runs)))
        ]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        counts = dict.fromkeys((*COUNTS, "rank"), "Int64")
        measures = dict.fromkeys((*MEASURES, "scale", "seconds"), "float64")
        return frame.astype(counts | measures | {"converged": "boolean"})

    def write_table(self) -> None:
        """Write the Parquet table, where pyarrow is installed."""
        if self.folder is None or not self._records:
            return
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            return
        with whole_file(self.path.with_suffix(".parquet")) as temporary:
            self.frame().to_parquet(temporary, index=False)


def frame_of(records: Sequence[dict[str, Any]]) -> Table:
    """Return the tidy table of records."""
    results = Results()
    results.add(records)
    return results.frame()


def _make_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FormatError(f"{folder}: is a file, but results go into a folder: name another.")
    folder.mkdir(parents=True, exist_ok=True)


def _append(path: Path, lines: list[str]) -> None:
    """Write lines at the end of a file, after removing a last line that was cut short."""
    with path.open("ab+") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        file.write("".join(f"{line}\n" for line in lines).encode())
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> list[dict[str, Any]]:
    """Read one record per line; a last line without its end was cut short, and is left out."""
    try:
        *lines, rest = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{path}: is not UTF-8 text ({error.reason} at byte {error.start}): move the file away to "
            "start anew."
        ) from error
    if rest:
        warn_user(
            f"{path}: the last line was cut short and is left out; its run is made again.",
            UserWarning,
        )
    return [_record(path, number, line) for number, line in enumerate(lines, start=1)]


def _lines_of_code(path: Path) -> Iterator[dict[str, Any]]:
    """Read what is known about code; a line that is damaged is written anew."""
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with suppress(ValueError, RecursionError):
            noted = json.loads(line)
            if isinstance(noted, dict):
                yield noted


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = EARLIER | json.loads(line)
        numbers = {name: _number(record.get(name)) for name in (*MEASURES, "scale", "seconds")}
        _check_types(record)
    except (ValueError, TypeError, RecursionError):
        raise FormatError(
            f"{path}: line {number} is not a record of a run: remove it, or move the file away to "
            "start anew."
        ) from None
    return record | numbers


def _check_types(record: dict[str, Any]) -> None:
    """Raise a TypeError unless fields that others rely on are there, and of their type."""
    typed = [(("settings", "versions"), dict), (TEXTS, str), (COUNTS, int | None)]
    for names, kind in typed:
        for name in names:
            if not isinstance(record.get(name), kind):
                raise TypeError(name)
    if not isinstance(record["settings"].get("rank"), int | None):
        raise TypeError("rank")


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN (null here) and no infinities (text here)."""

    def plain(value: Any) -> Any:
        if not isinstance(value, float) or math.isfinite(value):
            return value
        return None if math.isnan(value) else str(value)

    return {name: plain(value) for name, value in record.items()}


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
