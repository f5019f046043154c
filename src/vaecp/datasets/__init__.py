"""Named tensors, real and synthetic, as `Observations` with named modes and real labels.

A file is looked for in the folder named by the environment variable `VAECP_DATA`, then in
the user's cache (`VAECP_CACHE` names another one), and is else downloaded from a pinned
public copy where there is one; `VAECP_DATA_URL` names a mirror of it. Wherever it lies, its
SHA-256 is checked.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from vaecp.data.observations import Observations
from vaecp.datasets import readers
from vaecp.datasets.catalogue import CATALOGUE, DataFile, DatasetInfo
from vaecp.datasets.files import locate
from vaecp.errors import DatasetError

__all__ = [
    "DataFile",
    "DatasetInfo",
    "fetch",
    "info",
    "load",
    "load_alog_fold",
    "load_fold",
    "names",
]

_READERS = {
    "amino": readers.read_amino,
    "fia": readers.read_fia,
    "sugar": readers.read_sugar,
    "sugar-full": readers.read_sugar_full,
    "alog": readers.read_alog,
    "hangzhou": readers.read_hangzhou,
    "beijing": readers.read_beijing,
    "movielens": readers.read_movielens,
    "enron": readers.read_enron,
    "ems": readers.read_ems,
    "synthetic": readers.make_synthetic,
    "il2": readers.read_il2,
    "covid19": readers.read_covid19,
    "kinetic": readers.read_kinetic,
}


def names() -> tuple[str, ...]:
    """Return the names that `load` knows.

    Examples
    --------
    >>> "amino" in names()
    True
    """
    return tuple(CATALOGUE)


def info(name: str) -> DatasetInfo:
    """Return what a dataset is, whom to cite, its licence and where it comes from.

    Examples
    --------
    >>> info("amino").shape
    (5, 51, 201)
    """
    if name not in CATALOGUE:
        raise DatasetError(f"there is no dataset {name!r}: use one of {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def fetch(name: str) -> list[Path]:
    """Return where all files of a dataset lie, after downloading those that are not here.

    The list is empty for a dataset that is made on the spot or comes with a dependency.
    """
    return [locate(name, file) for file in info(name).files]


def load(name: str, **options: Any) -> Observations:
    """Return a named tensor.

    Parameters
    ----------
    name : one of `names()`.
    options : for "alog", "beijing", "movielens", "enron" and "ems" `fold` (from 1) and `part`
        ("train", "test" or "all"); for "movielens" also `week` (True adds the week as a mode);
        for "synthetic" `r` (the rank, 10) and `seed` (0). The others have none.

    Examples
    --------
    >>> load("synthetic", r=9, seed=1)
    Observations(20 x 20 x 20, 8,000 of 8,000 entries observed)
    """
    dataset = info(name)
    reader = _READERS[name]
    known = list(inspect.signature(reader).parameters)[1:]
    for option in options:
        if option not in known:
            rule = f"it has {' and '.join(known)}" if known else "it has none"
            raise DatasetError(f"dataset {name!r} has no option {option!r}: {rule}.")
    return reader(dataset, **options)


def load_fold(name: str, fold: int, **options: Any) -> tuple[Observations, Observations]:
    """Return the training and the test entries of a split that was published with a dataset.

    Both are entries of one tensor. A part may list an entry more than once, as published.
    """
    if not info(name).folds:
        known = ", ".join(known for known, dataset in CATALOGUE.items() if dataset.folds)
        raise DatasetError(f"dataset {name!r} has no published folds: use one of {known}.")
    train, test = (load(name, fold=fold, part=part, **options) for part in ("train", "test"))
    return train, test


def load_alog_fold(fold: int) -> tuple[Observations, Observations]:
    """Return `load_fold("alog", fold)`."""
    return load_fold("alog", fold)
