"""From published files to `Observations`: one function per dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vaecp.data.observations import Observations
from vaecp.datasets.catalogue import DatasetInfo
from vaecp.datasets.files import locate
from vaecp.errors import DatasetError
from vaecp.runtime.extras import require

FIRST_EXCITATION = 250
PARTS = ("train", "test", "all")
SECONDS_OF_WEEK = 7 * 24 * 3600
MOVIELENS_START = 874_724_710
"""When the first rating was given, in seconds since 1970."""
MOVIELENS_WEEKS = 31


def read_amino(dataset: DatasetInfo) -> Observations:
    """Swap the file's emission and excitation, and start at 250 nm, to the paper's size."""
    content = _read_matlab(dataset)
    emission, excitation = _integers(content["EmAx"]), _integers(content["ExAx"])
    kept = excitation >= FIRST_EXCITATION
    tensor = np.swapaxes(content["X"], 1, 2)[:, kept]
    return _from_array(dataset, tensor, [_numbered(len(tensor)), excitation[kept], emission])


def read_fia(dataset: DatasetInfo) -> Observations:
    """Fold the published matrix, and leave out the three pure samples beside it."""
    content = _read_matlab(dataset)
    # MATLAB unfolds with the first of the folded modes running fastest.
    tensor = content["X"].reshape(dataset.shape, order="F")
    wavelengths, times = _integers(content["Wavelength"]), _integers(content["TimeAxis"])
    return _from_array(dataset, tensor, [_numbered(len(tensor)), wavelengths, times])


def read_sugar_full(dataset: DatasetInfo) -> Observations:
    """Label a shift by the published code xyyz, which sorts by time.

    x is the month (2 October to 5 January), yy the day, z the shift (1 morning,
    2 afternoon, 3 night).
    """
    path = _only_file(dataset)
    content = require("rdata", "datasets", f"dataset {dataset.name!r}").read_rda(path)["Sugar"]
    emission = np.asarray(content["EmAx"]).ravel()
    # The file lists its excitation axis upwards, but its spectra run downwards: the scattered
    # light of the first four lies at 343, 328, 308 and 294 nm, so they are 340, 325, 305, 290.
    excitation = _integers(content["ExAx"])[::-1]
    shifts = _integers(content["time"])
    n_shifts = dataset.shape[0]
    unfolded = np.asarray(content["X"])[:n_shifts]
    tensor = unfolded.reshape(dataset.shape, order="F")
    return _from_array(dataset, tensor, [shifts[:n_shifts], emission, excitation])


def read_sugar(dataset: DatasetInfo) -> Observations:
    """Keep the first 265 samples: the paper has that many and does not say which."""
    return read_sugar_full(dataset)


def read_alog(dataset: DatasetInfo, fold: int = 1, part: str = "train") -> Observations:
    """Label rows from 1, as published; exp(value) is a whole number, 1 more than a count."""
    return _from_folds(dataset, "alog/{part}-fold-{fold}.txt", fold, part, first=1)


def read_beijing(dataset: DatasetInfo, fold: int = 1, part: str = "train") -> Observations:
    """Number rows from 0, as published; all three modes have an order."""
    return _from_folds(dataset, "beijing/pm25-{part}-fold-{fold}.txt", fold, part)


def read_enron(dataset: DatasetInfo, fold: int = 1, part: str = "train") -> Observations:
    """Number rows from 0, as published."""
    return _from_folds(dataset, "enron/{part}-fold-{fold}.txt", fold, part)


def read_ems(dataset: DatasetInfo, fold: int = 1, part: str = "train") -> Observations:
    """Number rows from 0, as published."""
    return _from_folds(dataset, "ems/{part}-fold-{fold}.txt", fold, part)


def read_movielens(
    dataset: DatasetInfo, fold: int = 1, part: str = "train", week: bool = False
) -> Observations:
    """Label users and films from 1, as published; `week` adds the week of the rating as a mode."""
    table = _fold_table(dataset, "movielens/u{fold}.{part}", fold, part, ("base", "test"), "\t")
    ratings = Observations(
        table[:, :2].astype(np.int32) - 1,
        table[:, 2],
        dataset.shape,
        dataset.mode_names,
        tuple(_numbered(size) for size in dataset.shape),
        dataset.value_name,
    )
    if not week:
        return ratings
    weeks = ((table[:, 3] - MOVIELENS_START) // SECONDS_OF_WEEK).astype(np.int32)
    return replace(
        ratings,
        indices=np.column_stack([ratings.indices, weeks]),
        shape=(*dataset.shape, MOVIELENS_WEEKS),
        mode_names=(*dataset.mode_names, "week"),
        labels=(*ratings.labels, _numbered(MOVIELENS_WEEKS)),
    )


def read_hangzhou(dataset: DatasetInfo) -> Observations:
    """Leave out zeros, which count as not observed; number stations, days and times from 1."""
    array = _read_matlab(dataset)["tensor"].astype(np.float64)
    return _from_array(dataset, array, [_numbered(size) for size in dataset.shape], array > 0)


def make_synthetic(dataset: DatasetInfo, r: int = 10, seed: int = 0) -> Observations:
    """Draw factor rows from Normal(0, I), and add Normal(0, 1) noise to their CP tensor."""
    for name, value, least in (("r", r, 1), ("seed", seed, 0)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
            raise DatasetError(f"{name} is {value!r}: use a whole number of at least {least}.")
    random = np.random.default_rng(seed)
    factors = [random.standard_normal((size, r)) for size in dataset.shape]
    tensor = np.einsum("ir,jr,kr->ijk", *factors) + random.standard_normal(dataset.shape)
    return _from_array(dataset, tensor, [np.arange(size) for size in dataset.shape])


def read_il2(dataset: DatasetInfo) -> Observations:
    """Take TensorLy's array, whose gaps are NaN: two ligands were not measured at 0.5 h."""
    from tensorly.datasets import load_IL2data

    content = load_IL2data()
    return _from_array(dataset, np.asarray(content["tensor"]), content["ticks"])


