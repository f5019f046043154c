"""What a model says of entries: a value, how sure it is, and why it is not surer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Self

import numpy as np

from vaecp.data.checks import check_coverage
from vaecp.data.error_shapes import GAUSSIAN_ERRORS, ErrorShape
from vaecp.data.families import Family
from vaecp.data.standardising import Scaling
from vaecp.errors import ObservationError

KINDS = ("mean", "median", "mode", "probabilities")
N_NODES, MANY_NODES = 15, 61
LEAST_WEIGHT = 1e-12
"""Nodes of less weight are left out: of many, nearly half."""
MIDPOINTS = (np.arange(200) + 0.5) / 200


@dataclass(frozen=True, eq=False)
class Prediction:
    """The predictive distribution of each entry: `mean`, a spread, and a shape.

    Attributes
    ----------
    mean : the best guess of each value.
    noise_std : spread that would stay with endless data (measurement noise).
    ignorance_std : spread because the model is unsure of what it learned.
    shape : how errors are distributed relative to `std`, Gaussian unless told otherwise.
    """

    mean: np.ndarray
    noise_std: np.ndarray
    ignorance_std: np.ndarray
    shape: ErrorShape = GAUSSIAN_ERRORS

    @property
    def std(self) -> np.ndarray:
        """The total standard deviation."""
        return np.hypot(self.noise_std, self.ignorance_std)

    @property
    def classes(self) -> np.ndarray | None:
        """The values that there can be, where these are few."""
        return None

    @property
    def discrete(self) -> bool:
        """Whether single values have a probability: classes, counts."""
        return False

    @property
    def limited(self) -> np.ndarray:
        """Which values are known to lie within limits."""
        return np.zeros(len(self), dtype=bool)

    def __len__(self) -> int:
        return len(self.mean)

    def quantile(self, probability: float) -> np.ndarray:
        """Return where the distribution function of each entry reaches this probability."""
        return self.mean + self.std * self.shape.quantile(probability)

    def interval(self, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Return the central interval that holds a value with this probability."""
        check_coverage(coverage)
        return self.quantile((1 - coverage) / 2), self.quantile((1 + coverage) / 2)

    def cdf(self, values: np.ndarray) -> np.ndarray:
        """Return the probability that each entry is at most its value."""
        certain = self.std == 0
        unit = (values - self.mean) / np.where(certain, 1.0, self.std)
        return np.where(certain, (unit >= 0).astype(float), self.shape.cdf(unit))

    def log_density(self, values: np.ndarray) -> np.ndarray:
        """Return the log of the predictive density (or probability) at each observed value."""
        return self.shape.log_density((values - self.mean) / self.std) - np.log(self.std)

    def crps(self, values: np.ndarray) -> np.ndarray:
        """Return the continuous ranked probability score of each entry."""
        errors, scale = values - self.mean, np.asarray(self.std, dtype=np.float64)
        certain = scale == 0
        unit = self.shape.crps(errors / np.where(certain, 1.0, scale))
        return np.where(certain, np.abs(errors), scale * unit)

    def point(self, kind: str = "mean") -> np.ndarray:
        """Return the mean, the median or the mode; or probabilities, one column per class."""
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}: use {', '.join(map(repr, KINDS))}.")
        if kind == "mean":
            return self.mean
        if kind == "median":
            return self.quantile(0.5)
        if kind == "mode":
            return self._mode()
        return self.probabilities()

    def probabilities(self) -> np.ndarray:
        """Return the probability of every class, (n, classes), where values are classes."""
        raise ObservationError(
            "these values are no classes, so they have no probabilities: use quantiles, or a "
            "likelihood such as 'bernoulli' or 'ordinal'."
        )

    def columns(self, coverage: float) -> dict[str, np.ndarray]:
        """Return what results say of each entry, by the names of their columns."""
        low, high = self.interval(coverage)
        named = {"mean": self.mean, "std": self.std, "low": low, "high": high}
        return named | self.class_columns()

    def class_columns(self) -> dict[str, np.ndarray]:
        """Return the probabilities of classes by the name of their column: p_1, p_2; or nothing."""
        if self.classes is None:
            return {}
        names = [f"p_{value:g}" for value in self.classes]
        return dict(zip(names, self.probabilities().T, strict=True))

    def _mode(self) -> np.ndarray:
        return self.mean

    def sample(self, n: int, random: np.random.Generator) -> np.ndarray:
        """Draw n values of each entry, every entry on its own: an (n, entries) array."""
        return self.mean + self.std * self.shape.sample((n, len(self)), random)

    def in_units_of(self, scaling: Scaling, indices: np.ndarray) -> Prediction:
        """Undo the scaling of the values that the model was fitted to, at these coordinates."""
        return replace(
            self,
            mean=scaling.invert(self.mean, indices),
            noise_std=scaling.stretch(self.noise_std, indices),
            ignorance_std=scaling.stretch(self.ignorance_std, indices),
        )

    def take(self, rows: Any) -> Self:
        """Return the predictions of some entries."""
        return replace(self, **{name: array[rows] for name, array in self._arrays().items()})

    @classmethod
    def joined(cls, parts: Sequence[Prediction]) -> Any:
        """Join predictions of one model, one after the other."""
        first = parts[0]
        arrays = [part._arrays() for part in parts]
        return replace(
            first, **{name: np.concatenate([a[name] for a in arrays]) for name in arrays[0]}
        )

    def _arrays(self) -> dict[str, np.ndarray]:
        """Return the fields that have one item per entry."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}


@dataclass(frozen=True, eq=False)
class LatentPrediction(Prediction):
    """Values of a family whose parameter is uncertain: Normal(latent_mean, latent_std^2).

    Binary values, counts and classes are such; the mean and the spreads are those of the values.
    """

    latent_mean: np.ndarray = None  # type: ignore[assignment]
    latent_std: np.ndarray = None  # type: ignore[assignment]
    family: Family = None  # type: ignore[assignment]

    @classmethod
    def of(cls, mean: np.ndarray, std: np.ndarray, family: Family) -> LatentPrediction:
        """Average the family over what its parameter may be."""
        nodes, weights = _nodes()
        centre, square, noise = np.zeros((3, len(mean)))
        for node, weight in zip(nodes, weights, strict=True):
            located, spread = family.moments(mean + std * node)
            centre += weight * located
            square += weight * located**2
            noise += weight * spread
        ignorance = np.sqrt(np.maximum(square - centre**2, 0.0))
        return cls(centre, np.sqrt(noise), ignorance, GAUSSIAN_ERRORS, mean, std, family)

    @property
    def classes(self) -> np.ndarray | None:
        return self.family.classes

    @property
    def discrete(self) -> bool:
        return True

    def quantile(self, probability: float) -> np.ndarray:
        """The smallest value that is at least as probable as this to be reached."""
        return self.family.quantile(probability, self._cdf, self.mean, self.std)

    def cdf(self, values: np.ndarray) -> np.ndarray:
        return self._cdf(np.asarray(values), np.arange(len(self)))

    def _cdf(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Average over the latent parameter of some entries; a sharp family needs many nodes."""
        mean, std = self.latent_mean[rows], self.latent_std[rows]
        sharp = self.family.peak(self.mean[rows])[1] * std**2 >= 2
        found = np.zeros(len(rows))
        for n_nodes, here in ((N_NODES, ~sharp), (MANY_NODES, sharp)):
            if here.any():
                found[here] = sum(
                    weight * self.family.cdf(values[here], mean[here] + std[here] * node)
                    for node, weight in zip(*_nodes(n_nodes), strict=True)
                )
        return found

    def log_density(self, values: np.ndarray) -> np.ndarray:
        return log_prob_under(self.family, values, self.latent_mean, self.latent_std)

    def crps(self, values: np.ndarray) -> np.ndarray:
        """Of classes by definition; of counts by draws: E|x - y| - E|x - x'| / 2."""
        if self.classes is not None:
            below = self.probabilities().cumsum(axis=1)[:, :-1]
            reached = self.classes[:-1] >= np.asarray(values)[:, None]
            return (below - reached) ** 2 @ np.diff(self.classes)
        draws = self.sample(200, np.random.default_rng(0))
        ordered = np.sort(draws, axis=0)
        n = len(draws)
        weights = (2 * np.arange(1, n + 1) - n - 1)[:, None]
        between = 2 * np.sum(weights * ordered, axis=0) / (n * (n - 1))
        return np.abs(draws - values).mean(axis=0) - 0.5 * between

    def probabilities(self) -> np.ndarray:
        if self.classes is None:
            return super().probabilities()
        columns = [np.exp(self.log_density(np.full(len(self), c))) for c in self.classes]
        found = np.stack(columns, axis=1)
        return found / found.sum(axis=1, keepdims=True)

    def _mode(self) -> np.ndarray:
        if self.classes is not None:
            return self.classes[np.argmax(self.probabilities(), axis=1)]
        low, high = np.full(len(self), -1.0), np.ceil(self.mean)  # of counts: the mean bounds it
        while (high - low > 1).any():
            middle = np.floor((low + high) / 2)
            falls = self.log_density(middle + 1) <= self.log_density(middle)
            low, high = np.where(falls, low, middle), np.where(falls, middle, high)
        return high

    def sample(self, n: int, random: np.random.Generator) -> np.ndarray:
        latent = self.latent_mean + self.latent_std * random.standard_normal((n, len(self)))
        return self.family.sample(latent, random)

    def in_units_of(self, scaling: Scaling, indices: np.ndarray) -> Prediction:
        """Values of a family are in their own units."""
        return self


