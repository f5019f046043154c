"""What is filled: tensors, how gaps lie in them, and splits that were published with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from vaecp import datasets
from vaecp.data.gaps import GapPattern, patterns_for
from vaecp.errors import DatasetError
from vaecp.study.experiments import PUBLISHED, Tensor

SHARES = (0.2, 0.5, 0.8, 0.95)
"""Of entries that are hidden where cells are scattered."""
SHARE = 0.2
"""Of entries that are hidden in any other pattern."""
HANGZHOU_SEED = 1000


@dataclass(frozen=True)
class Subject:
    """A tensor of the table.

    Attributes
    ----------
    load : returns it for a split, because synthetic ones are drawn anew for each.
    ordered : its modes with an order, such as wavelengths and times.
    published : splits that came with it, by the cell of the table that they belong to.
    patterned : whether gaps are also made by patterns.
    """

    load: Callable[[int], Tensor]
    ordered: tuple[int, ...] = ()
    published: dict[str, tuple[Callable[[], Tensor], ...]] = field(default_factory=dict)
    patterned: bool = True


@dataclass(frozen=True, eq=False)
class Task:
    """One split of one tensor: what is hidden in the cell of the table, for the n-th time."""

    dataset: str
    gaps: str
    held_out: float
    repeat: int
    tensor: Tensor


def _named(name: str, **options: Any) -> Callable[[int], Tensor]:
    @cache
    def load() -> Tensor:
        return Tensor(datasets.load(name, **options))

    return lambda split: load()


def _fold(name: str, number: int, **options: Any) -> Callable[[], Tensor]:
    """Return a published split: training entries first, then those that were tested on."""

    def load() -> Tensor:
        everything = datasets.load(name, fold=number, part="all", **options)
        n_training = len(datasets.load(name, fold=number, part="train", **options))
        return Tensor(everything, np.arange(len(everything)) >= n_training)

    return load


def hangzhou_gaps(kind: str, rate: float) -> Callable[[], Tensor]:
    """Hide what the transdim notebooks hide, whose arrays are station x time x day.

    They round `random + 0.5 - rate` to 0 where a value is missing; zeros are never scored.
    """

    def load() -> Tensor:
        hangzhou = datasets.load("hangzhou")
        stations, days, times = hangzhou.shape
        random = np.random.RandomState(HANGZHOU_SEED)
        if kind == "random":
            drawn = random.rand(stations, times, days)
        elif kind == "days":
            drawn = np.broadcast_to(random.rand(stations, 1, days), (stations, times, days))
        else:  # blocks of six times, at all stations
            blocks = np.repeat(random.rand(times * days // 6), 6).reshape(days, times).T
            drawn = np.broadcast_to(blocks, (stations, times, days))
        hidden = np.round(drawn + 0.5 - rate) == 0
        station, day, time = hangzhou.indices.T
        return Tensor(hangzhou, hidden[station, time, day])

    return load


SUBJECTS = {
    "amino": Subject(_named("amino"), (1, 2)),
    "fia": Subject(_named("fia"), (1, 2)),
    "sugar": Subject(_named("sugar"), (0, 1)),
    "il2": Subject(_named("il2"), (1, 2)),
    "alog": Subject(
        _named("alog"), published={PUBLISHED: tuple(_fold("alog", n) for n in range(1, 6))}
    ),
    "hangzhou": Subject(
        _named("hangzhou"),
        (1, 2),
        {
            f"{PUBLISHED}:{kind}-{rate}": (hangzhou_gaps(kind, rate / 100),)
            for kind, rates in {"random": (30, 70, 90), "days": (30, 70), "blocks": (30,)}.items()
            for rate in rates
        },
    ),
    "beijing": Subject(
        _named("beijing", part="all"),
        (0, 1, 2),
        {f"{PUBLISHED}:fold-{n}": (_fold("beijing", n),) for n in (1, 2)},
    ),
    "movielens": Subject(
        _named("movielens", part="all"),
        (),
        {f"{PUBLISHED}:u{n}": (_fold("movielens", n),) for n in (1, 2)},
    ),
    "movielens-week": Subject(
        _named("movielens", part="all", week=True),
        (2,),
        {f"{PUBLISHED}:u{n}": (_fold("movielens", n, week=True),) for n in (1, 2)},
        patterned=False,
    ),
    "synthetic": Subject(lambda split: Tensor(datasets.load("synthetic", r=10, seed=split))),
    "covid19": Subject(_named("covid19")),
    "kinetic": Subject(_named("kinetic"), (1, 2, 3)),
    "enron": Subject(
        _named("enron", part="all"),
        (2,),
        {PUBLISHED: tuple(_fold("enron", n) for n in (3, 4, 5))},
        patterned=False,
    ),
    "ems": Subject(
        _named("ems", part="all"),
        (),
        {PUBLISHED: tuple(_fold("ems", n) for n in (3, 4, 5))},
        patterned=False,
    ),
}
ASIDE = (
    ("covid19", ""),
    ("kinetic", ""),
    ("enron", PUBLISHED),
    ("ems", PUBLISHED),
    ("beijing", f"{PUBLISHED}:fold-2"),
)
"""Tensors, and how their gaps begin, on which no setting was chosen; named before they were run."""


def tasks(only: Sequence[str] = (), gaps: Sequence[str] = (), n_splits: int = 5) -> Iterator[Task]:
    """List what the table asks for, or a part of it: tensors by name, gaps by how they begin."""
    unknown = [name for name in only if name not in SUBJECTS]
    if unknown:
        raise DatasetError(
            f"{unknown[0]!r} is not a tensor of the table: use {', '.join(SUBJECTS)}."
        )
    for name in only or SUBJECTS:
        subject = SUBJECTS[name]
        for pattern in patterns(subject):
            if _wanted(name_of(pattern), gaps):
                for split in range(n_splits):
                    yield Task(name, str(pattern), pattern.share, split, subject.load(split))
        for label, splits in subject.published.items():
            if _wanted(label, gaps):
                for repeat, load in enumerate(splits):
                    tensor = load()
                    share = 0.0 if tensor.test is None else float(tensor.test.mean())
                    yield Task(name, label, round(share, 3), repeat, tensor)


def is_aside(dataset: str, gaps: str) -> bool:
    """Whether no setting was chosen on a cell of the table."""
    return any(dataset == name and gaps.startswith(start) for name, start in ASIDE)


def patterns(subject: Subject) -> list[GapPattern]:
    """Return the patterns of gaps that are made in a tensor."""
    if not subject.patterned:
        return []
    observations = subject.load(0).observations
    ordered = [mode in subject.ordered for mode in range(observations.n_modes)]
    scattered = [GapPattern("scattered", (), share) for share in SHARES]
    return scattered + list(patterns_for(observations, ordered, SHARE)[1:])


def name_of(pattern: GapPattern) -> str:
    """Return what a pattern is asked for by, such as scattered-20 or fibres:2."""
    share = f"-{100 * pattern.share:.0f}" if pattern.kind == "scattered" else ""
    return f"{pattern}{share}"


def _wanted(name: str, beginnings: Sequence[str]) -> bool:
    return not beginnings or any(name.startswith(beginning) for beginning in beginnings)
