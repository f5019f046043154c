"""The kinds of cases of `make fuzz`: each writes its cases one by one, for a child to be asked about.

A case is a task of the child and a path. It is the same for the same seed, kind and batch.
"""

import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, seed
from hypothesis import strategies as st

from fuzzing import beside, data_files, lies, made_up, model_files
from fuzzing.calls import CALLS
from fuzzing.campaign import damaged
from fuzzing.effort import cases
from fuzzing.tables import METHODS
from fuzzing.tasks import READINGS

BATCH = 50
"""Hypothesis begins every search with its simplest case, so batches are not too small."""
Ask = Callable[[str, Path], None]


@dataclass(frozen=True)
class Seeds:
    """The good files that cases are made of."""

    data: dict[str, Path]
    models: dict[str, Path]
    tables: dict[str, Path]
    folders: dict[str, Path]

    @classmethod
    def save(cls, folder: Path, wanted: Sequence[str] = ()) -> "Seeds":
        """Make those that the wanted kinds of cases need; all by default."""
        makers = {
            "data": data_files.save_all,
            "models": model_files.save_all,
            "tables": data_files.save_tables,
            "folders": beside.save_all,
        }
        needed = {KINDS[kind].needs for kind in wanted or KINDS}
        paths: dict[str, dict[str, Path]] = {name: {} for name in makers}
        for name in sorted(needed - {None}):
            (folder / name).mkdir()
            paths[name] = makers[name](folder / name)
        return cls(**paths)

    def warm_up(self, wanted: Sequence[str]) -> list[tuple[str, Path]]:
        """Return tasks that are good, after which a child has imported and compiled what it needs."""
        tasks = [("data", path) for path in self.data.values()]
        tasks += [("model", path) for path in self.models.values()]
        tasks += [(path.stem, path) for path in self.tables.values()]
        tasks += [(beside.TASKS[name], path) for name, path in self.folders.items()]
        if not wanted or "small table" in wanted:
            tasks += [("table", Path(name) / "1") for name in METHODS]
        return tasks


@dataclass(frozen=True)
class Batch:
    """Some cases of one kind.

    Attributes
    ----------
    kind : what is done, as the table at the end of a run says.
    what : the file, method or call that it is done to.
    first : the number of its first case, over all seeds.
    size : how many cases there are.
    """

    kind: str
    what: str
    first: int
    size: int

    def run(self, seeds: Seeds, folder: Path, ask: Ask) -> None:
        KINDS[self.kind].run(self, seeds, folder, ask)

    def drawn(self, make: Callable[[Any], None]) -> None:
        """Let Hypothesis choose what this batch is made of."""

        @seed(zlib.crc32(f"{self.kind} {self.what} {self.first}".encode()))
        @cases(self.size, same=False)
        @given(data=st.data())
        def each(data):
            make(data)

        each()


def _damage(task: str, of: Callable[[Seeds], dict[str, Path]]) -> Callable:
    def run(batch: Batch, seeds: Seeds, folder: Path, ask: Ask) -> None:
        for number in range(batch.first, batch.first + batch.size):
            ask(task, damaged(of(seeds)[batch.what], number, folder)[0])

    return run


def _damage_table(batch: Batch, seeds: Seeds, folder: Path, ask: Ask) -> None:
    for number in range(batch.first, batch.first + batch.size):
        path, _ = damaged(seeds.tables[batch.what], number, folder)
        ask(path.stem, path)


def _spoil(batch: Batch, seeds: Seeds, folder: Path, ask: Ask) -> None:
    for number in range(batch.first, batch.first + batch.size):
        path = beside.spoiled(seeds.folders[batch.what], number, folder)
        ask(beside.TASKS[batch.what], path)


def _make_up(batch: Batch, seeds: Seeds, folder: Path, ask: Ask) -> None:
    path = folder / f"made-up{batch.what}"

    def make(data):
        made_up.KINDS[batch.what](data.draw, path)
        ask("data", path)

    batch.drawn(make)


