"""The kinds of cases of `make fuzz`: each writes its cases one by one, for a child to be asked about.

A case is a task of the child and a path. It is the same for the same seed, kind and batch.
"""

import pickle
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, seed
from hypothesis import strategies as st

from fuzzing import data_files, lies, made_up, model_files
from fuzzing.calls import CALLS
from fuzzing.campaign import damaged
from fuzzing.effort import cases
from fuzzing.tables import METHODS

BATCH = 50
"""Hypothesis begins every search with its simplest case, so batches are not too small."""
Ask = Callable[[str, Path], None]


@dataclass(frozen=True)
class Seeds:
    """The good files that cases are made of."""

    data: dict[str, Path]
    models: dict[str, Path]

    @classmethod
    def save(cls, folder: Path) -> "Seeds":
        places = [folder / "data", folder / "models"]
        for place in places:
            place.mkdir()
        return cls(data_files.save_all(places[0]), model_files.save_all(places[1]))


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


def _make_up(batch: Batch, seeds: Seeds, folder: Path, ask: Ask) -> None:
    path = folder / f"made-up{batch.what}"

    def make(data):
        made_up.KINDS[batch.what](data.draw, path)
        ask("data", path)

    batch.drawn(make)


def _lie(batch: Batch, seeds: Seeds, folder: Path, ask: Ask) -> None:
    described, tensors = model_files.contents(seeds.models[batch.what])

    def make(data):
        lie = lies.told(data, described, tensors)
        ask("model", model_files.write(folder / "model.vaecp", *lie))

    batch.drawn(make)


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
    """One kind of case: what it is done to, its share of all cases, and who makes them.

    `share` is that of each of `whats`.
    """

    whats: tuple[str, ...]
    share: float
    run: Callable[[Batch, Seeds, Path, Ask], None]


KINDS = {
    "damaged data file": Kind(data_files.NAMES, 0.024, _damage("data", lambda s: s.data)),
    "damaged queries": Kind((".csv", ".parquet"), 0.015, _damage("queries", lambda s: s.data)),
    "damaged model file": Kind(
        tuple(model_files.SMALL), 0.015, _damage("model", lambda s: s.models)
    ),
    "made-up data file": Kind(tuple(made_up.KINDS), 0.02, _make_up),
    "model file that lies": Kind(tuple(model_files.SMALL), 0.015, _lie),
    "odd call": Kind(tuple(CALLS), 0.02, _call),
    "small table": Kind(tuple(METHODS), 0.1, _fit),
}
"""Files and calls add up to all cases; small tables come on top, a tenth as many for every method."""


def batches(n_cases: int, first_seed: int, wanted: tuple[str, ...]) -> Iterator[Batch]:
    """Give all batches of a run; another seed leads to other cases."""
    for name, kind in KINDS.items():
        if wanted and name not in wanted:
            continue
        size = max(round(kind.share * n_cases), 1)
        for what in kind.whats:
            for first in range(0, size, BATCH):
                number = first_seed * 1_000_000 + first
                yield Batch(name, what, number, min(BATCH, size - first))
