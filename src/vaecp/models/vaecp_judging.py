"""What entries held out of training say about a fit: weights of members, neighbours, spread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import optimize

from vaecp import predictive
from vaecp.error_shapes import fitted_mixture
from vaecp.labels import UNSEEN
from vaecp.models.vaecp_fitted import FittedVAECP
from vaecp.neighbours import Neighbourhood, weights_of
from vaecp.observations import Observations

MIN_ENTRIES_TO_CALIBRATE = 30
PULLS = np.geomspace(1e-3, 10, 9)
N_FOLDS = 5
N_CELLS = 20_000
REACH = 3.0
NOISE_ROUNDS = 5
MAX_ENTRIES_FOR_NOISE = 200_000


def blended(fitted: FittedVAECP, held_out: Observations) -> FittedVAECP:
    """Weigh the members by how well their weighted mean predicts the held-out entries.

    Non-negative least squares, with a pull towards equal weights whose strength is found by
    cross-validation: members that are far off lose their say, members that are alike share it.
    A member that runs wild somewhere in the tensor has no say, however well it does elsewhere.
    """
    ensemble, layout, indices = fitted._at(held_out.indices)
    means = predictive.member_means(ensemble.parameters, layout, indices).astype(np.float64)
    tame = _tame(fitted, held_out)
    weights = np.zeros(len(tame))
    weights[tame] = _best_blend(means[:, tame], held_out.values)
    return replace(fitted, member_weights=weights.astype(np.float32))


def _tame(fitted: FittedVAECP, held_out: Observations) -> np.ndarray:
    """Which members stay within reach of the values all over the tensor; all, if none does."""
    random = np.random.default_rng(fitted.seed)
    cells = np.stack([random.integers(n, size=N_CELLS) for n in held_out.shape], axis=1)
    ensemble, layout, indices = fitted._at(cells.astype(np.int32))
    reached = np.abs(predictive.member_means(ensemble.parameters, layout, indices)).max(axis=0)
    tame = reached <= REACH * np.abs(held_out.values).max()
    return tame if tame.any() else np.ones_like(tame)


def _best_blend(means: np.ndarray, values: np.ndarray) -> np.ndarray:
    fold = np.arange(len(values)) % N_FOLDS

    def error(pull: float) -> float:
        total = 0.0
        for out in range(N_FOLDS):
            weights = _blend(means[fold != out], values[fold != out], pull)
            total += np.sum((values[fold == out] - means[fold == out] @ weights) ** 2)
        return total

    pull = PULLS[-1] if len(values) < 10 * N_FOLDS else min(PULLS, key=error)
    return _blend(means, values, pull)


def _blend(means: np.ndarray, values: np.ndarray, pull: float) -> np.ndarray:
    n_entries, n_members = means.shape
    spread = np.sqrt(np.mean((values[:, None] - means) ** 2) * n_entries)
    pulled = spread * np.sqrt(pull)
    one = np.full((1, n_members), 1e3 * spread)  # weights sum to 1
    design = np.concatenate([means, pulled * np.eye(n_members), one])
    target = np.concatenate([values, np.full(n_members, pulled / n_members), one[0, :1]])
    weights, _ = optimize.nnls(design, target)
    return weights / weights.sum()


def with_neighbours(
    fitted: FittedVAECP, train: Observations, held_out: Observations, ordered: tuple[bool, ...]
) -> FittedVAECP:
    """Learn from the held-out entries what the errors of neighbours tell, if anything."""
    modes = np.flatnonzero(ordered)
    if not len(modes):
        return fitted
    near = _errors_at(fitted, train, held_out, modes)
    own = near["errors"][len(train) :]
    features, support = _neighbourhood(near, train.shape).features(held_out.indices)
    weights = weights_of(features, own)
    if weights is None:
        return fitted
    return replace(
        fitted,
        near=near
        | {"weights": weights, "support": np.array(support.mean()), "std_scale": np.array(1.0)},
    )


def renewed(
    fitted: FittedVAECP, judged: FittedVAECP, train: Observations, held_out: Observations
) -> FittedVAECP:
    """Carry over to a fit that has learned from all entries what was said of the one before.

    Standard deviations stay what they were on the whole: the held-out entries have been learned
    from now, and cannot say by how much they have become smaller.
    """
    without, before = replace(fitted, near={}), replace(judged, near={})
    stds = [one.predict(held_out.indices).std.mean() for one in (before, without)]
    kept = float(stds[0] / stds[1])
    fitted = replace(fitted, std_scale=kept * fitted.std_scale)
    if not fitted.near:
        return fitted
    near = fitted.near | {"std_scale": kept * fitted.near["std_scale"]}
    fitted = replace(fitted, near=near)
    return replace(
        fitted, near=fitted.near | _errors_at(without, train, held_out, fitted.near["modes"])
    )


def _errors_at(
    fitted: FittedVAECP, train: Observations, held_out: Observations, modes: np.ndarray
) -> dict[str, np.ndarray]:
    indices = np.concatenate([train.indices, held_out.indices])
    values = np.concatenate([train.values, held_out.values])
    errors = (values - fitted.predict_mean(indices)).astype(np.float32)
    return {"indices": indices, "errors": errors, "modes": np.asarray(modes)}


def _neighbourhood(near: dict[str, np.ndarray], shape: tuple[int, ...]) -> Neighbourhood:
    return Neighbourhood(near["indices"], near["errors"], tuple(near["modes"].tolist()), shape)


def with_noise_of_rows(fitted: FittedVAECP, train: Observations) -> FittedVAECP:
    """Learn how much noisier than the network says the entries of each row are.

    Training errors are a product of one factor per mode, found in turns. A row's own fit makes
    its errors smaller, by about as many entries as the rank: so many expected ones are added.
    """
    sample = train
    if len(train) > MAX_ENTRIES_FOR_NOISE:
        sample = train.take(
            np.random.default_rng(fitted.seed).choice(
                len(train), MAX_ENTRIES_FOR_NOISE, replace=False
            )
        )
    prediction = fitted.predict(sample.indices)
    ratio = np.abs(sample.values - prediction.mean) / prediction.noise_std
    usual = np.mean(ratio)
    prior = fitted.row_mean[0].shape[-1]
    tables = [np.zeros(n_rows + 1) for n_rows in train.shape]
    for _ in range(NOISE_ROUNDS):
        for mode, table in enumerate(tables):
            rows = sample.indices[:, mode]
            others = sum(t[sample.indices[:, m]] for m, t in enumerate(tables) if m != mode)
            errors = np.bincount(rows, ratio * np.exp(-others) / usual, minlength=len(table))
            counts = np.bincount(rows, minlength=len(table))
            table[:] = np.log((errors + prior) / (counts + prior))
    return replace(fitted, row_log_noise=tuple(tables))


def calibrated(fitted: FittedVAECP, held_out: Observations) -> FittedVAECP:
    """Find the size and the shape of errors by entries that training did not see.

    Relative to the spread that the fit expects, errors are a mixture of Gaussians: intervals of
    every coverage then hold about as many of those entries as they should.
    """
    if len(held_out) < MIN_ENTRIES_TO_CALIBRATE:  # too few would do more harm than good
        return fitted
    prediction = replace(fitted, near={}).predict(held_out.indices)
    alone = held_out.values - prediction.mean
    errors = alone
    if fitted.near:
        features, _ = fitted._neighbourhood.features(held_out.indices)
        errors = alone - features @ fitted.near["weights"]
    shape, scale = fitted_mixture(errors / prediction.std)
    # Without neighbours the spread is larger by as much as they take away from it.
    without = scale * np.sqrt(np.mean(alone**2) / np.mean(errors**2)) if fitted.near else scale
    near = fitted.near | {"std_scale": np.array(scale)} if fitted.near else {}
    return replace(
        fitted,
        std_scale=float(without),
        error_weights=np.array(shape.weights),
        error_scales=np.array(shape.scales),
        near=near,
    )


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