def _make_up_for(batch: Batch, seeds: Seeds, folder: Path, ask: Ask) -> None:
    """Read what is damaged or made up with options, or as something else than data."""

    def make(data):
        if data.draw(st.booleans()):
            seed = seeds.data[data.draw(st.sampled_from(data_files.NAMES))]
            path, _ = damaged(seed, data.draw(st.integers(0, 2**30)), folder)
        else:
            suffix = data.draw(st.sampled_from(sorted(made_up.KINDS)))
            path = folder / f"made-up{suffix}"
            made_up.KINDS[suffix](data.draw, path)
        ask(batch.what, path)

    batch.drawn(make)


def _lie(task: str) -> Callable:
    def run(batch: Batch, seeds: Seeds, folder: Path, ask: Ask) -> None:
        described, tensors = model_files.contents(seeds.models[batch.what])

        def make(data):
            lie = lies.told(data, described, tensors)
            ask(task, model_files.write(folder / "model.vaecp", *lie))

        batch.drawn(make)

    return run


def _call(batch: Batch, seeds: Seeds, folder: Path, ask: Ask) -> None:
    path = folder / "call.pickle"

    def make(data):
        path.write_bytes(pickle.dumps((batch.what, data.draw(CALLS[batch.what][1]))))
        ask("call", path)

    batch.drawn(make)


def _fit(batch: Batch, seeds: Seeds, folder: Path, ask: Ask) -> None:
    for number in range(batch.first, batch.first + batch.size):
        ask("table", Path(batch.what) / str(number))


@dataclass(frozen=True)
class Kind:
    """One kind of case: what it is done to, its share of all cases, who makes them, and of what.

    `share` is that of each of `whats`; `needs` names the seeds, and `batch` is how many cases a
    worker takes at once.
    """

    whats: tuple[str, ...]
    share: float
    run: Callable[[Batch, Seeds, Path, Ask], None]
    needs: str | None = None
    batch: int = BATCH


OTHERWISE = (*(f"data, {name}" for name in READINGS), *data_files.TABLES)
OF_TABLES = tuple(name + suffix for name in data_files.TABLES for suffix in (".csv", ".parquet"))
KINDS = {
    "damaged data file": Kind(data_files.NAMES, 0.016, _damage("data", lambda s: s.data), "data"),
    "damaged queries": Kind(
        (".csv", ".parquet"), 0.01, _damage("queries", lambda s: s.data), "data"
    ),
    "damaged table beside data": Kind(OF_TABLES, 0.01, _damage_table, "tables"),
    "damaged folder beside data": Kind(tuple(beside.TASKS), 0.02, _spoil, "folders"),
    "damaged model file": Kind(
        model_files.SMALL, 0.005, _damage("model", lambda s: s.models), "models"
    ),
    "made-up data file": Kind(tuple(made_up.KINDS), 0.013, _make_up),
    "file read otherwise": Kind(OTHERWISE, 0.01, _make_up_for, "data"),
    "model file that lies": Kind(model_files.SMALL, 0.009, _lie("model"), "models"),
    "model file that lies, updated": Kind(model_files.SMALL, 0.005, _lie("grow"), "models"),
    "odd call": Kind(tuple(CALLS), 0.014, _call),
    "small table": Kind(tuple(METHODS), 0.1, _fit, batch=10),
}
"""Files and calls add up to all cases; small tables come on top, a tenth as many for every method."""


def batches(n_cases: int, first_seed: int, wanted: tuple[str, ...]) -> Iterator[Batch]:
    """Give all batches of a run; another seed leads to other cases."""
    for name, kind in KINDS.items():
        if wanted and name not in wanted:
            continue
        size = max(round(kind.share * n_cases), 1)
        for what in kind.whats:
            for first in range(0, size, kind.batch):
                number = first_seed * 1_000_000 + first
                yield Batch(name, what, number, min(kind.batch, size - first))
