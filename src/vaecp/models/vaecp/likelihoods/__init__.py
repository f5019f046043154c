"""The kinds of values: one class each, and one list that names them."""

from vaecp.models.vaecp.likelihoods.base import Likelihood, Working
from vaecp.models.vaecp.likelihoods.counts import LargeCounts, NegativeBinomial, Poisson
from vaecp.models.vaecp.likelihoods.discrete import Bernoulli, Ordinal
from vaecp.models.vaecp.likelihoods.gaussian import (
    Gaussian,
    LogitNormal,
    LogNormal,
    NonNegative,
    StudentT,
)
from vaecp.models.vaecp.likelihoods.registry import find, kinds, register

GAUSSIAN = Gaussian()

__all__ = [
    "GAUSSIAN",
    "Bernoulli",
    "Gaussian",
    "LargeCounts",
    "Likelihood",
    "LogNormal",
    "LogitNormal",
    "NegativeBinomial",
    "NonNegative",
    "Ordinal",
    "Poisson",
    "StudentT",
    "Working",
    "find",
    "kinds",
    "register",
]
