"""How much each member counts at a cell, learned from held-out entries (hierarchical stacking).

    weight of member m at a cell with support f  =  softmax over m of (a_m + b_m . f)

Coefficients have Gaussian priors, so that a few held-out entries leave the weights nearly equal
and nearly the same everywhere (Yao, Pirs, Vehtari and Gelman 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from vaecp.data.sampling import parts_of
from vaecp.models.vaecp.likelihoods import GAUSSIAN, Likelihood
from vaecp.models.vaecp.standard_features import StandardFeatures

MAX_ENTRIES = 5_000
PRIOR_STD, PRIOR_STD_OF_LATENT = 1.5, 0.4
"""Of coefficients; a held-out yes, no or count says less about a mean than a real number does."""
SLOPE_STDS = (0.0, 0.3, 1.0)
"""Candidates for how much weights may depend on support; cross-validation chooses."""

N_FOLDS = 5
LEAST_FOR_SLOPES = 200
LIMITS = {"maxiter": 60, "ftol": 1e-6}


@dataclass(frozen=True, eq=False)
class Stack:
    """Coefficients of the weights, on standardised support features."""

    intercepts: np.ndarray  # (M,)
    slopes: np.ndarray  # (F, M)
    standard: StandardFeatures

    @classmethod
    def equal(cls, n_members: int, n_features: int) -> Stack:
        """Let all members count alike."""
        return cls(
            np.zeros(n_members),
            np.zeros((n_features, n_members)),
            StandardFeatures.plain(n_features),
        )

    def weights(self, features: np.ndarray) -> np.ndarray:
        """Return (n, M) weights, which sum to 1."""
        if not self.slopes.any():
            return np.repeat(special.softmax(self.intercepts)[None], len(features), axis=0)
        return special.softmax(self.intercepts + self.standard(features) @ self.slopes, axis=1)


def learn_stack(
    means: np.ndarray,
    values: np.ndarray,
    features: np.ndarray,
    importance: np.ndarray,
    units: np.ndarray,
    *,
    likelihood: Likelihood = GAUSSIAN,
    slopes: bool = True,
) -> Stack:
    """Find the weights whose blend of (n, M) means predicts held-out values best.

    `importance` says how much each held-out entry counts: kinds of gaps that are asked for count
    more, and entries that are hard for every member less. `units` says which entries were held out
    together, and `slopes` whether the weights may depend on support.
    """
    if len(values) > MAX_ENTRIES:
        kept = np.linspace(0, len(values) - 1, MAX_ENTRIES).astype(int)
        means, values, units = means[kept], values[kept], units[kept]
        features, importance = features[kept], importance[kept]
    n_members, n_features = means.shape[1], features.shape[1]
    if n_members == 1 or len(values) < 2:
        return Stack.equal(n_members, n_features)
    standard = StandardFeatures.of(features)
    unit = standard(features)
    given = (means, values, unit, importance, likelihood)
    slope_std = _best_slope_std(*given, units) if slopes else 0.0
    return Stack(*_coefficients(*given, slope_std), standard)


def _best_slope_std(
    means: np.ndarray,
    values: np.ndarray,
    unit: np.ndarray,
    importance: np.ndarray,
    likelihood: Likelihood,
    units: np.ndarray,
) -> float:
    if len(values) < LEAST_FOR_SLOPES:
        return 0.0
    fold = parts_of(units, N_FOLDS)
    losses = []
    for slope_std in SLOPE_STDS:
        loss = np.empty(len(values))
        for out in range(N_FOLDS):
            inside, outside = fold != out, fold == out
            found = _coefficients(
                means[inside],
                values[inside],
                unit[inside],
                importance[inside],
                likelihood,
                slope_std,
            )
            weights = special.softmax(found[0] + unit[outside] @ found[1], axis=1)
            blend = np.sum(weights * means[outside], axis=1)
            loss[outside] = importance[outside] * likelihood.losses(
                values[outside], blend, np.zeros_like(blend)
            )
        losses.append(loss)
    # A simpler answer stands unless the richer one is clearly better.
    best, unit = 0, np.unique(units, return_inverse=True)[1]
    for place in range(1, len(SLOPE_STDS)):
        gain = np.bincount(unit, losses[best] - losses[place])
        if gain.mean() > 2 * gain.std() / np.sqrt(len(gain)):
            best = place
    return SLOPE_STDS[best]


def _coefficients(
    means: np.ndarray,
    values: np.ndarray,
    unit: np.ndarray,
    importance: np.ndarray,
    likelihood: Likelihood,
    slope_std: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the weighted loss, with priors; squared errors in units of their smallest mean."""
    n_members, n_features = means.shape[1], unit.shape[1] if slope_std else 0
    total = np.sum(importance)
    scaled = importance / (total / len(values))
    if likelihood.has_residuals:
        best = float(np.min(importance @ (values[:, None] - means) ** 2) / total)
        scaled = scaled / max(best, 1e-30)
    prior_std = PRIOR_STD if likelihood.has_residuals else PRIOR_STD_OF_LATENT
    design = unit[:, :n_features]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        intercepts, slopes = flat[:n_members], flat[n_members:].reshape(n_features, n_members)
        weights = special.softmax(intercepts + design @ slopes, axis=1)
        blend = np.sum(weights * means, axis=1)
        if likelihood.has_residuals:
            pull = -scaled * (values - blend)
            value = 0.5 * float(scaled @ (values - blend) ** 2)
        else:
            pull = -scaled * likelihood.slope(values, blend)
            value = float(scaled @ likelihood.losses(values, blend, np.zeros_like(blend)))
        slope = pull[:, None] * weights * (means - blend[:, None])
        value += 0.5 * float(intercepts @ intercepts) / prior_std**2
        gradient = [slope.sum(axis=0) + intercepts / prior_std**2]
        if n_features:
            value += 0.5 * float(np.sum(slopes**2)) / slope_std**2
            gradient.append((design.T @ slope + slopes / slope_std**2).ravel())
        return value, np.concatenate(gradient)

    start = np.zeros(n_members * (1 + n_features))
    found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options=LIMITS).x
    slopes = np.zeros((unit.shape[1], n_members))
    if n_features:
        slopes[:] = found[n_members:].reshape(n_features, n_members)
    return found[:n_members], slopes
