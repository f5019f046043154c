"""One sweep: the posterior of every row and effect, mode by mode, and then the priors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.vaecp.likelihoods import Working
from vaecp.models.vaecp.pairs import PairEffects, Pairing
from vaecp.models.vaecp.sweeps import loops
from vaecp.models.vaecp.sweeps.chains import LITTLE, SMALLEST, START, Bands, Chain
from vaecp.models.vaecp.sweeps.cuts import cuts_by_entries, even_cuts
from vaecp.models.vaecp.sweeps.links import Link
from vaecp.models.vaecp.sweeps.posteriors import chain_means, posteriors
from vaecp.runtime.blas import one_thread
from vaecp.runtime.threads import in_threads

MAX_FULL = 12
"""Up to this rank rows have a full covariance: sparse rows need it, and it is cheap there."""

EFFECT_VARIANCE = 0.3
INITIAL_STD = 0.02
"""Of rows, relative to their size: sweeps begin close to plain least squares."""

MANY = 500_000
"""Multiplications from which threads are worth waking."""


@dataclass(frozen=True, eq=False)
class Tables:
    """What is learned: posteriors and priors of rows and effects, and the level of the values.

    Tables have one row per row of any mode, modes one after the other, and R + D columns: the
    components, then the effects of each mode, which are 1 in the rows of the others.
    """

    mean: np.ndarray  # (rows, R + D)
    variance: np.ndarray  # (rows, R + D)
    second: np.ndarray  # (rows, R + D), or a triangle of (R + D)^2 where covariances are full
    prior_mean: np.ndarray  # (D, R + 1): the components, then the mode's own effect
    prior_variance: np.ndarray
    strength: np.ndarray  # (D, R + 1): how smooth, as a place in chains.STRENGTHS
    by_features: np.ndarray  # (rows, R + 1): what features of a row add to its prior mean
    ridge: np.ndarray  # (D, R + 1): prior variances of the weights of features
    level: float = 0.0
    pairs: PairEffects | None = None


class Solver:
    """The entries, arranged for sweeps of one rank.

    Parameters
    ----------
    observations : the entries; those of which only limits are known come last.
    rank : number of components; 0 leaves the effects.
    chains : per mode the path of an ordered one, else None.
    links : per mode the features of its rows, else None; no links at all by default.
    flat : modes that have effects alone: their rows are 1 in all components.
    """

    def __init__(
        self,
        observations: Observations,
        rank: int,
        chains: tuple[Chain | None, ...],
        links: tuple[Link | None, ...] = (),
        flat: tuple[int, ...] = (),
    ) -> None:
        shape = observations.shape
        self.flat = flat
        self.rank, self.shape, self.chains = rank, shape, chains
        self.links = links or (None,) * len(shape)
        self.n_modes, self.width = len(shape), rank + len(shape)
        self.full = rank <= MAX_FULL
        self.offsets = np.concatenate([[0], np.cumsum(shape)])
        indices, self.limits = observations.known, observations.limits
        self.ids = indices + self.offsets[:-1].astype(np.int32)
        self.values = np.asarray(observations.values, dtype=np.float64)
        self.weights = observations.weights
        self.triangle = np.tril_indices(self.width)
        self._orders, self._starts, self._columns, self._ones = [], [], [], []
        for mode, n_rows in enumerate(shape):
            learned = np.arange(0 if mode in flat else rank)
            own = np.append(learned, rank + mode), np.append(learned, rank)
            self._columns.append(own)
            self._ones.append(np.setdiff1d(np.arange(self.width), own[0]))
            rows = indices[:, mode]
            order = np.argsort(rows, kind="stable")
            self._orders.append(order)
            self._starts.append(np.searchsorted(rows[order], np.arange(n_rows + 1)))

    def start(
        self, random: np.random.Generator, level: float, pair_variances: tuple[float, ...] = ()
    ) -> Tables:
        """Draw rows whose products have about unit variance, and effects of 0.

        `pair_variances` are prior variances of pair effects, for every two modes in turn.
        """
        n_rows, rank = int(self.offsets[-1]), self.rank
        size = float(max(rank, 1) ** (-0.5 / self.n_modes))
        mean, variance = np.ones((n_rows, self.width)), np.zeros((n_rows, self.width))
        mean[:, :rank] = 0.5 * size * random.standard_normal((n_rows, rank))
        variance[:, :rank] = (INITIAL_STD * size) ** 2
        prior = np.full((self.n_modes, rank + 1), size**2)
        prior[:, rank] = EFFECT_VARIANCE
        for mode in range(self.n_modes):
            mean[self._rows(mode), rank + mode] = 0.0
            if mode in self.flat:
                mean[self._rows(mode), :rank], variance[self._rows(mode), :rank] = 1.0, 0.0
        tables = Tables(
            mean,
            variance,
            np.empty((n_rows, len(self.triangle[0]) if self.full else self.width)),
            np.zeros_like(prior),
            prior,
            np.full(prior.shape, START),
            np.zeros((n_rows if any(self.links) else 1, rank + 1)),
            np.zeros_like(prior),
            level,
        )
        for mode, link in enumerate(self.links):
            if link is not None:
                tables.ridge[mode] = link.start(prior[mode])
        for mode in range(self.n_modes):
            self._set_second(tables, mode, None)
        if not any(pair_variances):
            return tables
        prior_of_pairs = np.zeros((self.n_modes, self.n_modes))
        for modes, each in zip(self.pairing.groups, pair_variances, strict=True):
            prior_of_pairs[modes] = each
        return replace(tables, pairs=self.pairing.start(prior_of_pairs))

    @cached_property
    def pairing(self) -> Pairing:
        """Which entries share two rows."""
        return Pairing.of(self.ids - self.offsets[:-1])

    def sweep(self, tables: Tables, working: Working, *, learn_priors: bool) -> Tables:
        """Return the tables after one update of every mode."""
        tables = replace(
            tables,
            mean=tables.mean.copy(),
            variance=tables.variance.copy(),
            second=tables.second.copy(),
            prior_mean=tables.prior_mean.copy(),
            prior_variance=tables.prior_variance.copy(),
            strength=tables.strength.copy(),
            by_features=tables.by_features.copy(),
            ridge=tables.ridge.copy(),
        )
        known = tables.level
        if tables.pairs is not None:
            known = known + self.pairing.moments(tables.pairs)[0]
        for mode in range(self.n_modes):
            gram, right = self._normal_equations(tables, mode, working, known)
            with one_thread():
                if self.chains[mode] is None:
                    self._solve_rows(tables, mode, gram, right, learn_priors)
                else:
                    self._solve_chain(tables, mode, gram, right, learn_priors)
        if tables.pairs is None:
            return tables
        residuals = working.values - self.moments(tables)[0]
        return replace(tables, pairs=self.pairing.solved(tables.pairs, residuals, working.weights))

    def moments(self, tables: Tables, ids: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        """Return the mean and the variance of entries, those of the fit by default."""
        ids = self.ids if ids is None else ids
        mean, variance = np.empty(len(ids)), np.empty(len(ids))
        cuts = even_cuts(len(ids)) if len(ids) * self.width > MANY else [(0, len(ids))]
        in_threads(
            lambda ends: loops.moments_of_entries(
                *ends, ids, tables.mean, tables.second, self.full, mean, variance
            ),
            cuts,
        )
        if tables.pairs is not None and ids is self.ids:
            added = self.pairing.moments(tables.pairs)
            mean, variance = mean + added[0], variance + added[1]
        elif tables.pairs is not None:
            tables.pairs.add_to(ids - self.offsets[:-1], mean, variance)
        return tables.level + mean, variance

    def adopted(self, tables: Tables) -> Tables:
        """Return tables that were learned from other entries, with the pair effects of these."""
        if tables.pairs is None:
            return tables
        own = self.pairing.start(tables.pairs.prior)
        return replace(tables, pairs=tables.pairs.spread_over(own))

    def pushed(self, tables: Tables, before: Tables, momentum: float) -> Tables:
        """Move the means further along the way that they came."""
        mean = tables.mean + momentum * (tables.mean - before.mean)
        moved = replace(tables, mean=mean, second=tables.second.copy())
        if self.full:
            low, high = self.triangle
            moved.second[:] += mean[:, low] * mean[:, high]
            moved.second[:] -= tables.mean[:, low] * tables.mean[:, high]
        else:
            moved.second[:] = mean**2 + tables.variance
        return moved

    def unseen_row(self, tables: Tables, mode: int) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of a row of which nothing is known, in a mode without order."""
        counts, (free, own) = np.diff(self._starts[mode]), self.columns(mode)
        rows = tables.mean[self._rows(mode)][:, free]
        if self.links[mode] is not None:
            rows = rows - tables.by_features[self._rows(mode)][:, own]
        return counts @ rows / counts.sum(), tables.prior_variance[mode, own]

    # ---- one mode ----------------------------------------------------------------------

    def _rows(self, mode: int) -> slice:
        return slice(self.offsets[mode], self.offsets[mode + 1])

    def columns(self, mode: int) -> tuple[np.ndarray, np.ndarray]:
        """Return which columns of a mode's rows are learned, and which those of its priors are."""
        return self._columns[mode]

    def _normal_equations(
        self, tables: Tables, mode: int, working: Working, known: np.ndarray | float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of the components and the mode's own effect, the other columns being known."""
        n_rows, width = self.shape[mode], self.width
        gram, right = np.empty((n_rows, width, width)), np.empty((n_rows, width))
        centred = working.values - known
        start = self._starts[mode]
        in_threads(
            lambda ends: loops.sum_over_rows(
                *ends,
                mode,
                self._orders[mode],
                start,
                self.ids,
                tables.mean,
                tables.second,
                centred,
                working.weights,
                gram,
                right,
                self.full,
            ),
            cuts_by_entries(start) if len(centred) * width**2 > MANY else [(0, n_rows)],
        )
        free, _ = self.columns(mode)
        right = right[:, free] - gram[:, free][:, :, self._ones[mode]].sum(axis=2)
        return np.ascontiguousarray(gram[:, free][:, :, free]), right

    def _solve_rows(
        self, tables: Tables, mode: int, gram: np.ndarray, right: np.ndarray, learn: bool
    ) -> None:
        _, own = self.columns(mode)
        prior_mean, prior_variance = tables.prior_mean[mode, own], tables.prior_variance[mode, own]
        rows, link = self._rows(mode), self.links[mode]
        if link is not None:
            prior_mean = prior_mean + tables.by_features[rows, own]
        precision = gram + np.diag(1 / prior_variance)
        right = right + prior_mean / prior_variance
        mean, variance, covariance = posteriors(precision, right, self.full)
        counts = np.diff(self._starts[mode])
        # Entries lie in rows that have many. A row without any is asked for as often as they are.
        mean[counts == 0] += counts @ (mean - prior_mean) / counts.sum()
        self._put(tables, mode, mean, variance, covariance)
        if learn and link is not None:
            found = link.learn(mean, variance, prior_variance, tables.ridge[mode, own])
            tables.prior_mean[mode, own], tables.prior_variance[mode, own] = (
                found.centre,
                found.variance,
            )
            tables.by_features[rows, own], tables.ridge[mode, own] = found.by_features, found.ridge
            tables.prior_mean[mode, -1] = 0.0
        elif learn:
            seen = counts > 0
            n_seen = int(seen.sum())
            tables.prior_mean[mode, own] = mean[seen].sum(axis=0) / (n_seen + 1)
            tables.prior_mean[mode, -1] = 0.0  # the level of the values is the mean of effects
            away = (mean[seen] - tables.prior_mean[mode, own]) ** 2 + variance[seen]
            tables.prior_variance[mode, own] = (away.sum(axis=0) + LITTLE) / (
                n_seen + LITTLE
            ) + SMALLEST

    def _solve_chain(
        self, tables: Tables, mode: int, gram: np.ndarray, right: np.ndarray, learn: bool
    ) -> None:
        chain = self.chains[mode]
        assert chain is not None
        _, columns = self.columns(mode)
        n_rows, width = right.shape
        prior = chain.precision(
            tables.prior_variance[mode, columns], tables.strength[mode, columns]
        )
        band = np.empty((2 * width + 1, n_rows * width))
        loops.fill_band(gram, prior.diagonal, prior.one_off, prior.two_off, band)
        mean = chain_means(band, right.ravel()).reshape(n_rows, width)
        own = np.einsum("jrr->jr", gram)
        found = Bands(*np.empty((3, n_rows, width)))
        loops.invert_bands(
            own + prior.diagonal,
            prior.one_off,
            prior.two_off,
            found.diagonal,
            found.one_off,
            found.two_off,
        )
        self._put(tables, mode, mean, found.diagonal, None)
        if learn:
            tables.prior_variance[mode, columns], tables.strength[mode, columns] = chain.learn(
                mean, found
            )

    def _put(
        self,
        tables: Tables,
        mode: int,
        mean: np.ndarray,
        variance: np.ndarray,
        covariance: np.ndarray | None,
    ) -> None:
        rows, (columns, _) = self._rows(mode), self.columns(mode)
        tables.mean[rows, columns] = mean
        tables.variance[rows, columns] = variance
        self._set_second(tables, mode, covariance)

    def _set_second(self, tables: Tables, mode: int, covariance: np.ndarray | None) -> None:
        """Write E[u u'], or its diagonal, of the rows of a mode."""
        rows = self._rows(mode)
        mean = tables.mean[rows]
        if not self.full:
            tables.second[rows] = mean**2 + tables.variance[rows]
            return
        low, high = self.triangle
        second = mean[:, low] * mean[:, high]
        if covariance is None:
            second[:, low == high] += tables.variance[rows]
        else:
            whole = np.zeros((len(mean), self.width, self.width))
            free, _ = self.columns(mode)
            whole[:, free[:, None], free] = covariance
            second += whole[:, low, high]
        tables.second[rows] = second
