"""What VAECP learned: members of rows and decoders, blended and calibrated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize, stats

from vaecp import predictive, training
from vaecp.decoder import Decoder
from vaecp.factors import Prior, Rows
from vaecp.labels import UNSEEN
from vaecp.layout import Layout
from vaecp.models.base import Fitted
from vaecp.objective import Parameters
from vaecp.observations import Observations
from vaecp.prediction import Prediction

PREDICTIVE_DRAWS = 16
MIN_DEGREES_OF_FREEDOM = 2.5
MIN_ENTRIES_TO_CALIBRATE = 30
BLENDING_PULL = 30.0
CALIBRATION_LEVELS = np.linspace(0.2, 0.95, 16)


@dataclass(frozen=True, eq=False)
class FittedVAECP(Fitted):
    """Posteriors of the rows and the decoder of every member (the leading axis)."""

    row_mean: tuple[np.ndarray, ...]  # per mode (members, rows + 1, rank)
    row_log_variance: tuple[np.ndarray, ...]
    prior: dict[str, np.ndarray]
    decoder: dict[str, np.ndarray]
    member_weights: np.ndarray
    unseen_scale: np.ndarray  # (modes + 1,): one mode unseen, several unseen
    std_scale: float
    degrees_of_freedom: float
    seed: int
    history: dict[str, np.ndarray] = field(repr=False)
    stopped_early: bool = False

    def predict(self, indices: np.ndarray) -> Prediction:
        """Return the calibrated mixture of members and draws as one Student t."""
        found = predictive.moments(*self._at(indices), self.seed, PREDICTIVE_DRAWS)
        return Prediction(
            found.mean,
            self.std_scale * np.sqrt(found.noise_variance),
            self._ignorance_scale(indices) * np.sqrt(found.ignorance_variance),
            self.degrees_of_freedom,
        )

    def predict_mean(self, indices: np.ndarray) -> np.ndarray:
        """Return the means alone, which need no draws."""
        return predictive.means(*self._at(indices))

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

    def _ignorance_scale(self, indices: np.ndarray) -> np.ndarray:
        unseen = indices < 0
        which = np.where(unseen.sum(axis=1) > 1, unseen.shape[1], unseen.argmax(axis=1))
        return self.std_scale * np.where(unseen.any(axis=1), self.unseen_scale[which], 1.0)

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
    outcome: training.Outcome, train: Observations, layout: Layout, seed: int
) -> FittedVAECP:
    """Cut the padding off, and give rows without entries and unseen labels the prior."""
    parameters = jax.tree.map(np.asarray, outcome.parameters)
    n_members = len(parameters.decoder.bias)

    def per_mode(table: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, ...]:
        tables = []
        for mode, (offset, n_rows) in enumerate(zip(layout.offsets, train.shape, strict=True)):
            unseen = np.bincount(train.indices[:, mode], minlength=n_rows + 1) == 0
            rows = np.pad(table[:, offset : offset + n_rows], ((0, 0), (0, 1), (0, 0)))
            rows[:, unseen] = prior[:, [mode % prior.shape[1]]]
            tables.append(rows)
        return tuple(tables)

    return FittedVAECP(
        row_mean=per_mode(parameters.rows.mean, parameters.prior.mean),
        row_log_variance=per_mode(parameters.rows.log_variance, parameters.prior.log_variance),
        prior=parameters.prior._asdict(),
        decoder={k: v for k, v in parameters.decoder._asdict().items() if v is not None},
        member_weights=np.full(n_members, 1 / n_members, dtype=np.float32),
        unseen_scale=np.ones(train.n_modes + 1),
        std_scale=1.0,
        degrees_of_freedom=np.inf,
        seed=seed,
        history=outcome.history,
        stopped_early=outcome.stopped_early,
    )


def blended(fitted: FittedVAECP, validation: Observations) -> FittedVAECP:
    """Weigh the members by how well their weighted mean predicts the held-out entries.

    Non-negative least squares, with a pull towards equal weights that is worth as much as a few
    dozen entries: members that are far off lose their say, members that are alike share it.
    """
    ensemble, layout, indices = fitted._at(validation.indices)
    means = predictive.member_means(ensemble.parameters, layout, indices)
    n_members = means.shape[1]
    spread = np.sqrt(np.mean((validation.values[:, None] - means) ** 2))
    pull = spread * np.sqrt(BLENDING_PULL)
    one = np.full((1, n_members), 1e3 * spread * np.sqrt(len(means)))  # weights sum to 1
    design = np.concatenate([means, pull * np.eye(n_members), one])
    target = np.concatenate([validation.values, np.full(n_members, pull / n_members), one[0, :1]])
    weights, _ = optimize.nnls(design.astype(np.float64), target.astype(np.float64))
    return replace(fitted, member_weights=(weights / weights.sum()).astype(np.float32))


def calibrated(fitted: FittedVAECP, validation: Observations) -> FittedVAECP:
    """Scale the errors' spread and choose its tails by entries that training did not see.

    A Student t is laid through the quantiles of the standardised errors, so that intervals of
    every coverage hold about as many of those entries as they should.
    """
    if len(validation) < MIN_ENTRIES_TO_CALIBRATE:  # too few would do more harm than good
        return fitted
    prediction = fitted.predict(validation.indices)
    errors = np.abs(validation.values - prediction.mean) / prediction.std
    errors = np.maximum(errors, 1e-9)
    found = np.log(np.quantile(errors, CALIBRATION_LEVELS))
    candidates = np.geomspace(MIN_DEGREES_OF_FREEDOM, 1000, 100)
    unit = stats.t.ppf((1 + CALIBRATION_LEVELS) / 2, candidates[:, None])
    offsets = found - np.log(unit)
    best = np.argmin(offsets.var(axis=1))
    degrees_of_freedom = float(candidates[best])
    std = np.sqrt(degrees_of_freedom / (degrees_of_freedom - 2))
    scale = float(std * np.exp(offsets[best].mean()))
    return replace(fitted, std_scale=scale, degrees_of_freedom=degrees_of_freedom)


def calibrated_for_unseen(
    fitted: FittedVAECP, train: Observations, random: np.random.Generator
) -> FittedVAECP:
    """Widen predictions for unseen labels until they hold the values of known ones.

    Known rows are draws from the same population as unseen ones. So training entries, with the
    label of one mode or of all modes taken away, say how wide such predictions must be.
    """
    n_sample = min(len(train), 1000)
    sample = train.take(random.choice(len(train), n_sample, replace=False))
    scales = []
    for modes in (*([mode] for mode in range(train.n_modes)), list(range(train.n_modes))):
        indices = np.array(sample.indices)
        indices[:, modes] = UNSEEN
        prediction = fitted.predict(indices)
        missing = np.mean((sample.values - prediction.mean) ** 2 - prediction.noise_std**2)
        found = np.mean(prediction.ignorance_std**2)
        scales.append(np.sqrt(max(1.0, missing / max(found, 1e-12))))
    return replace(fitted, unseen_scale=np.array(scales))