def read_covid19(dataset: DatasetInfo) -> Observations:
    """Number the samples within each severity, because a label must name one row."""
    from tensorly.datasets import load_covid19_serology

    content = load_covid19_serology()
    severities, antigens, receptors = content["ticks"]
    tensor = np.asarray(content["tensor"])
    return _from_array(dataset, tensor, [_told_apart(severities), antigens, receptors])


def read_kinetic(dataset: DatasetInfo) -> Observations:
    """Leave out the entries that TensorLy fills with zeros and marks as missing."""
    from tensorly.datasets import load_kinetic

    content = load_kinetic()
    known = ~np.asarray(content["missing_values_position"], dtype=bool)
    return _from_array(dataset, np.asarray(content["tensor"]), content["ticks"], known)


def _from_array(
    dataset: DatasetInfo, tensor: np.ndarray, labels: Sequence[Any], known: np.ndarray | None = None
) -> Observations:
    return Observations.from_array(
        np.asarray(tensor, dtype=np.float64),
        known,
        mode_names=dataset.mode_names,
        labels=labels,
        value_name=dataset.value_name,
    )


def _from_folds(
    dataset: DatasetInfo, form: str, fold: int, part: str, first: int = 0
) -> Observations:
    table = _fold_table(dataset, form, fold, part)
    return Observations(
        table[:, :-1].astype(np.int32) - first,
        table[:, -1],
        dataset.shape,
        dataset.mode_names,
        tuple(np.arange(first, first + size) for size in dataset.shape),
        dataset.value_name,
    )


def _fold_table(
    dataset: DatasetInfo,
    form: str,
    fold: int,
    part: str,
    names: tuple[str, str] = ("train", "test"),
    delimiter: str = ",",
) -> np.ndarray:
    """Read the training or the test entries of a published split, or "all", training first."""
    if fold not in range(1, dataset.folds + 1):
        raise DatasetError(
            f"fold is {fold!r}: dataset {dataset.name!r} has the folds 1 to {dataset.folds}."
        )
    if part not in PARTS:
        raise DatasetError(
            f'part is {part!r}: dataset {dataset.name!r} has the parts "train", "test" and "all".'
        )
    tables = []
    for wanted, name in zip(PARTS, names, strict=False):
        if part in (wanted, "all"):
            path = form.format(part=name, fold=int(fold))
            file = next(file for file in dataset.files if file.name == path)
            tables.append(np.loadtxt(locate(dataset.name, file), delimiter=delimiter))
    return np.concatenate(tables)


def _only_file(dataset: DatasetInfo) -> Path:
    (file,) = dataset.files
    return locate(dataset.name, file)


def _read_matlab(dataset: DatasetInfo) -> dict[str, Any]:
    from scipy.io import loadmat

    return loadmat(_only_file(dataset))


def _integers(axis: Any) -> np.ndarray:
    return np.asarray(axis).ravel().astype(np.int64)


def _numbered(size: int) -> np.ndarray:
    return np.arange(1, size + 1)


def _told_apart(labels: Sequence[str]) -> np.ndarray:
    """Number equal labels: Mild, Mild, Severe become Mild 1, Mild 2, Severe 1."""
    seen: dict[str, int] = {}
    numbered = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        numbered.append(f"{label} {seen[label]}")
    return np.asarray(numbered)
