"""What VAECP learned: members of rows and decoders, blended and calibrated."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from vaecp import predictive, smoothing
from vaecp.decoder import Decoder
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
    degrees_of_freedom: float
    near: dict[str, np.ndarray]  # what neighbours tell, see `vaecp_judging`; empty where nothing
    seed: int
    history: dict[str, np.ndarray] = field(repr=False)
    stopped_early: bool = False

    def predict(self, indices: np.ndarray) -> Prediction:
        """Return the calibrated mixture of members and draws as one Student t."""
        found = predictive.moments(*self._at(indices), self.seed, PREDICTIVE_DRAWS)
        correction, scale = self._from_neighbours(indices)
        return Prediction(
            found.mean + correction,
            scale * self._row_noise(indices) * np.sqrt(found.noise_variance),
            scale * self._unseen_scale(indices) * np.sqrt(found.ignorance_variance),
            self.degrees_of_freedom,
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

    @property
    def factors(self) -> tuple[np.ndarray, ...]:
        """The posterior means of the rows of the member that counts most."""
        member = int(np.argmax(self.member_weights))
        return tuple(mean[member, :-1] for mean in self.row_mean)

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

    def per_mode(table: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, ...]:
        tables = []
        for mode, (offset, n_rows) in enumerate(zip(layout.offsets, train.shape, strict=True)):
            unseen = np.bincount(train.indices[:, mode], minlength=n_rows + 1) == 0
            rows = np.pad(table[:, offset : offset + n_rows], ((0, 0), (0, 1), (0, 0)))
            rows[:, unseen] = prior[:, [mode % prior.shape[1]]]
            tables.append(rows)
        return tuple(tables)

    return FittedVAECP(
        row_mean=per_mode(rows.mean, prior.mean),
        row_log_variance=per_mode(rows.log_variance, prior.log_variance),
        prior=prior._asdict(),
        decoder={k: v for k, v in decoder._asdict().items() if v is not None},
        member_weights=np.full(n_members, 1 / n_members, dtype=np.float32),
        row_log_noise=tuple(np.zeros(n_rows + 1) for n_rows in train.shape),
        unseen_scale=np.ones(train.n_modes + 1),
        std_scale=1.0,
        degrees_of_freedom=np.inf,
        near={},
        seed=seed,
        history=history,
    )


def _rows_of_members(parameters: Parameters, smoothers: Smoothers, layout: Layout) -> Rows:
    return jax.vmap(
        lambda p: smoothing.posterior_of_rows(p.rows, p.smoothness, p.prior, smoothers, layout)
    )(parameters)
