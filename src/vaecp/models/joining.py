"""Rows that join a fitted model: where they go, and which entries tell about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

SWEEPS = 20
"""Over the modes, where several have new rows: each is then solved given the others."""


@dataclass(frozen=True, eq=False)
class Joining:
    """Entries in the coordinates of the grown tensor, and how its rows relate to the old ones.

    Attributes
    ----------
    indices, values : the entries, (n, D) and (n,), the values in the units of the method.
    sources : per mode, the old row that each row is; -1 where it is new.
    places : per mode, where each old row has gone.
    labels : per mode, the labels of all rows.
    learned : per mode, which rows are inferred: new ones, and old ones that had no entries.
    """

    indices: np.ndarray
    values: np.ndarray
    sources: tuple[np.ndarray, ...]
    places: tuple[np.ndarray, ...]
    labels: tuple[np.ndarray, ...]
    learned: tuple[np.ndarray, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(source) for source in self.sources)

    @cached_property
    def about_new_rows(self) -> np.ndarray:
        """Which entries have at least one row that is inferred."""
        columns = zip(self.learned, self.indices.T, strict=True)
        return np.any([learned[column] for learned, column in columns], axis=0)

    def grown(self, table: np.ndarray, mode: int, axis: int = 0) -> np.ndarray:
        """Return a table whose last row stands for unseen labels; new rows are copies of it."""
        return np.take(table, np.append(self.sources[mode], -1), axis=axis)

    def moved(self, indices: np.ndarray) -> np.ndarray:
        """Return the coordinates of old entries in the grown tensor."""
        columns = zip(self.places, indices.T, strict=True)
        return np.stack([place[column] for place, column in columns], axis=1).astype(np.int32)

    def visits(self, n_sweeps: int = SWEEPS) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield mode, row and places of its entries for every row that is inferred, again and again."""
        groups = [self._groups(mode) for mode in range(len(self.sources))]
        for _ in range(n_sweeps if sum(map(bool, groups)) > 1 else 1):
            for mode, group in enumerate(groups):
                for row, entries in group:
                    yield mode, row, entries

    def _groups(self, mode: int) -> list[tuple[int, np.ndarray]]:
        column = self.indices[:, mode]
        entries = np.flatnonzero(self.learned[mode][column])
        entries = entries[np.argsort(column[entries], kind="stable")]
        rows, first = np.unique(column[entries], return_index=True)
        ends = np.append(first, len(entries))[1:]
        return [
            (int(row), entries[start:end])
            for row, start, end in zip(rows, first, ends, strict=True)
        ]


def most_probable_row(
    design: np.ndarray,
    values: np.ndarray,
    noise: float,
    prior: tuple[np.ndarray, np.ndarray],
    *,
    non_negative: bool = False,
) -> np.ndarray:
    """Return the row u for values = design u + noise of this variance, with a Gaussian prior.

    The prior is a mean and a root A of its covariance A'A, which may have few directions: then
    the row is the mean and a combination of them, unless it must not be negative.
    """
    mean, root = prior
    noise = max(noise, 1e-12 * float(np.mean(values**2)) + 1e-300)
    if non_negative:
        from scipy.optimize import nnls

        covariance = root.T @ root
        little = 1e-6 * np.trace(covariance) / len(covariance) + 1e-12
        whitened = np.linalg.inv(np.linalg.cholesky(covariance + little * np.eye(len(covariance))))
        stacked = np.vstack([design / np.sqrt(noise), whitened])
        return nnls(stacked, np.concatenate([values / np.sqrt(noise), whitened @ mean]))[0]
    along = design @ root.T / np.sqrt(noise)
    left = (values - design @ mean) / np.sqrt(noise)
    steps = np.linalg.solve(along.T @ along + np.eye(len(root)), along.T @ left)
    return mean + steps @ root
