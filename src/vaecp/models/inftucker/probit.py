"""Yes or no by InfTucker: whether a Gaussian number behind each value exceeds 0 (probit).

    z ~ Normal(latent tensor, 1),        value = 1 where z > 0, else 0

Given the latent tensor, z is a truncated Gaussian; given the mean of z, the tensor is that of
Gaussian values with unit noise. The two are updated in turn (Xu, Yan and Qi 2012, section 4).
"""

from __future__ import annotations

import numpy as np
from scipy import special

N_ROUNDS = 6
LEAST = 30
LOG_SQRT_2PI = 0.5 * float(np.log(2 * np.pi))


def are_binary(values: np.ndarray) -> bool:
    """Whether values are 0 or 1, both of them, and enough to tell."""
    return len(values) >= LEAST and np.array_equal(np.unique(values), [0.0, 1.0])


def mean_behind(values: np.ndarray, latent: np.ndarray) -> np.ndarray:
    """Return E[z]: a Gaussian of this mean and unit variance, on the side that the value says.

    Examples
    --------
    >>> mean_behind(np.array([1.0, 0.0]), np.zeros(2)).round(3)
    array([ 0.798, -0.798])
    """
    log_density = -0.5 * latent**2 - LOG_SQRT_2PI
    above, below = (np.exp(log_density - special.log_ndtr(sign * latent)) for sign in (1, -1))
    return latent + values * above - (1 - values) * below  # repeated cells are shares of yes
