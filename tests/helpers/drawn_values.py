"""Tensors whose values are drawn from each likelihood, given latent numbers of rank 2."""

from __future__ import annotations

import numpy as np
from scipy import special

import vaecp

SHAPE = (14, 12, 10)
NAMES = (
    "gaussian",
    "student-t",
    "bernoulli",
    "poisson",
    "negative-binomial",
    "large-counts",
    "ordinal",
    "log-normal",
    "logit-normal",
    "non-negative",
)
SUPPORT = {
    "bernoulli": (0, 1, True),
    "poisson": (0, np.inf, True),
    "negative-binomial": (0, np.inf, True),
    "large-counts": (0, np.inf, True),
    "ordinal": (1, 5, True),
    "log-normal": (0, np.inf, False),
    "logit-normal": (0, 1, False),
    "non-negative": (0, np.inf, False),
}
"""The lowest and the highest value, and whether they are whole numbers."""


def small_vaecp(**settings):
    """Return a model that fits in a moment."""
    return vaecp.VAECP(
        **{"effort": "quick", "recipe": vaecp.Recipe(network=False), "random_state": 0, **settings}
    )


def drawn_values(name: str, seed: int = 0) -> np.ndarray:
    """Return a full array."""
    random = np.random.default_rng(seed)
    latent = np.einsum("ir,jr,kr->ijk", *(random.normal(size=(n, 2)) for n in SHAPE))
    rate = np.exp(1 + 0.5 * latent)
    match name:
        case "gaussian":
            return latent + 0.3 * random.normal(size=SHAPE)
        case "student-t":
            return latent + 0.3 * random.standard_t(4, size=SHAPE)
        case "bernoulli":
            return (random.random(SHAPE) < special.expit(2 * latent)).astype(float)
        case "poisson":
            return random.poisson(rate).astype(float)
        case "negative-binomial":
            return random.poisson(random.gamma(2.0, rate / 2)).astype(float)
        case "large-counts":
            return np.round(np.maximum(20 + 2 * latent + 0.6 * random.normal(size=SHAPE), 0.7) ** 2)
        case "ordinal":
            noisy = 2 * latent + random.logistic(size=SHAPE)
            return 1.0 + np.searchsorted([-2.0, -0.7, 0.7, 2.0], noisy)
        case "log-normal":
            return np.exp(3 + latent + 0.3 * random.normal(size=SHAPE))
        case "logit-normal":
            return special.expit(latent + 0.3 * random.normal(size=SHAPE))
    return np.maximum(1 + latent + 0.2 * random.normal(size=SHAPE), 0)


def hidden_part() -> np.ndarray:
    """Return which cells are held out."""
    return np.random.default_rng(1).random(SHAPE) < 0.3
