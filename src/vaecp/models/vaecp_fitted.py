"""What VAECP learned: members of rows and decoders, blended and calibrated."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vaecp import predictive, smoothing
from vaecp.decoder import Decoder
from vaecp.error_shapes import ScaleMixture
from vaecp.factors import Prior, Rows
from vaecp.layout import Layout
from vaecp.models.base import Fitted
from vaecp.neighbours import Neighbourhood
from vaecp.objective import Parameters
from vaecp.observations import Observations
from vaecp.prediction import Prediction
from vaecp.smoothing import Smoothers

PREDICTIVE_DRAWS = 16


@dataclass(frozen=True, eq=False)
class FittedVAECP(Fitted):
    """Posteriors of the rows and the decoder of every member (the leading axis)."""

    row_mean: tuple[np.ndarray, ...]  # per mode (members, rows + 1, rank)
    row_log_variance: tuple[np.ndarray, ...]
    prior: dict[str, np.ndarray]
    decoder: dict[str, np.ndarray]
    member_weights: np.ndarray
    row_log_noise: tuple[np.ndarray, ...]  # per mode (rows + 1,): how much noisier a row is
    unseen_scale: np.ndarray  # (modes + 1,): one mode unseen, several unseen
    std_scale: float
    error_weights: np.ndarray  # of Gaussians with the scales below: the shape of the errors
    error_scales: np.ndarray
    smoothed: tuple[int, ...]  # modes whose rows vary smoothly
    near: dict[str, np.ndarray]  # what neighbours tell, see `vaecp_judging`; empty where nothing
    seed: int
    history: dict[str, np.ndarray] = field(repr=False)
    stopped_early: bool = False

    def predict(self, indices: np.ndarray) -> Prediction:
        """Return the calibrated mixture of members and draws."""
        found = predictive.moments(*self._at(indices), self.seed, PREDICTIVE_DRAWS)
        correction, scale = self._from_neighbours(indices)
        return Prediction(
            found.mean + correction,
            scale * self._row_noise(indices) * np.sqrt(found.noise_variance),
            scale * self._unseen_scale(indices) * np.sqrt(found.ignorance_variance),
            self._error_shape,
        )

    def predict_mean(self, indices: np.ndarray) -> np.ndarray:
        """Return the means alone, which need no draws."""
        return predictive.means(*self._at(indices)) + self._from_neighbours(indices)[0]

    def sample(self, indices: np.ndarray, n: int, random: np.random.Generator) -> np.ndarray:
        """Draw whole tensors: entries that share a row share its draw."""
        mean, noise = predictive.draws(*self._at(indices), int(random.integers(2**31)), n)
        joint = mean + noise * random.standard_normal(mean.shape)
        # Ensemble copula coupling: values from the calibrated distribution of each entry, in
        # the order of the joint draws, which know how entries vary together.
        calibrated = np.sort(self.predict(indices).sample(n, random), axis=0)
        ranks = np.argsort(np.argsort(joint, axis=0), axis=0)
        return np.take_along_axis(calibrated, ranks, axis=0)

    def knows_empty_rows(self, mode: int) -> bool:
        """In a smoothed mode a row lies between its neighbours."""
        return mode in self.smoothed

    @property
    def factors(self) -> tuple[np.ndarray, ...]:
        """The posterior means of the rows of the member that counts most."""
        member = int(np.argmax(self.member_weights))
        return tuple(mean[member, :-1] for mean in self.row_mean)

    @property
    def _error_shape(self) -> ScaleMixture:
        return ScaleMixture(tuple(self.error_weights.tolist()), tuple(self.error_scales.tolist()))

    def _row_noise(self, indices: np.ndarray) -> np.ndarray:
        return np.exp(sum(table[indices[:, mode]] for mode, table in enumerate(self.row_log_noise)))

    def _unseen_scale(self, indices: np.ndarray) -> np.ndarray:
        unseen = indices < 0
        which = np.where(unseen.sum(axis=1) > 1, unseen.shape[1], unseen.argmax(axis=1))
        return np.where(unseen.any(axis=1), self.unseen_scale[which], 1.0)

    def _from_neighbours(
        self, indices: np.ndarray
    ) -> tuple[np.ndarray | float, np.ndarray | float]:
        """A correction of the mean, and the scale of the standard deviations.

        Entries with as many neighbours as held-out ones had are as certain as those were with
        the correction; entries without any, as certain as those were without it.
        """
        if not self.near:
            return 0.0, self.std_scale
        features, support = self._neighbourhood.features(indices)
        share = np.minimum(support / self.near["support"], 1.0)
        scale = np.sqrt(share * self.near["std_scale"] ** 2 + (1 - share) * self.std_scale**2)
        return (features @ self.near["weights"]).astype(np.float32), scale

    @cached_property
    def _neighbourhood(self) -> Neighbourhood:
        return Neighbourhood(
            self.near["indices"],
            self.near["errors"],
            tuple(int(mode) for mode in self.near["modes"]),
            tuple(table.shape[1] - 1 for table in self.row_mean),
        )

    def _at(self, indices: np.ndarray) -> tuple[predictive.Ensemble, Layout, np.ndarray]:
        """Lay the rows out in one table, that of unseen labels (-1) at the end of each mode."""
        layout = Layout.of(tuple(table.shape[1] for table in self.row_mean))
        parameters = Parameters(
            Rows(
                jnp.asarray(layout.stack(self.row_mean)),
                jnp.asarray(layout.stack(self.row_log_variance)),
            ),
            Prior(**jax.tree.map(jnp.asarray, self.prior)),
            Decoder(**jax.tree.map(jnp.asarray, self.decoder)),
        )
        unseen = np.array([table.shape[1] - 1 for table in self.row_mean])
        ensemble = predictive.Ensemble(parameters, jnp.asarray(self.member_weights))
        return ensemble, layout, np.where(indices < 0, unseen, indices)


class Table(NamedTuple):
    """Rows of one mode, on the host: (members, rows, rank) arrays."""

    mean: np.ndarray
    log_variance: np.ndarray


def fitted_from(
    parameters: Parameters,
    history: dict[str, np.ndarray],
    train: Observations,
    layout: Layout,
    smoothers: Smoothers,
    seed: int,
) -> FittedVAECP:
    """Cut the padding off, and give rows without entries and unseen labels the prior."""
    rows = parameters.rows
    if parameters.smoothness is not None:
        rows = _rows_of_members(parameters, smoothers, layout)
    rows, prior, decoder = jax.tree.map(np.asarray, (rows, parameters.prior, parameters.decoder))
    n_members = len(decoder.bias)
    smoothed = tuple(mode for mode, smoother in enumerate(smoothers) if smoother is not None)
    tables = []
    for mode, (offset, n_rows) in enumerate(zip(layout.offsets, train.shape, strict=True)):
        own = Table(*(table[:, offset : offset + n_rows] for table in rows))
        seen = np.bincount(train.indices[:, mode], minlength=n_rows) > 0
        if mode in smoothed:
            tables.append(_with_population(own, seen))
        else:
            tables.append(_with_prior(own, seen, Table(*(a[:, mode % a.shape[1]] for a in prior))))
    return FittedVAECP(
        row_mean=tuple(table.mean for table in tables),
        row_log_variance=tuple(table.log_variance for table in tables),
        prior=prior._asdict(),
        decoder={k: v for k, v in decoder._asdict().items() if v is not None},
        member_weights=np.full(n_members, 1 / n_members, dtype=np.float32),
        row_log_noise=tuple(np.zeros(n_rows + 1) for n_rows in train.shape),
        unseen_scale=np.ones(train.n_modes + 1),
        std_scale=1.0,
        error_weights=np.ones(1),
        error_scales=np.ones(1),
        smoothed=smoothed,
        near={},
        seed=seed,
        history=history,
    )


def _with_prior(rows: Table, seen: np.ndarray, prior: Table) -> Table:
    """Add the row of unseen labels: it is the prior, and so are rows without entries."""
    known = np.append(seen, False)
    return Table(
        *(
            np.where(known[:, None], np.pad(table, ((0, 0), (0, 1), (0, 0))), unknown[:, None])
            for table, unknown in zip(rows, prior, strict=True)
        )
    )


def _with_population(rows: Table, seen: np.ndarray) -> Table:
    """Add the row of unseen labels of a smoothed mode, and widen rows without entries.

    The latent rows of such a mode are frequencies, so their prior is not that of a row: an
    unseen label is like the seen ones. A row without entries lies between its neighbours, as
    surely as seen rows lie between theirs, and less so the further away these are.
    """
    mean, variance = rows.mean, np.exp(rows.log_variance)
    average = mean[:, seen].mean(axis=1, keepdims=True)
    spread = mean[:, seen].var(axis=1, keepdims=True) + variance[:, seen].mean(
        axis=1, keepdims=True
    )
    between = 0.5 * (mean[:, :-2] + mean[:, 2:]) - mean[:, 1:-1]
    roughness = np.mean(between**2, axis=1, keepdims=True)
    distance = np.abs(np.arange(len(seen))[:, None] - np.flatnonzero(seen)).min(axis=1)
    variance = variance + distance[:, None] ** 2 * roughness
    return Table(
        np.concatenate([mean, average], axis=1),
        np.log(np.concatenate([variance, spread], axis=1) + 1e-30),
    )


@functools.partial(jax.jit, static_argnums=2)
def _rows_of_members(parameters: Parameters, smoothers: Smoothers, layout: Layout) -> Rows:
    return jax.vmap(
        lambda p: smoothing.posterior_of_rows(p.rows, p.smoothness, p.prior, smoothers, layout)
    )(parameters)
