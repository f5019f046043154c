"""What VAECP learned: members, how much each counts where, and how large errors are."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from vaecp.data.prediction import Prediction
from vaecp.data.support import Support
from vaecp.models.bounds import SURE_REACH
from vaecp.models.fitted import Components, Fitted, SumOfProducts
from vaecp.models.joining import Joining
from vaecp.models.vaecp.between import (
    CorrectionOfNearest,
    SupportOfNearest,
    interpolated,
    nearest_known,
    positions,
)
from vaecp.models.vaecp.holdouts import LEAST
from vaecp.models.vaecp.likelihoods import Gaussian, Likelihood
from vaecp.models.vaecp.limited import LimitedCells
from vaecp.models.vaecp.members import Ensemble
from vaecp.models.vaecp.neighbours import Correction
from vaecp.models.vaecp.own_parts import own_part
from vaecp.models.vaecp.spread import Spread
from vaecp.models.vaecp.stacking import Stack
from vaecp.models.vaecp.sweeps.chains import Chain
from vaecp.models.vaecp.updating import noise_after, updated

MOST_NOISE = 0.98
"""Of the variance of an entry; the rest is ignorance."""

ROUNDS = 3
USUAL = 0.9
"""Share of the residuals by which their size is compared with what was expected."""


class Blend:
    """Members' moments at entries, and what becomes of them."""

    def __init__(self, fitted: FittedVAECP, indices: np.ndarray) -> None:
        self.features = fitted.support.features(indices)
        self.means, self.variances, self.noises = fitted.ensemble.moments(indices)
        self.weights = fitted.stack.weights(self.features)
        self.mean = np.sum(self.weights * self.means, axis=1)

    @property
    def ignorance(self) -> np.ndarray:
        """Variance of the mean within members, and between them."""
        apart = (self.means - self.mean[:, None]) ** 2
        return np.sum(self.weights * (self.variances + apart), axis=1)

    def noise(self, fitted: FittedVAECP, indices: np.ndarray) -> np.ndarray:
        """Noise variance: the members' own, and how much noisier the rows of an entry are."""
        rows = sum(table[indices[:, mode]] for mode, table in enumerate(fitted.row_log_noise))
        return np.exp(2 * rows) * np.sum(self.weights * self.noises, axis=1)


