"""Starting points near masked CP: a few sweeps of least squares find what is multilinear."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vaecp.alternating import descend, least_squares_sweep, on_device, random_start
from vaecp.layout import Layout
from vaecp.multilinear import float64, lay_out
from vaecp.observations import Observations
from vaecp.smoothing import Smoothers, latent_of

SWEEPS = 30
RIDGE = 0.03
"""Penalty on the squared rows: large enough that a rank beyond what the data support does not
run away, small enough not to matter where they do support it."""

TINY = 1e-6


class Start(NamedTuple):
    """Where a member begins: one table of all rows, the prior of each mode, the noise."""

    row_mean: np.ndarray  # (rows, rank)
    row_log_variance: np.ndarray
    prior_log_variance: np.ndarray  # (modes, rank)
    smoothness: np.ndarray  # (modes, rank)
    log_noise: float


def cp_starts(
    observations: Observations,
    rank: int,
    n_starts: int,
    layout: Layout,
    smoothers: Smoothers,
    random: np.random.Generator,
) -> list[Start]:
    """Fit masked CP roughly, from a random start each."""
    found = []
    with float64():
        entries = lay_out(observations, rank)
        for _ in range(n_starts):
            descent = descend(
                lambda factors: least_squares_sweep(entries, factors, RIDGE),
                on_device(random_start(observations.shape, rank, random)),
                max_iter=SWEEPS,
                tol=1e-4,
            )
            factors = [
                np.asarray(factor)[:size]
                for factor, size in zip(descent.factors, observations.shape, strict=True)
            ]
            noise = max(descent.history[-1] / len(observations), TINY**2)
            found.append(_start(observations, _balanced(factors), noise, layout, smoothers))
    return found


def _balanced(factors: list[np.ndarray]) -> list[np.ndarray]:
    """Give the columns of a component the same size in every mode."""
    sizes = np.stack([np.sqrt(np.mean(factor**2, axis=0)) + TINY for factor in factors])
    common = np.exp(np.log(sizes).mean(axis=0))
    return [factor * common / size for factor, size in zip(factors, sizes, strict=True)]


def _start(
    observations: Observations,
    factors: list[np.ndarray],
    noise: float,
    layout: Layout,
    smoothers: Smoothers,
) -> Start:
    """Take the variance of a number from its own normal equation, the others being known."""
    sizes = np.stack([np.mean(factor**2, axis=0) + TINY for factor in factors])
    modes = []
    for mode, (factor, size) in enumerate(zip(factors, sizes, strict=True)):
        counts = np.bincount(observations.indices[:, mode], minlength=observations.shape[mode])
        signal = np.prod(np.delete(sizes, mode, axis=0), axis=0)
        precision = counts[:, None] * signal / noise
        smoother = smoothers[mode] if smoothers else None
        if smoother is None:
            modes.append((factor, -np.log(1 / size + precision), np.log(size), np.zeros_like(size)))
        else:
            modes.append(latent_of(smoother, factor, precision.mean(axis=0)))
    mean, log_variance, prior_log_variance, smoothness = zip(*modes, strict=True)
    return Start(
        layout.stack(mean).astype(np.float32),
        layout.stack(log_variance).astype(np.float32),
        np.stack(prior_log_variance).astype(np.float32),
        np.stack(smoothness).astype(np.float32),
        float(np.log(noise)),
    )
