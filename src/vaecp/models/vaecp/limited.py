"""How far values lie beyond their limits: learned from exact values that are taken for limited.

    log(value - limit)  ~  Normal(m + a_0 + a . f,  v + w + exp(2 (b_0 + b . f)))

m and v are mean and variance of the logarithm as the members see it, f the features of support, and
w is positive where a fibre has no exact entry at all, so that nothing tells the size of its values.
Members train once more on values that are cut further in than they are: of those between the two
limits the excess is known, and of those beyond the real limit, how large it is at least.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, special

from vaecp.data.cells import cell_keys, keys_fit
from vaecp.data.limited import LimitedPrediction
from vaecp.data.limits import Limits
from vaecp.data.prediction import Prediction
from vaecp.models.vaecp.likelihoods.tails import LOG_SQRT_2PI, tail_derivatives
from vaecp.models.vaecp.standard_features import StandardFeatures

MAX_ENTRIES = 4_000
EFFECTIVE_ENTRIES = 100.0
"""Errors beyond a limit are alike in neighbouring cells, so that many say little more than these."""

USUAL_LOG_STD = 0.3
"""Of the excess, where nothing could be learned."""
UNKNOWN_LOG_STD = float(np.log(2.0))
"""Of the excess in a fibre without an exact entry: a factor of two either way."""

STDS = ((0.2, 0.1), (1.0, 0.25))
"""Of the priors of a_0 and a; of b_0 and b."""

FARTHEST = 30.0
"""Means that lie further on the wrong side of a limit, in standard deviations, count as that far."""
MAX_LOG = 3.0


@dataclass(frozen=True, eq=False)
class LimitedCells:
    """Cells with limits, and how far values lie beyond them."""

    limits: Limits
    shape: tuple[int, ...]
    location: np.ndarray  # (F + 1,): a_0, a
    scale: np.ndarray  # (F + 1,): b_0, b
    standard: StandardFeatures

    @classmethod
    def plain(cls, limits: Limits, shape: tuple[int, ...], n_features: int) -> LimitedCells:
        """Say what is usual."""
        scale = np.zeros(n_features + 1)
        scale[0] = np.log(USUAL_LOG_STD)
        plain = StandardFeatures.plain(n_features)
        return cls(limits, shape, np.zeros(n_features + 1), scale, plain)

    def validate(self, shape: tuple[int, ...], features: tuple[str, ...]) -> None:
        """Raise a ValueError if the limits are not those of a tensor of this shape."""
        if self.shape != shape:
            raise ValueError(f"limited.shape is {self.shape}, and not {shape}")
        self.limits.check(shape)
        if not len(self.location) == len(self.scale) == len(features) + 1:
            raise ValueError(f"limited.location and scale are not one for each of {features}")

    def learned(
        self,
        prediction: Prediction,
        limits: Limits,
        excess: np.ndarray,
        exact: np.ndarray,
        features: np.ndarray,
    ) -> LimitedCells:
        """Learn from the excess of values, which is larger than given where not `exact`."""
        if len(excess) > MAX_ENTRIES:
            kept = np.linspace(0, len(excess) - 1, MAX_ENTRIES).astype(int)
            prediction, limits, features = prediction.take(kept), limits.take(kept), features[kept]
            excess, exact = excess[kept], exact[kept]
        standard = StandardFeatures.of(features)
        mean, variance = log_excess(prediction, limits)
        variance = variance + self._unknown(features)
        design = np.concatenate([np.ones((len(excess), 1)), standard(features)], axis=1)
        target = np.log(np.maximum(excess, 1e-300)) - mean
        found = _regression(design, target, variance, exact)
        location, scale = np.split(found, 2)
        return replace(self, location=location, scale=scale, standard=standard)

    def predict(
        self, plain: Prediction, indices: np.ndarray, features: np.ndarray
    ) -> LimitedPrediction:
        """Return the prediction of entries, those with limits within them."""
        lower, upper = np.full(len(plain), -np.inf), np.full(len(plain), np.inf)
        logarithm, spread = np.full(len(plain), np.nan), np.full(len(plain), np.nan)
        row, place = self._found(indices)
        limits = self.limits.take(place)
        lower[row], upper[row] = limits.lower, limits.upper
        plain = _between(plain, lower, upper)
        one = np.isinf(limits.lower) | np.isinf(limits.upper)
        row, limits = row[one], limits.take(one)
        mean, variance = log_excess(plain.take(row), limits)
        variance = variance + self._unknown(features[row])
        unit = self.standard(features[row])
        logarithm[row] = mean + self.location[0] + unit @ self.location[1:]
        own = np.clip(self.scale[0] + unit @ self.scale[1:], -2 * MAX_LOG, MAX_LOG)
        spread[row] = np.sqrt(variance + np.exp(2 * own))
        return LimitedPrediction.of(plain, lower, upper, logarithm, spread)

    def moved(
        self, move: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]
    ) -> LimitedCells:
        """Return the same in a tensor with further rows."""
        return replace(
            self, limits=replace(self.limits, indices=move(self.limits.indices)), shape=shape
        )

    def _unknown(self, features: np.ndarray) -> np.ndarray:
        """Return the variance of the logarithm because of fibres without an exact entry."""
        fibres = features[:, len(self.shape) : 2 * len(self.shape)]
        return np.where((fibres <= 0).any(axis=1), UNKNOWN_LOG_STD**2, 0.0)

    def _found(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the entries have limits, and the places of these."""
        if not keys_fit(self.shape):
            place = {tuple(cell): at for at, cell in enumerate(self.limits.indices.tolist())}
            found = np.array([place.get(tuple(cell), -1) for cell in indices.tolist()], dtype=int)
            return np.flatnonzero(found >= 0), found[found >= 0]
        known = cell_keys(self.limits.indices, self.shape)
        order = np.argsort(known, kind="stable")
        keys = np.where((indices >= 0).all(axis=1), cell_keys(indices, self.shape), -1)
        place = order[np.minimum(np.searchsorted(known[order], keys), len(known) - 1)]
        row = np.flatnonzero(known[place] == keys)
        return row, place[row]


