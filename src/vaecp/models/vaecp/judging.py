"""What held-out entries say about trained members: weights, neighbours, and the size of errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from vaecp.data.cells import keys_fit
from vaecp.data.labels import UNSEEN
from vaecp.data.limits import Limits
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.data.support import Support
from vaecp.models.vaecp.fitted import FittedVAECP
from vaecp.models.vaecp.holdouts import LEAST, Fold
from vaecp.models.vaecp.judgement import Judgement, Trained, range_of
from vaecp.models.vaecp.likelihoods import Likelihood
from vaecp.models.vaecp.limited import LimitedCells
from vaecp.models.vaecp.members import Ensemble
from vaecp.models.vaecp.neighbours import Correction, Neighbourhood, weights_of
from vaecp.models.vaecp.spread import Spread, learn_spread, noise_of_rows
from vaecp.models.vaecp.stacking import Stack
from vaecp.models.vaecp.workshop import WORTH

LEAST_WEIGHT = 0.03
MAX_ENTRIES_FOR_NEIGHBOURS = 20_000_000
MAX_FOR_CALIBRATION = 3_000


def judged(
    observations: Observations,
    folds: tuple[Fold, ...],
    trained: Sequence[Trained],
    ordered: tuple[int, ...],
    smoothed: tuple[int, ...],
    likelihood: Likelihood,
    *,
    neighbours: bool,
    calibrate: bool,
    random: np.random.Generator,
    cut: Fold | None = None,
    n_optional: int = 0,
) -> FittedVAECP:
    """Blend members, correct by neighbours, and learn how large errors are.

    The last `n_optional` members take part only where held-out entries gain by them.
    """
    support = Support.of(observations.indices, observations.shape, ordered)
    n_features = len(support.names)
    judgement, stack = None, Stack.equal(len(trained), n_features)
    if folds:
        judgement = Judgement.of(folds, trained, support, likelihood)
        kept, stack = _weighed(judgement, n_optional)
        trained = [each for each, stays in zip(trained, kept, strict=True) if stays]
        judgement = judgement.only(kept)
    bounds = range_of(observations, likelihood)
    ensemble = Ensemble.of([each.finish() for each in trained], *bounds)
    fitted = FittedVAECP(
        ensemble,
        stack,
        Spread.plain(n_features),
        support,
        tuple(np.zeros(size + 1) for size in observations.shape),
        np.ones(observations.n_modes + 1),
        smoothed,
        None,
        likelihood,
        observations.feature_tables,
        None,
    )
    if not likelihood.has_residuals:
        return fitted if judgement is None or not calibrate else _calibrated(fitted, judgement)
    if judgement is not None:
        fitted = _with_errors(fitted, judgement, observations, ordered, neighbours, calibrate)
    elif calibrate and len(observations) < LEAST:
        fitted = replace(fitted, spread=Spread.of_few(observations.indices, n_features))
    if observations.limits is not None:
        fitted = _with_limits(fitted, observations.limits, cut, trained)
    return with_unseen_labels(fitted, observations, random) if calibrate else fitted


def _weighed(judgement: Judgement, n_optional: int) -> tuple[np.ndarray, Stack]:
    """Return which members stay, and how much each of these counts."""
    kept = np.ones(judgement.means.shape[1], dtype=bool)
    if n_optional and judgement.gain_of_last(n_optional) < 2 * WORTH:
        kept[len(kept) - n_optional :] = False
    stack = judgement.only(kept).stack()
    share = stack.weights(judgement.features).mean(axis=0)
    enough = share >= min(LEAST_WEIGHT, share.max())
    if enough.all():
        return kept, stack
    kept[kept] = enough
    return kept, judgement.only(kept).stack()


def _calibrated(fitted: FittedVAECP, judgement: Judgement) -> FittedVAECP:
    """Let held-out values say how latent numbers are stretched, where residuals mean nothing."""
    mean, ignorance = judgement.blended(fitted.stack)
    kept = np.linspace(0, len(mean) - 1, min(len(mean), MAX_FOR_CALIBRATION)).astype(int)
    found = judgement.likelihood.calibrated(
        judgement.values[kept], mean[kept], ignorance[kept], judgement.importance[kept]
    )
    return replace(fitted, likelihood=found)


def _with_errors(
    fitted: FittedVAECP,
    judgement: Judgement,
    observations: Observations,
    ordered: tuple[int, ...],
    neighbours: bool,
    calibrate: bool,
) -> FittedVAECP:
    mean, ignorance = judgement.blended(fitted.stack)
    errors = judgement.values - mean
    residuals = [
        _residuals(ensemble, fitted.stack, support, fold.train)
        for fold, ensemble, support in zip(
            judgement.folds, judgement.ensembles, judgement.supports, strict=True
        )
    ]
    numbered = len(observations) <= MAX_ENTRIES_FOR_NEIGHBOURS and keys_fit(observations.shape)
    if neighbours and ordered and numbered:
        correction, errors = _neighbours(
            judgement, residuals, errors, ordered, observations, fitted
        )
        fitted = replace(fitted, correction=correction)
    if not calibrate:
        return fitted
    row_noise = noise_of_rows(
        residuals[0], judgement.folds[0].train, int(judgement.ensembles[0].ranks.max())
    )
    fitted = replace(fitted, row_log_noise=row_noise)
    indices = np.concatenate([fold.held_out.indices for fold in judgement.folds])
    rows = sum(table[indices[:, mode]] for mode, table in enumerate(row_noise))
    weights = fitted.stack.weights(judgement.features)
    variances = np.exp(2 * rows) * np.sum(weights * judgement.noises, axis=1) + ignorance
    importance = np.concatenate([fold.importance for fold in judgement.folds])
    learned = learn_spread(errors, variances, judgement.features, importance, judgement.units)
    return replace(fitted, spread=learned)


def _neighbours(
    judgement: Judgement,
    residuals: Sequence[np.ndarray],
    errors: np.ndarray,
    ordered: tuple[int, ...],
    observations: Observations,
    fitted: FittedVAECP,
) -> tuple[Correction | None, np.ndarray]:
    """Learn what residuals of neighbours tell, if anything; return the errors that are left."""
    features = []
    for fold, residual in zip(judgement.folds, residuals, strict=True):
        near = Neighbourhood(fold.train.indices, residual, ordered, fold.train.shape)
        features.append(near.features(fold.held_out.indices))
    around = np.concatenate(features)
    learned = weights_of(around, errors, judgement.importance, judgement.units)
    if learned is None:
        return None, errors
    weights, errors = learned
    left = _residuals(fitted.ensemble, fitted.stack, fitted.support, observations)
    near = Neighbourhood(observations.indices, left.astype(np.float32), ordered, observations.shape)
    return Correction(near, weights), errors


def _residuals(
    ensemble: Ensemble, stack: Stack, support: Support, entries: Observations
) -> np.ndarray:
    """Of entries that the members learned from."""
    weights = stack.weights(support.features(entries.indices))
    return entries.values - np.sum(weights * ensemble.moments(entries.indices).mean, axis=1)


def _with_limits(
    fitted: FittedVAECP, limits: Limits, cut: Fold | None, trained: Sequence[Trained]
) -> FittedVAECP:
    """Keep the limits, and learn from values that were taken for limited how far beyond they lie."""
    support = fitted.support
    cells = LimitedCells.plain(limits, support.shape, len(support.names))
    if cut is None or cut.train.limits is None:
        return replace(fitted, limited=cells)
    bounds = range_of(cut.train, fitted.likelihood)
    seen = replace(
        fitted,
        ensemble=Ensemble.of([each.by_fold[-1] for each in trained], *bounds),
        support=support.among(cut.train.indices),
        correction=None,
    )
    moved = cut.train.limits  # those of the limits, then those of the values that were cut
    ends = np.concatenate([limits.ends, cut.held_out.values])
    excess = np.abs(ends - moved.ends)
    exact = np.arange(len(ends)) >= len(limits)
    kept = np.flatnonzero(moved.one_sided & (excess > 0))
    moved = moved.take(kept)
    mean, noise, ignorance = seen.blend(moved.indices)
    plain = Prediction(mean, np.sqrt(noise), np.sqrt(ignorance), fitted.spread.shape)
    features = seen.support.features(moved.indices)
    learned = cells.learned(plain, moved, excess[kept], exact[kept], features)
    return replace(fitted, limited=learned)


def with_unseen_labels(
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
        mean, noise, ignorance = fitted.blend(indices)
        missing = np.mean((sample.values - mean) ** 2 - noise)
        found = np.mean(ignorance)
        scale = np.sqrt(max(1.0, missing / max(found, 1e-12)))
        n_rows = min(len(np.unique(train.indices[:, mode])) for mode in modes)
        scales.append(scale * wider_for_few(n_rows))
    return replace(fitted, unseen_scale=np.array(scales))


def wider_for_few(n_rows: int) -> float:
    """By how much wider an interval for a new row is that was learned from few rows.

    That of 90 % for a further draw of a normal sample of unknown mean and variance; one or two rows, of
    which that would be endless or nearly so, count as three.
    """
    n = max(n_rows, 3)
    student = stats.t.ppf(0.95, n - 1) / stats.norm.ppf(0.95)
    return float(student * np.sqrt((n + 1) / (n - 1)))
