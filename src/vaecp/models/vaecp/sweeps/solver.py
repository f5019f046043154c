"""One sweep: the posterior of every row and effect, mode by mode, and then the priors."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.vaecp.likelihoods import Working
from vaecp.models.vaecp.pairs import Pairing
from vaecp.models.vaecp.sweeps import bands, loops, rows
from vaecp.models.vaecp.sweeps.arranged import Arranged
from vaecp.models.vaecp.sweeps.chains import LITTLE, SMALLEST, START, Bands, Chain
from vaecp.models.vaecp.sweeps.cuts import cuts_by_entries, even_cuts
from vaecp.models.vaecp.sweeps.links import Link
from vaecp.models.vaecp.sweeps.tables import Tables
from vaecp.runtime.threads import in_threads

MAX_FULL = 12
"""Up to this rank rows have a full covariance: sparse rows need it, and it is cheap there."""

EFFECT_VARIANCE = 0.3
INITIAL_STD = 0.02
"""Of rows, relative to their size: sweeps begin close to plain least squares."""

CHUNK = 16_384
"""Rows whose covariances are held at a time."""

MANY = 500_000
"""Multiplications from which threads are worth waking."""


class Solver:
    """The entries, arranged for sweeps of one rank.

    Parameters
    ----------
    observations : the entries; those of which only limits are known come last.
    rank : number of components; 0 leaves the effects.
    chains : per mode the path of an ordered one, else None.
    links : per mode the features of its rows, else None; no links at all by default.
    flat : modes that have effects alone: their rows are 1 in all components.
    arranged : the entries, where other solvers have them arranged.
    """

    def __init__(
        self,
        observations: Observations,
        rank: int,
        chains: tuple[Chain | None, ...],
        links: tuple[Link | None, ...] = (),
        flat: tuple[int, ...] = (),
        arranged: Arranged | None = None,
    ) -> None:
        shape = observations.shape
        self.flat = flat
        self.rank, self.shape, self.chains = rank, shape, chains
        self.links = links or (None,) * len(shape)
        self.n_modes, self.width = len(shape), rank + len(shape)
        self.full = rank <= MAX_FULL
        self.arranged = arranged or Arranged.of(observations)
        self.offsets, self.ids = self.arranged.offsets, self.arranged.ids
        self.limits = observations.limits
        self.values = np.asarray(observations.values, dtype=np.float64)
        self.weights = observations.weights
        self.triangle = np.tril_indices(self.width)
        self._columns, self._ones = [], []
        for mode in range(len(shape)):
            learned = np.arange(0 if mode in flat else rank)
            own = np.append(learned, rank + mode), np.append(learned, rank)
            self._columns.append(own)
            self._ones.append(np.setdiff1d(np.arange(self.width), own[0]))

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
        rows.set_second(tables.mean, tables.variance, self.full, tables.second)
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
            rows.set_second(mean, tables.variance, False, moved.second)
        return moved

    def unseen_row(self, tables: Tables, mode: int) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of a row of which nothing is known, in a mode without order."""
        counts, (free, own) = np.diff(self.arranged.starts[mode]), self.columns(mode)
        mean = tables.mean[self._rows(mode)][:, free]
        if self.links[mode] is not None:
            mean = mean - tables.by_features[self._rows(mode)][:, own]
        return counts @ mean / counts.sum(), tables.prior_variance[mode, own]

    def independent_variance(self, tables: Tables, mode: int) -> np.ndarray:
        """Return the variances of components of the closest posterior under which they are independent.

        Predictions take them for independent. Where the components of a row are correlated, as in a
        matrix, whose components can be turned, one makes up for another: to add up their marginal
        variances would count that twice.
        """
        place, (free, _) = self._rows(mode), self.columns(mode)
        variance = tables.variance[place].copy()
        if not self.full or self.chains[mode] is not None or len(free) == 1:
            return variance
        for first in range(0, len(variance), CHUNK):
            part = slice(place.start + first, min(place.start + first + CHUNK, place.stop))
            found = rows.conditional_variance(tables.mean[part], tables.second[part], free)
            variance[first : first + CHUNK, free] = found
        return variance

    # ---- one mode ----------------------------------------------------------------------

    def _rows(self, mode: int) -> slice:
        return slice(self.offsets[mode], self.offsets[mode + 1])

    def columns(self, mode: int) -> tuple[np.ndarray, np.ndarray]:
        """Return which columns of a mode's rows are learned, and which those of its priors are."""
        return self._columns[mode]

    def _normal_equations(
        self, tables: Tables, mode: int, working: Working, known: np.ndarray | float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of all columns, those included that are 1 in this mode."""
        n_rows, width = self.shape[mode], self.width
        gram, right = np.empty((n_rows, width, width)), np.empty((n_rows, width))
        centred = working.values - known
        start = self.arranged.starts[mode]
        in_threads(
            lambda ends: loops.sum_over_rows(
                *ends,
                self.arranged.orders[mode],
                start,
                self.arranged.others[mode],
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
        return gram, right

    def _solve_rows(
        self, tables: Tables, mode: int, gram: np.ndarray, right: np.ndarray, learn: bool
    ) -> None:
        (free, own), place = self.columns(mode), self._rows(mode)
        prior_mean, prior_variance = tables.prior_mean[mode, own], tables.prior_variance[mode, own]
        link = self.links[mode]
        if link is not None:
            prior_mean = prior_mean + tables.by_features[place, own]
        prior_mean = np.atleast_2d(prior_mean)
        found = tables.mean[place], tables.variance[place], tables.second[place]
        n_rows = len(gram)
        solved = in_threads(
            lambda ends: rows.solve_rows(
                *ends,
                gram,
                right,
                free,
                self._ones[mode],
                prior_mean,
                1 / prior_variance,
                self.full,
                *found,
            ),
            even_cuts(n_rows) if n_rows * len(free) ** 3 > MANY else [(0, n_rows)],
        )
        if not all(solved):
            raise np.linalg.LinAlgError(f"rows of mode {mode} have no finite posterior")
        counts = np.diff(self.arranged.starts[mode])
        if not counts.all():
            self._lift_unseen(found, counts, free, prior_mean)
        if learn:
            self._learn_prior(tables, mode, counts)

    def _lift_unseen(
        self,
        found: tuple[np.ndarray, ...],
        counts: np.ndarray,
        free: np.ndarray,
        prior_mean: np.ndarray,
    ) -> None:
        """Entries lie in rows that have many. A row without any is asked for as often as they are."""
        mean, variance, second = found
        unseen = np.flatnonzero(counts == 0)
        lift = counts @ (mean[:, free] - prior_mean) / counts.sum()
        mean[unseen[:, None], free] += lift
        moments = np.empty((len(unseen), second.shape[1]))
        rows.set_second(mean[unseen], variance[unseen], self.full, moments)
        second[unseen] = moments

    def _learn_prior(self, tables: Tables, mode: int, counts: np.ndarray) -> None:
        """Make the posteriors of rows that have entries most probable."""
        (free, own), place, link = self.columns(mode), self._rows(mode), self.links[mode]
        mean, variance = tables.mean[place][:, free], tables.variance[place][:, free]
        if link is not None:
            prior_variance = tables.prior_variance[mode, own]
            found = link.learn(mean, variance, prior_variance, tables.ridge[mode, own])
            tables.prior_mean[mode, own] = found.centre
            tables.prior_variance[mode, own] = found.variance
            tables.by_features[place, own], tables.ridge[mode, own] = found.by_features, found.ridge
        else:
            if not counts.all():
                mean, variance = mean[counts > 0], variance[counts > 0]
            n_seen = len(mean)
            centre = mean.sum(axis=0) / (n_seen + 1)
            centre[-1] = 0.0  # the level of the values is the mean of effects
            away = ((mean - centre) ** 2 + variance).sum(axis=0)
            tables.prior_mean[mode, own] = centre
            tables.prior_variance[mode, own] = (away + LITTLE) / (n_seen + LITTLE) + SMALLEST
        tables.prior_mean[mode, -1] = 0.0

    def _solve_chain(
        self, tables: Tables, mode: int, gram: np.ndarray, right: np.ndarray, learn: bool
    ) -> None:
        chain = self.chains[mode]
        assert chain is not None
        (free, columns), place = self.columns(mode), self._rows(mode)
        prior = chain.precision(
            tables.prior_variance[mode, columns], tables.strength[mode, columns]
        )
        mean, variance = tables.mean[place], tables.variance[place]
        found = Bands(*np.empty((3, len(mean), len(free))))
        if not bands.solve_chain(
            gram,
            right,
            free,
            self._ones[mode],
            prior.diagonal,
            prior.one_off,
            prior.two_off,
            mean,
            found.diagonal,
            found.one_off,
            found.two_off,
        ):
            raise np.linalg.LinAlgError(f"the chain of mode {mode} has no finite posterior")
        variance[:, free] = found.diagonal
        rows.set_second(mean, variance, self.full, tables.second[place])
        if learn:
            tables.prior_variance[mode, columns], tables.strength[mode, columns] = chain.learn(
                mean[:, free], found
            )
