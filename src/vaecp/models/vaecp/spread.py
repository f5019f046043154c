"""How large errors are, learned from held-out entries as a function of support.

    log s^2 at a cell  =  log of the variance that the members expect  +  t_0  +  t . f

f being the features of support. Coefficients have Gaussian priors, so that few held-out entries
change little more than the overall scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from vaecp.data.error_shapes import GAUSSIAN_ERRORS, ScaleMixture, fitted_mixture
from vaecp.data.observations import Observations
from vaecp.data.sampling import parts_of
from vaecp.models.vaecp.standard_features import StandardFeatures

MAX_ENTRIES = 10_000
SLOPE_STDS = (0.0, 0.5)
"""Candidates for how much errors may depend on support; cross-validation over units chooses."""

N_PARTS = 4
ALIKE = 0.1
"""Correlation of the sizes of two errors of one unit: its hundred entries tell as much as nine."""

FAR = 4.0
"""Errors beyond so many standard deviations count as that many here: the shape of the errors
takes care of outliers."""

CHI_SQUARE_MEDIAN = 0.455
LEAST_TO_LEARN = 4
ROUNDS = 3
MAX_LOG = 12.0

NOISE_ROUNDS = 5
MAX_ENTRIES_FOR_NOISE = 200_000


@dataclass(frozen=True, eq=False)
class Spread:
    """Coefficients on standardised features of support, and the shape of the errors."""

    intercept: float
    slopes: np.ndarray  # (F,)
    standard: StandardFeatures
    shape: ScaleMixture = GAUSSIAN_ERRORS

    @classmethod
    def plain(cls, n_features: int) -> Spread:
        """Believe the members."""
        return cls(0.0, np.zeros(n_features), StandardFeatures.plain(n_features))

    @classmethod
    def of_few(cls, indices: np.ndarray, n_features: int) -> Spread:
        """Widen what members expect where too few entries are there to hold any out.

        Row effects alone take most of the degrees of freedom, as in an analysis of variance.
        """
        n_entries = len(indices)
        n_effects = 1 + sum(len(np.unique(rows)) - 1 for rows in indices.T)
        left = max(n_entries - n_effects, 1)
        errors, wider = GAUSSIAN_ERRORS.of_uncertain_scale(0.5 * np.sqrt(2 / left))
        plain = cls.plain(n_features)
        return cls(
            float(np.log(n_entries / left) + 2 * np.log(wider)),
            plain.slopes,
            plain.standard,
            errors,
        )

    def log_factor(self, features: np.ndarray) -> np.ndarray:
        """By how much, as a logarithm, variances differ from what the members expect."""
        if not self.slopes.any():
            return np.full(len(features), self.intercept)
        by_support = np.clip(self.standard(features) @ self.slopes, -MAX_LOG, MAX_LOG)
        return self.intercept + by_support


def learn_spread(
    errors: np.ndarray,
    variances: np.ndarray,
    features: np.ndarray,
    importance: np.ndarray,
    units: np.ndarray,
) -> Spread:
    """Learn from held-out errors and the variances that were expected of them.

    `units` says which entries were held out together: their errors are alike.
    """
    if len(errors) < LEAST_TO_LEARN:
        return Spread.plain(features.shape[1])
    if len(errors) > MAX_ENTRIES:
        kept = np.linspace(0, len(errors) - 1, MAX_ENTRIES).astype(int)
        errors, variances = errors[kept], variances[kept]
        features, importance, units = features[kept], importance[kept], units[kept]
    _, units, sizes = np.unique(units, return_inverse=True, return_counts=True)
    weights = importance / importance.mean()
    weights = weights * np.average(1 / (1 + ALIKE * (sizes[units] - 1)), weights=weights)
    standard = StandardFeatures.of(features)
    design = np.concatenate([np.ones((len(errors), 1)), standard(features)], axis=1)
    ratio = errors**2 / variances
    slope_std = _best_slope_std(ratio, design, weights, units)
    found = _robust_coefficients(ratio, design, weights, slope_std)
    spread = Spread(float(found[0]), found[1:], standard)
    left = errors / np.sqrt(variances * np.exp(spread.log_factor(features)))
    shape, size = fitted_mixture(left, weights)
    shape, wider = shape.of_uncertain_scale(0.5 * _doubt(left**2, weights, units))
    return Spread(float(found[0]) + 2 * np.log(size * wider), found[1:], standard, shape)


def _doubt(ratio: np.ndarray, weights: np.ndarray, units: np.ndarray) -> float:
    """Standard deviation of the logarithm of the mean ratio: units are few, and each differs."""
    ratio = np.minimum(ratio, FAR**2)
    totals, counts = np.bincount(units, weights * ratio), np.bincount(units, weights)
    away = totals - counts * totals.sum() / counts.sum()
    alone = 2 * np.sum(counts**2) / counts.sum() ** 2  # as if units had one error each
    return float(np.sqrt(max(np.sum(away**2) / max(totals.sum() ** 2, 1e-300), alone)))


def _best_slope_std(
    ratio: np.ndarray, design: np.ndarray, weights: np.ndarray, units: np.ndarray
) -> float:
    """Let errors depend on support only where units that were not learned from say so."""
    part, losses = parts_of(units, N_PARTS), np.empty((len(SLOPE_STDS), len(ratio)))
    for out in range(N_PARTS):
        inside, outside = part != out, part == out
        if not inside.any() or not outside.any():
            return 0.0
        for place, slope_std in enumerate(SLOPE_STDS):
            given = ratio[inside], design[inside], weights[inside]
            log_factor = np.clip(design @ _robust_coefficients(*given, slope_std), -40, 40)
            surprise = np.minimum(ratio * np.exp(-log_factor), FAR**2)
            losses[place, outside] = (weights * (log_factor + surprise))[outside]
    gain = np.bincount(units, losses[0] - losses[1])
    return SLOPE_STDS[int(gain.mean() > gain.std() / np.sqrt(len(gain)))]


def _robust_coefficients(
    ratio: np.ndarray, design: np.ndarray, weights: np.ndarray, slope_std: float
) -> np.ndarray:
    """Return the intercept and the slopes; large ratios count as the largest usual ones."""
    found = np.zeros(design.shape[1])
    used = slice(None) if slope_std else slice(1)
    prior = np.array([1e-2, *np.full(design.shape[1] - 1, max(slope_std, 1e-9) ** -2)])[used]
    usual = np.median(ratio) / CHI_SQUARE_MEDIAN
    found[0] = np.log(np.average(np.minimum(ratio, FAR**2 * usual), weights=weights) + 1e-300)
    for _ in range(ROUNDS):
        limit = FAR**2 * np.exp(np.clip(design @ found, -40, 40))
        capped = np.minimum(ratio, limit)
        found[used] = _coefficients(capped, design[:, used], weights, prior, found[used])
    return found


def _coefficients(
    ratio: np.ndarray,
    design: np.ndarray,
    weights: np.ndarray,
    prior: np.ndarray,
    start: np.ndarray,
) -> np.ndarray:
    """A gamma regression with logarithmic link, and a Gaussian prior on its slopes."""

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        log_factor = np.clip(design @ flat, -40, 40)
        surprise = ratio * np.exp(-log_factor)
        value = 0.5 * float(weights @ (log_factor + surprise)) + 0.5 * float(prior @ flat**2)
        return value, 0.5 * design.T @ (weights * (1 - surprise)) + prior * flat

    return optimize.minimize(loss, start, jac=True, method="L-BFGS-B").x


def noise_of_rows(
    residuals: np.ndarray, train: Observations, prior_entries: int
) -> tuple[np.ndarray, ...]:
    """Learn how much noisier the entries of each row are, as logarithms, per mode (rows + 1,).

    Residuals are ratios to what is usual; so many expected ones are added to every row.
    """
    if len(train) > MAX_ENTRIES_FOR_NOISE:
        kept = np.linspace(0, len(train) - 1, MAX_ENTRIES_FOR_NOISE).astype(int)
        residuals, train = residuals[kept], train.take(kept)
    size = np.abs(residuals)
    usual = max(float(size.mean()), 1e-300)
    prior = max(prior_entries, 8)
    tables = [np.zeros(n_rows + 1) for n_rows in train.shape]
    for _ in range(NOISE_ROUNDS):
        for mode, table in enumerate(tables):
            rows = train.indices[:, mode]
            others = sum(t[train.indices[:, m]] for m, t in enumerate(tables) if m != mode)
            found = np.bincount(rows, size * np.exp(-others) / usual, minlength=len(table))
            counts = np.bincount(rows, minlength=len(table))
            table[:] = np.log((found + prior) / (counts + prior))
    return tuple(tables)
