"""New entries of a fitted ensemble: posteriors of some rows move, all else is held.

The row of a member as it stands is the prior: of a known row its posterior, of a new one the
learned prior of its mode, or what its neighbours in an ordered mode say. Given the other rows, the
posterior of a row is Gaussian, in closed form where the member is multilinear and values are
Gaussian; else the decoder is linearised and the likelihood bounded, a few times over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vaecp.models.vaecp.likelihoods import Likelihood
from vaecp.models.vaecp.likelihoods.gaussian import StudentT
from vaecp.models.vaecp.members import Ensemble
from vaecp.models.vaecp.pairs import PairEffects, Pairing
from vaecp.models.vaecp.sweeps import loops
from vaecp.models.vaecp.sweeps.solver import MAX_FULL
from vaecp.runtime.blas import one_thread

SWEEPS = 30
ENOUGH = 1e-4
"""Sweeps end when means change by less than this share of the prior standard deviations."""


@dataclass(frozen=True, eq=False)
class MovingRows:
    """The rows of one mode that move, and their entries one after the other."""

    mode: int
    rows: np.ndarray  # of the tables of all modes, one after the other
    order: np.ndarray
    start: np.ndarray

    @classmethod
    def of(cls, ids: np.ndarray, mode: int, moves: np.ndarray) -> MovingRows:
        """Group the entries whose row in this mode moves."""
        entries = np.flatnonzero(moves)
        order = entries[np.argsort(ids[entries, mode], kind="stable")]
        rows, start = np.unique(ids[order, mode], return_index=True)
        return cls(mode, rows, order, np.append(start, len(order)))


def updated(
    ensemble: Ensemble,
    indices: np.ndarray,
    values: np.ndarray,
    likelihood: Likelihood,
    moving: tuple[np.ndarray, ...],
    *,
    is_judged: bool = True,
) -> Ensemble:
    """Return the ensemble after entries; `moving` says per mode which rows they may change.

    Where held-out entries have judged the members, the variance of a component is that given the others, as in
    `member_of`; else it is that of the component alone.
    """
    if not len(indices):
        return ensemble
    ids = ensemble.ids_of(indices)
    columns = zip(moving, indices.T, strict=True)
    groups = [
        MovingRows.of(ids, mode, moves[column]) for mode, (moves, column) in enumerate(columns)
    ]
    groups = [group for group in groups if len(group.rows)]
    members = [
        _Member(ensemble, member, indices, values, likelihood, moving, is_judged)
        for member in range(len(ensemble))
    ]
    found = [member.updated(groups) for member in members]
    pairs = ensemble.pairs and ensemble.pairs.with_others(
        PairEffects.of_several([member.pairs for member in members if member.pairs is not None])
    )
    ends = np.cumsum([table.shape[1] for table in ensemble.mean])[:-1]
    means, variances = (np.stack(tables).astype(np.float32) for tables in zip(*found, strict=True))
    return replace(
        ensemble,
        mean=tuple(np.split(means, ends, axis=1)),
        variance=tuple(np.split(variances, ends, axis=1)),
        pairs=pairs,
    )


def noise_after(
    ensemble: Ensemble,
    indices: np.ndarray,
    values: np.ndarray,
    likelihood: Likelihood,
    n_before: float,
) -> np.ndarray:
    """Return the members' noise variances after a batch, the earlier entries counted in."""
    if not likelihood.has_residuals:
        return ensemble.noises
    found, share = ensemble.moments(indices), len(values) / (len(values) + n_before)
    noises = []
    for member, noise in enumerate(ensemble.noises):
        # A network says how noisy an entry is in comparison with others.
        ratio = np.sqrt(found.noise[:, member] / max(noise, 1e-300))
        errors = (values - found.mean[:, member]) / ratio
        fresh = likelihood.with_noise(noise).learned(
            errors, np.zeros_like(errors), found.variance[:, member] / ratio**2
        )
        noises.append((1 - share) * noise + share * fresh.noise)
    return np.array(noises)