@dataclass(frozen=True, eq=False)
class FittedVAECP(Fitted):
    """Everything that predictions need, as plain arrays in records."""

    reach = SURE_REACH
    ensemble: Ensemble
    stack: Stack
    spread: Spread
    support: Support
    row_log_noise: tuple[np.ndarray, ...]  # per mode (rows + 1,): how much noisier a row is
    unseen_scale: np.ndarray  # (D + 1,): of standard deviations, one mode unseen; several
    smoothed: tuple[int, ...]  # modes whose rows vary smoothly
    correction: Correction | None  # what residuals at neighbouring entries tell
    likelihood: Likelihood
    features: tuple[np.ndarray, ...]  # per mode (rows, F): NaN where nothing is known of a row
    limited: LimitedCells | None  # entries of which only limits are known

    def validate(self, shape: tuple[int, ...]) -> None:
        from vaecp.models.vaecp.rules import validate

        validate(self, shape)

    def predict(self, indices: np.ndarray) -> Prediction:
        """Return the calibrated mixture of members."""
        mean, noise, ignorance = self.blend(indices)
        if self.limited is None:
            if self.likelihood.has_residuals:
                ignorance = ignorance + self.ensemble.doubt_beyond(mean) ** 2
            return self.likelihood.predict(mean, noise, ignorance, self.spread.shape)
        plain = Prediction(mean, np.sqrt(noise), np.sqrt(ignorance), self.spread.shape)
        features = self.support.features(indices)
        return self.likelihood.in_own_units(self.limited.predict(plain, indices, features))

    def blend(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the latent mean of entries, and the variances of noise and ignorance."""
        blend = Blend(self, indices)
        noise, ignorance = blend.noise(self, indices), blend.ignorance
        total = (noise + ignorance) * np.exp(self.spread.log_factor(blend.features))
        noise = np.minimum(noise * np.exp(self.spread.intercept), MOST_NOISE * total)
        ignorance = (total - noise) * self._unseen(indices) ** 2
        return self._corrected(blend.mean, indices), noise, ignorance

    def predict_mean(self, indices: np.ndarray) -> np.ndarray:
        """Return the means alone."""
        if self.limited is not None or _transforms(self.likelihood):
            return self.predict(indices).mean
        return self._corrected(Blend(self, indices).mean, indices)

    def sample(self, indices: np.ndarray, n: int, random: np.random.Generator) -> np.ndarray:
        """Draw whole tensors: entries that share a row share its draw."""
        blend = Blend(self, indices)
        share = blend.weights.mean(axis=0)
        noise = np.sqrt(blend.noise(self, indices))
        members = random.choice(len(share), size=n, p=share / share.sum())
        joint = np.stack([self.ensemble.draw(int(member), indices, random) for member in members])
        joint += noise * random.standard_normal(joint.shape)
        # Ensemble copula coupling: values from the calibrated distribution of each entry, in
        # the order of the joint draws, which know how entries vary together.
        calibrated = np.sort(self.predict(indices).sample(n, random), axis=0)
        ranks = np.argsort(np.argsort(joint, axis=0), axis=0)
        return np.take_along_axis(calibrated, ranks, axis=0)

    def fold_in(self, joining: Joining) -> FittedVAECP:
        """Infer the rows that joined, all else being held."""
        grown = self._grown(joining)
        moving, before = joining.learned, grown.ensemble
        if self.likelihood.has_residuals and len(joining.values):
            before = before.reaching(joining.values)
        ensemble = self._updated(before, joining, moving)
        fitted = grown._with_entries(ensemble, joining)
        if not self.likelihood.has_residuals or not len(joining.values):
            return fitted
        left = joining.values - fitted.blend(joining.indices)[0]
        chains = tuple(
            Chain.through(labels, len(labels)) if mode in self.smoothed else None
            for mode, labels in enumerate(joining.labels)
        )
        own = own_part(joining.indices, left, moving, chains)
        if own is None:
            return fitted._widened(joining, left, np.arange(len(left)))
        fitted = replace(fitted, ensemble=own.added_to(fitted.ensemble))
        for _ in range(ROUNDS):
            fitted = fitted._widened(joining, own.errors, own.held_out)
        return fitted

    @property
    def known_features(self) -> tuple[np.ndarray | None, ...]:
        given = tuple(table if table.shape[1] else None for table in self.features)
        return given if any(table is not None for table in given) else ()

    def reads_between(self, mode: int) -> bool:
        """Rows of smoothed modes vary from one label to the next as their neighbours do."""
        return mode in self.smoothed

    def with_rows_between(self, joining: Joining) -> FittedVAECP:
        """Interpolate rows; errors there are as large as around the nearest known ones."""
        nearest = tuple(
            source[np.flatnonzero(source >= 0)[nearest_known(positions(labels), source >= 0)]]
            for source, labels in zip(joining.sources, joining.labels, strict=True)
        )
        near, support = self.correction, self.support
        return replace(
            self._grown(joining),
            support=SupportOfNearest(**_fields_of(support), nearest=nearest),
            correction=near and CorrectionOfNearest(**_fields_of(near), nearest=nearest),
        )

    def streamed(self, joining: Joining, forget: float) -> FittedVAECP:
        """Learn from a batch of entries; posteriors so far are the priors."""
        grown = self._grown(joining)
        before = grown.ensemble.faded(forget) if forget < 1 else grown.ensemble
        moving = tuple(np.ones(size, dtype=bool) for size in joining.shape)
        if self.likelihood.has_residuals:
            before = before.reaching(joining.values)
        ensemble = self._updated(before, joining, moving)
        n_before = forget * len(self.support.indices)
        noises = noise_after(ensemble, joining.indices, joining.values, self.likelihood, n_before)
        return grown._with_entries(replace(ensemble, noises=noises), joining)

    def _updated(
        self, before: Ensemble, joining: Joining, moving: tuple[np.ndarray, ...]
    ) -> Ensemble:
        given = joining.indices, joining.values, self.likelihood, moving
        return updated(before, *given, is_judged=len(self.support.indices) >= LEAST)

    def _grown(self, joining: Joining) -> FittedVAECP:
        """Make room for the rows that join; they have the prior, or lie between their neighbours."""
        ensemble = self.ensemble

        def tables(name: str) -> tuple[np.ndarray, ...]:
            modes = enumerate(getattr(ensemble, name))
            return tuple(joining.grown(table, mode, axis=1) for mode, table in modes)

        mean, variance = tables("mean"), tables("variance")
        noise = [joining.grown(table, mode) for mode, table in enumerate(self.row_log_noise)]
        for mode in self.smoothed:
            at, known = positions(joining.labels[mode]), joining.sources[mode] >= 0
            noise[mode][:-1] = np.interp(at, at[known], noise[mode][:-1][known])
            for member in range(len(ensemble)):
                rows = mean[mode][member, :-1], variance[mode][member, :-1]
                found = interpolated(*rows, at, known, variance[mode][member, -1])
                mean[mode][member, :-1], variance[mode][member, :-1] = found
        return replace(
            self,
            ensemble=replace(
                ensemble,
                mean=mean,
                variance=variance,
                correlation=tables("correlation"),
                pairs=ensemble.pairs and ensemble.pairs.moved(joining.places),
            ),
            row_log_noise=tuple(noise),
            features=tuple(
                joining.grown(np.pad(t, ((0, 1), (0, 0)), constant_values=np.nan), m)[:-1]
                for m, t in enumerate(self.features)
            ),
            limited=self.limited and self.limited.moved(joining.moved, joining.shape),
        )

    def _with_entries(self, ensemble: Ensemble, joining: Joining) -> FittedVAECP:
        """Take over the rows; new entries support others, and have residuals of their own."""
        old = joining.moved(self.support.indices)
        indices = np.concatenate([old, joining.indices.astype(np.int32)])
        support = replace(self.support, indices=indices, shape=joining.shape)
        fitted = replace(self, ensemble=ensemble, support=support)
        if self.correction is None:
            return fitted
        near = self.correction.neighbourhood
        left = joining.values - Blend(fitted, joining.indices).mean
        near = replace(
            near,
            indices=np.concatenate([joining.moved(near.indices), joining.indices]),
            errors=np.concatenate([near.errors, left.astype(near.errors.dtype)]),
            shape=joining.shape,
        )
        return replace(fitted, correction=replace(self.correction, neighbourhood=near))

    def _widened(self, joining: Joining, errors: np.ndarray, places: np.ndarray) -> FittedVAECP:
        """Let errors at some entries say how much larger those of new rows are than of known ones.

        What a new row has of its own, held rows cannot show. Its entries tell, as far as they are
        more than the numbers that were learned from them.
        """
        _, noise, ignorance = self.blend(joining.indices[places])
        centred = Prediction(0 * noise, np.sqrt(noise), np.sqrt(ignorance), self.spread.shape)
        low, high = centred.interval(USUAL)
        size = np.zeros(len(joining.values))
        size[places] = 2 * np.abs(errors) / np.maximum(high - low, 1e-300)
        share = np.zeros(len(joining.values))
        members = Blend(self, joining.indices[places])
        share[places] = members.ignorance / members.noise(self, joining.indices[places])
        tables = tuple(table.copy() for table in self.row_log_noise)
        for mode, row, entries in joining.visits(n_sweeps=1):
            entries = np.intersect1d(entries, places)
            if not len(entries):
                continue
            trust = len(entries) / (len(entries) + max(int(self.ensemble.ranks.max()), 8))
            least = 1.0 if len(places) == len(size) else 0.5  # errors of the fit are too small
            ratio = max(float(np.quantile(size[entries], USUAL)), least) ** (2 * trust)
            widened = ratio + (ratio - 1) * float(np.median(share[entries]))
            tables[mode][row] += 0.5 * np.log(max(widened, 0.1 * ratio))
        return replace(self, row_log_noise=tables)

    def knows_empty_rows(self, mode: int) -> bool | np.ndarray:
        """In a smoothed mode a row lies between its neighbours; elsewhere features may describe it."""
        if mode in self.smoothed:
            return True
        table = self.features[mode]
        return ~np.isnan(table).any(axis=1) & (table.shape[1] > 0)

    @property
    def factors(self) -> tuple[np.ndarray, ...]:
        """The posterior means of the components of the member that counts most."""
        rank = int(self.ensemble.ranks[self.main])
        return tuple(table[self.main, :-1, :rank] for table in self.ensemble.mean)

    def row_std(self) -> tuple[np.ndarray, ...]:
        """The posterior standard deviations of `factors`."""
        rank = int(self.ensemble.ranks[self.main])
        return tuple(np.sqrt(table[self.main, :-1, :rank]) for table in self.ensemble.variance)

    def components(self, indices: np.ndarray) -> tuple[Components, ...]:
        """Return the effects on what the main member decodes; neighbours have no part in it."""
        one = self.ensemble.only(np.array([self.main]))
        before = one.moments(indices).mean[:, 0]
        effects = []
        for component in range(int(one.ranks[0])):
            levelled = []
            for table in one.mean:
                table = table.copy()
                table[0, :, component] = table[0, :-1, component].mean()
                levelled.append(table)
            moved = replace(one, mean=tuple(levelled))
            effects.append(moved.moments(indices).mean[:, 0] - before)
        return (Components(None, np.stack(effects, axis=1)),) if effects else ()

    def as_cp(self) -> SumOfProducts | None:
        """The member that counts most, where it is all there is: its effects are components."""
        one = self.ensemble
        if len(one) > 1 or one.network or one.pairs or self.correction is not None:
            return None
        factors = tuple(table[0, :-1].astype(np.float64) for table in self.ensemble.mean)
        return SumOfProducts(np.ones(factors[0].shape[1]), factors, float(self.ensemble.levels[0]))

    @property
    def classes(self) -> np.ndarray | None:
        return self.likelihood.classes_of_values

    @property
    def main(self) -> int:
        """The member that counts most where the support is ordinary."""
        return int(np.argmax(self.stack.intercepts))

    def _corrected(self, mean: np.ndarray, indices: np.ndarray) -> np.ndarray:
        if self.correction is None:
            return mean
        corrected = mean + self.correction.at(indices)
        return np.clip(corrected, self.ensemble.lowest, self.ensemble.highest)

    def _is_empty(self, indices: np.ndarray) -> np.ndarray:
        """Whether a row has no entries, and neither its neighbours nor features tell of it: (n, D)."""
        found = np.zeros(indices.shape, dtype=bool)
        for mode, counts in enumerate(self.support.row_counts):
            if mode in self.smoothed or self.support.is_sample:
                continue
            empty = (counts == 0) & ~np.broadcast_to(self.knows_empty_rows(mode), counts.shape)
            if self.limited is not None:
                empty[self.limited.limits.indices[:, mode]] = False
            found[:, mode] = empty[indices[:, mode]]
        return found

    def _unseen(self, indices: np.ndarray) -> np.ndarray:
        unseen = (indices < 0) | self._is_empty(indices)
        which = np.where(unseen.sum(axis=1) > 1, unseen.shape[1], unseen.argmax(axis=1))
        return np.where(unseen.any(axis=1), self.unseen_scale[which], 1.0)


def _fields_of(record: Support | Correction) -> dict[str, Any]:
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _transforms(likelihood: Likelihood) -> bool:
    """Whether values are something else than the latent numbers that members predict."""
    return type(likelihood).in_own_units is not Gaussian.in_own_units
