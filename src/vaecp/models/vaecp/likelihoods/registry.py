"""Likelihoods by name; a new one is one class and one registration."""

from __future__ import annotations

from vaecp.models.vaecp.likelihoods.base import Likelihood
from vaecp.models.vaecp.likelihoods.counts import LargeCounts, NegativeBinomial, Poisson
from vaecp.models.vaecp.likelihoods.discrete import Bernoulli, Ordinal
from vaecp.models.vaecp.likelihoods.gaussian import (
    Gaussian,
    LogitNormal,
    LogNormal,
    NonNegative,
    StudentT,
)

_KINDS: dict[str, type[Likelihood]] = {}


def register(kind: type[Likelihood]) -> type[Likelihood]:
    """Add a likelihood under its name and aliases."""
    _KINDS[kind.name] = kind
    return kind


def kinds() -> dict[str, type[Likelihood]]:
    """Return all likelihoods by name."""
    return dict(_KINDS)


def find(name: str) -> type[Likelihood]:
    """Return a likelihood by its name or an alias.

    Examples
    --------
    >>> find("counts").name
    'negative-binomial'
    """
    wanted = str(name).strip().lower().replace("_", "-")
    for kind in _KINDS.values():
        if wanted in (kind.name, *kind.aliases):
            return kind
    raise ValueError(f"likelihood is {name!r}: use 'auto', {', '.join(map(repr, _KINDS))}.")


for _kind in (
    Gaussian,
    StudentT,
    Bernoulli,
    Poisson,
    NegativeBinomial,
    LargeCounts,
    Ordinal,
    LogNormal,
    LogitNormal,
    NonNegative,
):
    register(_kind)