class _Member:
    """One member, its rows of all modes in one table."""

    def __init__(
        self,
        ensemble: Ensemble,
        number: int,
        indices: np.ndarray,
        values: np.ndarray,
        likelihood: Likelihood,
        moving: tuple[np.ndarray, ...],
        is_judged: bool,
    ) -> None:
        self.mean = np.concatenate([table[number] for table in ensemble.mean]).astype(np.float64)
        self.variance = np.concatenate([table[number] for table in ensemble.variance]).astype(
            np.float64
        )
        self.prior = self.mean.copy(), self.variance.copy()
        ids = ensemble.ids_of(indices)
        self.ids, self.values = ids, values
        self.level = float(ensemble.levels[number])
        self.pairing = self.pairs = None
        if ensemble.pairs is not None:
            self.pairing = Pairing.of(indices)
            one = ensemble.pairs.of_member(number)
            self.pairs = one.spread_over(self.pairing.start(one.prior))
            self.known, self.moves = self.pairs, self.pairing.moves(moving)
        self.multilinear = bool(ensemble.multilinear[number])
        self.network = {name: array[number] for name, array in ensemble.network.items()}
        if not self.network.get("heads", np.zeros(1)).any():
            self.network = {}
        self.likelihood = likelihood.with_noise(float(ensemble.noises[number]))
        self.counts = float(ensemble.counts[number])
        self.full = not is_judged and int(ensemble.ranks[number]) <= MAX_FULL

    def updated(self, groups: list[MovingRows]) -> tuple[np.ndarray, np.ndarray]:
        """Sweep over the modes until means stand."""
        quadratic = self.likelihood.has_residuals and not isinstance(self.likelihood, StudentT)
        at_once = len(groups) == 1 and quadratic and not self.network and self.pairs is None
        with one_thread():
            for _ in range(1 if at_once else SWEEPS):
                change = max((self._sweep(group) for group in groups), default=0.0)
                if max(change, self._sweep_pairs()) < ENOUGH:
                    break
        return self.mean, self.variance

    def _sweep_pairs(self) -> float:
        """Solve for what the moving rows have in common with others."""
        if self.pairing is None or self.pairs is None or not self.pairs.modes:
            return 0.0
        mean, variance, noise_ratio = self._moments(np.arange(len(self.ids)))
        working = self.likelihood.working(self.values, mean, variance)
        weights = self.counts * working.weights / noise_ratio
        found = self.pairing.solved(self.pairs, working.values - mean, weights, self.known)
        before = self.pairs
        self.pairs = replace(
            found,
            mean=np.where(self.moves, found.mean, before.mean),
            variance=np.where(self.moves, found.variance, before.variance),
        )
        usual = np.sqrt(np.maximum(self.known.variance, 1e-30))
        return float((np.abs(self.pairs.mean - before.mean) / usual)[self.moves].max(initial=0.0))

    def _sweep(self, group: MovingRows) -> float:
        """Solve for the rows of one mode; return by how much they changed."""
        ids, rows = self.ids[group.order], group.rows
        mean, variance, noise_ratio = self._moments(group.order)
        working = self.likelihood.working(self.values[group.order], mean, variance)
        weights = self.counts * working.weights / noise_ratio
        prior_mean, prior_variance = (table[rows] for table in self.prior)
        free = np.flatnonzero((prior_variance > 0).any(axis=0))
        design, spread = self._design(ids, group.mode)
        design, spread = design[:, free], spread[:, free]
        now = self.mean[ids[:, group.mode]][:, free]
        target = working.values - mean + np.sum(design * now, axis=1)
        gram = np.empty((len(rows), len(free), len(free)))
        right = np.empty((len(rows), len(free)))
        loops.sum_of_designs(group.start, design, spread, target, weights, gram, right)
        certain = 1 / np.maximum(prior_variance[:, free], 1e-30)
        places = np.arange(len(free))
        gram[:, places, places] += certain
        right += certain * prior_mean[:, free]
        found = np.linalg.solve(gram, right[..., None])[..., 0]
        if self.full:
            spread_found = np.einsum("jrr->jr", np.linalg.inv(gram))
        else:
            spread_found = 1 / np.einsum("jrr->jr", gram)
        change = np.abs(found - self.mean[np.ix_(rows, free)]) * np.sqrt(certain)
        self.mean[np.ix_(rows, free)] = found
        self.variance[np.ix_(rows, free)] = spread_found
        return float(change.max(initial=0.0))

    def _design(self, ids: np.ndarray, mode: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivative of entries by the row of a mode, and the variance of that."""
        others = [ids[:, other] for other in range(ids.shape[1]) if other != mode]
        design, second = np.ones((2, len(ids), self.mean.shape[1]))
        for rows in others:
            design *= self.mean[rows]
            second *= self.mean[rows] ** 2 + self.variance[rows]
        spread = second - design**2
        if not self.multilinear:
            design, spread = np.zeros_like(design), np.zeros_like(spread)
        if self.network:
            hidden = self._hidden(ids)
            slope = self.network["heads"][0] * (1 - hidden**2)
            design = design + slope @ self.network["input_weights"][mode].T.astype(np.float64)
        return design, np.maximum(spread, 0.0)

    def _moments(self, entries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return mean and variance of entries, and the ratio of their noise to the usual one."""
        ids = self.ids[entries]
        product, second = np.ones((2, len(ids), self.mean.shape[1]))
        for rows in ids.T:
            product *= self.mean[rows]
            second *= self.mean[rows] ** 2 + self.variance[rows]
        shown = float(self.multilinear)
        mean = self.level + shown * product.sum(axis=1)
        variance = shown * np.maximum((second - product**2).sum(axis=1), 0.0)
        if self.pairing is not None and self.pairs is not None:
            added = self.pairing.moments(self.pairs)
            mean, variance = mean + added[0][entries], variance + added[1][entries]
        if not self.network:
            return mean, variance, np.ones(len(ids))
        hidden = self._hidden(ids)
        heads = self.network["heads"].astype(np.float64)
        ratio = np.exp(hidden @ heads[1]) if self.likelihood.has_residuals else np.ones(len(ids))
        return mean + hidden @ heads[0], variance, ratio

    def _hidden(self, ids: np.ndarray) -> np.ndarray:
        weights = self.network["input_weights"].astype(np.float64)
        summed = sum(self.mean[rows] @ weights[mode] for mode, rows in enumerate(ids.T))
        return np.tanh(summed + self.network["bias"])
