"""Which likelihood suits the values: held-out ones say which of the plausible ones predicts best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.selecting import select
from vaecp.data.standardising import Scaling
from vaecp.data.units import LabelScaling, mode_of_units
from vaecp.errors import ObservationError
from vaecp.models.vaecp.effort import GLANCE
from vaecp.models.vaecp.fitting import Settings, fit
from vaecp.models.vaecp.likelihoods import Likelihood, find
from vaecp.models.vaecp.likelihoods.choice import plausible
from vaecp.models.vaecp.progress import OnProgress, part_of
from vaecp.models.vaecp.recipe import Recipe

REAL = "gaussian"
LEAST_TO_COMPARE, MOST_TO_COMPARE = 60, 20_000
FEWEST_ROWS = 20
"""Of a mode with fewer rows all are kept where entries are left out."""
MARGIN = 0.01
"""By how much a mean log-score must be better to displace the likelihood that is preferred."""
MOST_ERROR = 1.2
"""A likelihood is no choice where its RMSE is so many times the lowest: who fills gaps wants values."""


class Choice(NamedTuple):
    """A kind of values, and the mode whose labels have units of their own, if one has."""

    name: str
    mode: int | None = None

    @property
    def kind(self) -> type[Likelihood]:
        return find(self.name)

    def words(self, observations: Observations) -> str:
        """Name it."""
        if self.mode is None:
            return self.name
        return f"{self.name} in units of each {observations.mode_names[self.mode]}"

    def scaling(self, observations: Observations) -> Scaling:
        """Return how values are scaled before a fit."""
        if self.mode is not None:
            return LabelScaling.of(observations, self.mode)
        return self.kind.of(observations.values).scaling(observations.values)


class Chosen(NamedTuple):
    """What was chosen, why, and about which share of the whole fit's time that took."""

    choice: Choice
    why: str
    share: float = 0.0


class Score(NamedTuple):
    """What a choice makes of held-out values."""

    log_score: float
    rmse: float


def choose(
    observations: Observations,
    name: str,
    settings: Settings,
    on_progress: OnProgress | None = None,
) -> Chosen:
    """Take the likelihood of that name; of "auto", the plausible one that predicts best.

    Where labels may name different quantities, real numbers are also tried in the units of each.
    """
    choices, why = _possible(observations, name)
    if len(choices) == 1 or len(observations) < LEAST_TO_COMPARE:
        return Chosen(choices[0], why)
    random = np.random.default_rng(0)
    part = part_as_dense(observations, random)
    kept = random.permutation(len(part))[:MOST_TO_COMPARE]
    held_out, train = np.split(kept, [len(kept) // 6])
    cost = len(choices) * GLANCE.budget(len(train))
    share = cost / (cost + settings.effort.budget(len(observations)))
    watch = part_of(on_progress, 0.0, share)
    scores: dict[Choice, Score] = {}
    for each in choices:
        if watch is not None:
            watch(len(scores), len(choices), "% comparing kinds of values")
        scores[each] = _score(part.take(train), part.take(held_out), each, settings)
    told = ", ".join(
        f"{each.words(observations)} {score.log_score:.3f}" for each, score in scores.items()
    )
    best = best_of(scores)
    if best.mode is not None:
        why += f", those of each {observations.mode_names[best.mode]} in units of their own"
    return Chosen(best, f"{why}; mean log-score of held-out values: {told}", share)


def _possible(observations: Observations, name: str) -> tuple[list[Choice], str]:
    """Return what is compared, the preferred one first, and why."""
    if name != "auto":
        kind = find(name)
        if observations.limits is not None and not kind.takes_limits():
            raise ObservationError(
                f"likelihood is {name!r}, but {kind.words} cannot have limits such as <0.5: use "
                "'gaussian', or 'log-normal' for amounts; or leave the limits out."
            )
        names, why = (name,), "it was asked for"
    else:
        found = plausible(observations.values)
        names, why = found.names, found.why
        if observations.limits is not None:
            names = tuple(each for each in names if find(each).takes_limits()) or ("gaussian",)
    choices = [Choice(each) for each in names]
    mode = mode_of_units(observations) if REAL in names else None
    return choices + ([] if mode is None else [Choice(REAL, mode)]), why


def best_of(scores: Mapping[Choice, Score]) -> Choice:
    """Return the choice with the best log-score among those with small errors; the first is preferred."""
    preferred, lowest = next(iter(scores)), min(score.rmse for score in scores.values())
    near = {name: s.log_score for name, s in scores.items() if s.rmse <= MOST_ERROR * lowest}
    return max(near, key=lambda name: near[name] + MARGIN * (name == preferred))


def part_as_dense(observations: Observations, random: np.random.Generator) -> Observations:
    """Return about as many entries as are compared, in some rows of every long mode.

    A part of the rows is as dense as the whole. Scattered entries are not, and in an empty tensor every
    likelihood has large errors. Where rows have very different numbers of entries, more are taken.
    """
    share, long = MOST_TO_COMPARE / len(observations), _long_modes(observations.shape)
    while share < 1 and long:
        inside = np.ones(len(observations), dtype=bool)
        for mode in long:
            size = observations.shape[mode]
            n_kept = max(round(size * share ** (1 / len(long))), FEWEST_ROWS // 2)
            inside &= np.isin(observations.indices[:, mode], random.permutation(size)[:n_kept])
        if inside.sum() >= MOST_TO_COMPARE / 2:
            return _without_empty_rows(observations.take(inside))
        share *= 2
    return observations


def _without_empty_rows(part: Observations) -> Observations:
    if part.weights is not None or part.limits is not None:
        return part
    for mode in range(part.n_modes):
        part = select(part, mode, np.unique(part.indices[:, mode]))
    return part


def _long_modes(shape: tuple[int, ...]) -> list[int]:
    return [mode for mode, size in enumerate(shape) if size >= FEWEST_ROWS]


def _score(
    train: Observations, held_out: Observations, choice: Choice, settings: Settings
) -> Score:
    scaling = choice.scaling(train)
    quick = replace(
        settings,
        effort=GLANCE,
        recipe=Recipe(network=False),
        likelihood=choice.kind.of(train.values),
    )
    fitted = fit(train.scaled(scaling), quick, np.random.default_rng(0)).fitted
    prediction = fitted.predict(held_out.indices).in_units_of(scaling, held_out.indices)
    log_scores = np.maximum(prediction.log_density(held_out.values), -50.0)
    squares = (held_out.values - prediction.mean) ** 2
    found = Score(
        float(np.average(log_scores, weights=held_out.weights)),
        float(np.sqrt(np.average(squares, weights=held_out.weights))),
    )
    return found if np.isfinite(found).all() else Score(-np.inf, np.inf)