def log_prob_under(
    family: Family, values: np.ndarray, mean: np.ndarray, std: np.ndarray, n_nodes: int = N_NODES
) -> np.ndarray:
    """Return log-probabilities of values whose latent parameter is Normal(mean, std^2).

    Nodes lie where the product of this and of the peak of the family is (Liu and Pierce 1994).
    """
    if not np.any(std):
        return family.log_prob(values, mean)
    nodes, weights = _nodes(n_nodes)
    peak, precision = family.peak(values)
    narrowing = 1 / (1 + precision * std**2)
    centre = precision * narrowing * std * (peak - mean)
    units = centre + np.sqrt(narrowing) * nodes[:, None]
    terms = family.log_prob(values, mean + std * units)
    terms += 0.5 * (np.log(narrowing) + nodes[:, None] ** 2 - units**2)
    highest = terms.max(axis=0)
    shift = np.where(np.isfinite(highest), highest, 0.0)
    with np.errstate(divide="ignore"):  # an impossible value has the logarithm of 0
        return shift + np.log(weights @ np.exp(terms - shift))


def join(parts: Sequence[Prediction]) -> Any:
    """Join predictions of one model, whatever their type."""
    return type(parts[0]).joined(parts)


@cache
def _nodes(n_nodes: int = N_NODES) -> tuple[np.ndarray, np.ndarray]:
    """Where and how much to weigh a standard normal: Gauss and Hermite's nodes."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    heavy = weights > LEAST_WEIGHT * weights.sum()
    return nodes[heavy], weights[heavy] / weights[heavy].sum()
