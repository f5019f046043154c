"""What rows that joined have of their own: a decomposition of the residuals of their entries.

A new sample may hold a substance that no known sample has, or a background of its own. Rows that
are held cannot show it; but its entries tell, if they are many. So the residuals of new rows are
decomposed on their own, as far as some of these entries, held out, gain by it. The components and
effects so found are further columns of every member, which are 0 in the rows of old labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.vaecp.likelihoods import GAUSSIAN
from vaecp.models.vaecp.members import Ensemble
from vaecp.models.vaecp.surfaces import MOST_TO_USE, Surface, possible
from vaecp.models.vaecp.sweeps.chains import Chain
from vaecp.models.vaecp.sweeps.descent import (
    Descent,
    Kind,
    begin,
    hasten,
    settle,
    solver_for,
    take_in,
)
from vaecp.models.vaecp.sweeps.solver import Solver

RANKS = (0, 1, 2, 4, 8)
LEAST = 60
HELD_OUT = 5
"""One in so many entries is held out."""
WORTH = 0.05
MOST_SURFACES = 8
"""Up to so many new rows each get a smooth surface."""
FAST, SETTLING = 30, 40
EAGER = 0.5
"""Fast sweeps where there are fewer numbers to learn than this share of the entries."""


@dataclass(frozen=True, eq=False)
class OwnPart:
    """Further columns of the tables of rows.

    Attributes
    ----------
    mean, variance : per mode (rows + 1, columns).
    errors, held_out : what is left at the entries that were held out, and which these are.
    """

    mean: tuple[np.ndarray, ...]
    variance: tuple[np.ndarray, ...]
    errors: np.ndarray
    held_out: np.ndarray

    def added_to(self, ensemble: Ensemble) -> Ensemble:
        """Return members with these columns beside their own."""
        n_columns = self.mean[0].shape[1]

        def beside(tables: tuple, further: tuple) -> tuple[np.ndarray, ...]:
            repeated = (np.repeat(own[None], len(ensemble), axis=0) for own in further)
            pairs = zip(tables, repeated, strict=True)
            return tuple(np.concatenate(pair, axis=2).astype(np.float32) for pair in pairs)

        none = tuple(np.zeros_like(table) for table in self.mean)
        network = dict(ensemble.network)
        if network:
            weights = network["input_weights"]
            network["input_weights"] = np.pad(weights, ((0, 0), (0, 0), (0, n_columns), (0, 0)))
        return replace(
            ensemble,
            mean=beside(ensemble.mean, self.mean),
            variance=beside(ensemble.variance, self.variance),
            correlation=beside(ensemble.correlation, none),
            network=network,
        )


def own_part(
    indices: np.ndarray,
    residuals: np.ndarray,
    new: tuple[np.ndarray, ...],
    chains: tuple[Chain | None, ...],
) -> OwnPart | None:
    """Decompose residuals of entries of new rows, if that helps; `new` marks them per mode.

    Where several modes have new rows, an entry may have two: then nothing is decomposed.
    """
    modes = [mode for mode, rows in enumerate(new) if rows[indices[:, mode]].any()]
    size = float(np.std(residuals)) if len(residuals) >= LEAST else 0.0
    if len(modes) != 1 or not size:
        return None
    mode = modes[0]
    rows = np.flatnonzero(new[mode])
    cells = indices.copy()
    cells[:, mode] = np.searchsorted(rows, indices[:, mode])
    shape = [len(marks) for marks in new]
    shape[mode] = len(rows)
    chains = (*chains[:mode], None, *chains[mode + 1 :])
    entries = Observations(cells, residuals / size, tuple(shape))
    held_out = np.random.default_rng(0).permutation(len(entries)) % HELD_OUT == 0
    found = _decomposed(entries, held_out, mode, chains)
    if found is None:
        return None
    tables, errors = found
    whole = [np.zeros((2, len(marks) + 1, tables[0][0].shape[1])) for marks in new]
    for each, table in enumerate(whole):
        if each == mode:
            table[0, rows], table[1, rows] = size * tables[0][mode], size**2 * tables[1][mode]
            continue
        mean, variance = tables[0][each], tables[1][each]
        table[:, :-1] = mean, variance
        table[:, -1] = mean.mean(axis=0), variance.mean(axis=0) + mean.var(axis=0)
    means, variances = zip(*whole, strict=True)
    return OwnPart(means, variances, size * errors, np.flatnonzero(held_out))


def _decomposed(
    entries: Observations, held_out: np.ndarray, mode: int, chains: tuple[Chain | None, ...]
) -> tuple[Tables, np.ndarray] | None:
    """Return tables and held-out errors of what explains residuals best, if anything does.

    Surfaces suit few entries, and components many.
    """
    train, test = entries.take(~held_out), entries.take(held_out)
    least, others = float(np.mean(test.values**2)), (*chains[:mode], *chains[mode + 1 :])
    surfaces = None
    if possible(others) and entries.shape[mode] <= MOST_SURFACES:
        surfaces = _of_surfaces(entries, train, test, mode, others)
    if surfaces is not None and np.mean(surfaces[1] ** 2) < (1 - WORTH) * least:
        least = float(np.mean(surfaces[1] ** 2))
        if len(entries) <= MOST_TO_USE * entries.shape[mode]:
            return surfaces
    else:
        surfaces = None
    found = _best(train, test, chains)
    if found is None or np.mean(found.errors**2) > least:
        return surfaces
    solver = solver_for(entries, found.kind, chains)
    return _columns(solver, take_in(solver, found.descent, 2), mode), found.errors


class Found(NamedTuple):
    """A kind of decomposition, trained, and its errors at held-out entries."""

    kind: Kind
    descent: Descent
    errors: np.ndarray


Tables = tuple[list[np.ndarray], list[np.ndarray]]
"""Means and variances per mode, (rows, columns) each."""


def _of_surfaces(
    entries: Observations,
    train: Observations,
    test: Observations,
    mode: int,
    chains: tuple[Chain | None, ...],
) -> tuple[Tables, np.ndarray] | None:
    """Lay a smooth surface through the residuals of each new row; None where one has too few."""
    along = tuple(chain for chain in chains if chain is not None)
    n_rows = entries.shape[mode]
    if np.bincount(train.indices[:, mode], minlength=n_rows).min() < LEAST // 2:
        return None
    errors = np.empty(len(test))
    parts: list[list[np.ndarray]] = [[] for _ in entries.shape]
    for row in range(n_rows):
        of_train, of_all, of_test = (
            each.indices[:, mode] == row for each in (train, entries, test)
        )

        def cells(each: Observations, here: np.ndarray) -> np.ndarray:
            return np.delete(each.indices[here], mode, axis=1)

        judged = Surface(along).learned(cells(train, of_train), train.values[of_train])
        errors[of_test] = test.values[of_test] - judged.at(cells(test, of_test))
        whole = judged.through(cells(entries, of_all), entries.values[of_all])
        tables = list(whole.columns())
        own = np.zeros((n_rows, tables[0].shape[1]))
        own[row] = 1.0
        tables.insert(mode, own)
        for part, table in zip(parts, tables, strict=True):
            part.append(table)
    means = [np.concatenate(part, axis=1) for part in parts]
    return (means, [np.zeros_like(table) for table in means]), errors


def _best(
    train: Observations, held_out: Observations, chains: tuple[Chain | None, ...]
) -> Found | None:
    """Try ranks from small to large until one does worse; None where none is clearly worth it."""
    smooth = any(chain is not None for chain in chains)
    best, least = None, float(np.mean(held_out.values**2))
    for rank in RANKS:
        kind = Kind(rank, smooth, eager=rank * sum(train.shape) < EAGER * len(train))
        solver = solver_for(train, kind, chains)
        descent = begin(solver, GAUSSIAN, np.random.default_rng(0))
        if kind.eager:
            descent = hasten(solver, descent, FAST)
        descent = settle(solver, descent, SETTLING)
        ids = held_out.indices + solver.offsets[:-1].astype(np.int32)
        errors = held_out.values - solver.moments(descent.tables, ids)[0]
        loss = float(np.mean(errors**2))
        if loss < (1 - WORTH) * least:
            best, least = Found(kind, descent, errors), loss
        elif rank > 1:
            break
    return best


def _columns(solver: Solver, descent: Descent, mode: int) -> Tables:
    """Return the tables of all modes; the level is a column of its own."""
    tables, means, variances = descent.tables, [], []
    for each in range(solver.n_modes):
        own = slice(solver.offsets[each], solver.offsets[each + 1])
        level = tables.level if each == mode else 1.0
        means.append(np.pad(tables.mean[own], ((0, 0), (0, 1)), constant_values=level))
        variances.append(np.pad(tables.variance[own], ((0, 0), (0, 1))))
    return means, variances
