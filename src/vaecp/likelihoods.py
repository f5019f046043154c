"""What an entry's distribution is, given the decoder's outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

LOG_2PI = 1.8378770664093453


class Likelihood(ABC):
    """The distribution of a value; a new one writes `log_prob`."""

    @abstractmethod
    def log_prob(self, outputs: tuple[Array, Array], values: Array) -> Array:
        """Return the log density of each value under the decoder's outputs."""


@dataclass(frozen=True)
class Gaussian(Likelihood):
    """Real values; the outputs are the mean and the log-variance."""

    def log_prob(self, outputs: tuple[Array, Array], values: Array) -> Array:
        mean, log_variance = outputs
        return -0.5 * (LOG_2PI + log_variance + (values - mean) ** 2 * jnp.exp(-log_variance))