def log_excess(prediction: Prediction, limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of log|value - limit|, the value being normal beyond its limit.

    As those of a log-normal variable with the same mean and variance.
    """
    above = np.isfinite(limits.lower)
    limit = np.where(above, limits.lower, limits.upper)
    std = np.maximum(prediction.std, 1e-300)
    apart = np.where(above, 1.0, -1.0) * (limit - prediction.mean) / std
    apart = np.minimum(apart, FARTHEST)
    slope, bend = tail_derivatives(apart, np.full(len(apart), np.inf))
    mean, share = np.maximum(slope - apart, 1e-3), 1 - bend
    spread = np.log1p(share / mean**2)
    return np.log(std * mean) - 0.5 * spread, spread


def _between(plain: Prediction, lower: np.ndarray, upper: np.ndarray) -> Prediction:
    """Return predictions of which those with two limits have the moments within them."""
    two = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper))
    if not len(two):
        return plain
    std = np.maximum(plain.std[two], 1e-300)
    ends = (np.clip((end[two] - plain.mean[two]) / std, -1e6, 1e6) for end in (lower, upper))
    slope, bend = tail_derivatives(*ends)
    mean, noise, ignorance = (
        np.array(part) for part in (plain.mean, plain.noise_std, plain.ignorance_std)
    )
    mean[two] = np.clip(plain.mean[two] + std * slope, lower[two], upper[two])
    share = np.sqrt(np.maximum(1 - bend, 1e-12))
    noise[two], ignorance[two] = noise[two] * share, ignorance[two] * share
    return replace(plain, mean=mean, noise_std=noise, ignorance_std=ignorance)


def _regression(
    design: np.ndarray, target: np.ndarray, variance: np.ndarray, exact: np.ndarray
) -> np.ndarray:
    """Fit location and scale by maximum likelihood with Gaussian priors (a survival regression)."""
    n_columns = design.shape[1]
    usual = np.concatenate([np.zeros(n_columns), [np.log(USUAL_LOG_STD)], np.zeros(n_columns - 1)])
    precision = np.concatenate(
        [[first**-2, *np.full(n_columns - 1, slope**-2)] for first, slope in STDS]
    )
    share = min(1.0, EFFECTIVE_ENTRIES / len(target))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        location, scale = np.split(flat, 2)
        own = np.exp(2 * np.clip(design @ scale, -2 * MAX_LOG, MAX_LOG))
        std = np.sqrt(variance + own)
        unit = (target - design @ location) / std
        hazard = np.exp(-0.5 * unit**2 - LOG_SQRT_2PI - special.log_ndtr(-unit))
        logs = np.where(exact, -0.5 * unit**2 - LOG_SQRT_2PI - np.log(std), special.log_ndtr(-unit))
        pull = np.where(exact, unit, hazard)  # minus the slope of the log-likelihood in the unit
        by_std = np.where(exact, unit**2 - 1, hazard * unit) / std
        away = flat - usual
        slopes = np.concatenate([design.T @ (pull / std), design.T @ (by_std * own / std)])
        value = -share * float(logs.sum()) + 0.5 * float(precision @ away**2)
        return value, precision * away - share * slopes

    return optimize.minimize(loss, usual, jac=True, method="L-BFGS-B").x
