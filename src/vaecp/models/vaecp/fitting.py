"""From scaled observations to a fitted model: plan, train, judge; pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.order import ordered_modes
from vaecp.data.support import Support
from vaecp.errors import ObservationError
from vaecp.models.checks import check_at_least
from vaecp.models.fitted import Diagnostics, FitResult
from vaecp.models.vaecp.effort import EFFORTS, Effort, effort_of
from vaecp.models.vaecp.fitted import FittedVAECP
from vaecp.models.vaecp.holdouts import Fold, cut_further, folds_for
from vaecp.models.vaecp.judgement import Judgement, Trained
from vaecp.models.vaecp.judging import judged
from vaecp.models.vaecp.likelihoods import GAUSSIAN, Likelihood
from vaecp.models.vaecp.members import member_of
from vaecp.models.vaecp.portfolio import average_gain, choose_members
from vaecp.models.vaecp.progress import (
    JUDGED,
    SEARCHING,
    SEARCHING_ALONE,
    TRAINED,
    OnProgress,
    Progress,
)
from vaecp.models.vaecp.recipe import Recipe
from vaecp.models.vaecp.sweeps.chains import Chain
from vaecp.models.vaecp.trial import chains_through, order_of
from vaecp.models.vaecp.workshop import WORTH, Candidate, Workshop

LEAST_FOR_NETWORK, MOST_FOR_NETWORK = 2_000, 2_000_000
ROOM = 0.05
"""Where averaging lowers the squared error by this share, members with a network may lower it further."""


@dataclass(frozen=True)
class Settings:
    """What a fit is asked to do."""

    rank: int | None
    hidden: int | None
    effort: Effort
    n_members: int | None
    max_epochs: int | None
    smooth: bool
    neighbours: bool
    recipe: Recipe
    likelihood: Likelihood = GAUSSIAN
    devices: Any = None

    @classmethod
    def of(cls, model: Any) -> Settings:
        """Return what an estimator's parameters ask for, or say which of them makes no sense."""
        for name in ("rank", "hidden", "n_members", "max_epochs"):
            if getattr(model, name) is not None:
                check_at_least(name, getattr(model, name), 1)
        recipe = model.recipe if model.recipe is not None else Recipe()
        if not isinstance(recipe, Recipe):
            raise ValueError(f"recipe is {recipe!r}: use a vaecp.Recipe, or None for the default.")
        recipe.check()
        return cls(
            model.rank,
            model.hidden,
            effort_of(model.effort),
            model.n_members,
            model.max_epochs,
            model.smooth,
            model.neighbours,
            recipe,
            devices=model.devices,
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """All that is decided before training."""

    observations: Observations
    folds: tuple[Fold, ...]
    cut: Fold | None  # exact values that are taken for limited, where others have limits
    ordered: tuple[bool, ...]
    chains: tuple[Chain | None, ...]
    seed: int

    @property
    def ordered_modes(self) -> tuple[int, ...]:
        """Their numbers."""
        return tuple(int(mode) for mode in np.flatnonzero(self.ordered))

    @property
    def all_folds(self) -> tuple[Fold, ...]:
        """All that members train on; the cut one is the last."""
        return self.folds if self.cut is None else (*self.folds, self.cut)


def plan(observations: Observations, settings: Settings, random: np.random.Generator) -> Plan:
    """Find the modes that have an order, and hold entries out."""
    seed = int(random.integers(2**31))
    ordered = _ordered(observations, settings, seed)
    draw = np.random.default_rng(seed)
    folds = folds_for(observations, ordered, draw) if settings.recipe.held_out else ()
    chains = chains_through(observations, ordered if settings.smooth else ())
    cut = cut_further(observations) if folds else None
    return Plan(observations, folds, cut, ordered, chains, seed)


def _ordered(observations: Observations, settings: Settings, seed: int) -> tuple[bool, ...]:
    """Say of every mode whether its order counts; a trial is one of smooth rows and held-out entries."""
    if not (settings.smooth or settings.neighbours):
        return (False,) * observations.n_modes
    if settings.smooth and settings.recipe.sweeps and settings.recipe.held_out:
        return order_of(observations, settings.likelihood, seed)
    return ordered_modes(observations)


@dataclass(frozen=True, eq=False)
class Training:
    """Members that were trained, and how; the last `n_optional` join only where that helps."""

    trained: list[Trained]
    history: dict[str, np.ndarray]
    likelihood: Likelihood  # as the first member has learned it
    chosen: list[Candidate]
    average_gain: float  # of the squared error, as a logarithm, by averaging members
    n_optional: int = 0


def fit(
    observations: Observations,
    settings: Settings,
    random: np.random.Generator,
    on_progress: OnProgress | None = None,
) -> FitResult:
    """Train members of several kinds, and let held-out entries judge them."""
    if settings.recipe.network and not _suits_network(observations):
        raise ObservationError(
            "recipe trains members with a network, which use neither limits such as <0.5 nor weights "
            "of entries, as of absent ones: leave the recipe out, or the limits."
        )
    progress = Progress(on_progress, settings.effort, len(observations))
    progress.at(0.0, "preparing; a first fit on a machine compiles")
    planned = plan(observations, settings, random)
    training = train(planned, settings, progress)
    progress.at(TRAINED, "calibrating")
    fitted = judged(
        observations,
        planned.folds,
        training.trained,
        planned.ordered_modes,
        tuple(mode for mode, chain in enumerate(planned.chains) if chain is not None),
        training.likelihood,
        neighbours=settings.neighbours,
        calibrate=settings.recipe.calibrate,
        random=random,
        cut=planned.cut,
        n_optional=training.n_optional,
    )
    progress.at(JUDGED, "predicting")
    unit = "sweep" if settings.recipe.sweeps else "epoch"
    found = _what_was_chosen(fitted, observations, training.chosen)
    return FitResult(fitted, Diagnostics(training.history, unit, found=found))


def train(planned: Plan, settings: Settings, progress: Progress) -> Training:
    """Train members by sweeps, and with a network where these leave room for it."""
    found = Training([], {}, settings.likelihood, [], 0.0)
    wanted = settings.recipe.network
    if settings.recipe.sweeps:
        possible = wanted is not False and _may_have_network(planned, settings)
        progress.searching = SEARCHING if possible else SEARCHING_ALONE
        found = _by_search(planned, settings, progress)
    settings = replace(settings, likelihood=found.likelihood)
    if not (_network_helps(planned, settings, found, progress) if wanted is None else wanted):
        return found
    from vaecp.models.vaecp.gradients.fits import network_members

    progress.at(progress.reached, "compiling networks")
    networks = network_members(
        planned, settings, progress.part(progress.reached, TRAINED, "training networks")
    )
    return replace(
        found,
        trained=[*found.trained, *networks.trained],
        history=found.history or networks.history,
        n_optional=len(networks.trained) if wanted is None else 0,
    )


def _by_search(planned: Plan, settings: Settings, progress: Progress) -> Training:
    """Train members by sweeps, as many and of such kinds as held-out entries choose."""
    given = planned.observations, planned.all_folds, planned.chains
    workshop = Workshop(*given, settings.likelihood, planned.seed)
    workshop.on_training = partial(_tell, progress, settings.likelihood)
    chosen = choose_members(workshop, settings.effort, settings.rank, settings.n_members)
    likelihood = workshop.likelihood
    gain = average_gain(chosen, workshop.held_out, likelihood) if planned.folds else 0.0
    histories = [c.descents[0].history if c.descents else () for c in chosen]
    trained = [_by_sweeps(workshop, candidate) for candidate in chosen]
    return Training(trained, _history_of_sweeps(histories), likelihood, chosen, gain)


def _tell(progress: Progress, likelihood: Likelihood, workshop: Workshop) -> None:
    """Say how far the search is; losses of residuals are logarithms of squared errors."""
    error = float(np.exp(workshop.lowest / 2)) if likelihood.has_residuals else None
    progress.searched(workshop.n_done, workshop.spent, error)


def _what_was_chosen(
    fitted: FittedVAECP, observations: Observations, chosen: Sequence[Candidate]
) -> dict[str, Any]:
    chose: dict[str, Any] = {
        "rank": int(fitted.ensemble.ranks[fitted.main]),
        "n_members": len(fitted.ensemble),
    }
    if observations.features:
        used = [candidate.kind.features for candidate in chosen if candidate.kind.features]
        chose["features"] = (
            f"{used[0]} in {len(used)} of {len(chosen)} members" if used else "unused"
        )
    return chose


def _by_sweeps(workshop: Workshop, candidate: Candidate) -> Trained:
    by_fold = tuple(
        member_of(workshop.solver(number, candidate.kind), descent)
        for number, descent in enumerate(candidate.descents)
    )
    is_judged = bool(by_fold)
    return Trained(by_fold, lambda: member_of(*workshop.finished(candidate), is_judged=is_judged))


def _suits_network(observations: Observations) -> bool:
    return observations.limits is None and observations.weights is None


def _may_have_network(planned: Plan, settings: Settings) -> bool:
    """Whether members with a network are possible at all, and there is time for them."""
    n_entries, effort = len(planned.observations), settings.effort
    if not settings.likelihood.has_gradients or not _suits_network(planned.observations):
        return False
    if not planned.folds or n_entries > MOST_FOR_NETWORK:
        return False
    if settings.n_members is not None or effort is EFFORTS["quick"]:
        return False
    if effort.seconds is not None:  # no clock ends the training of networks
        return False
    return effort is EFFORTS["thorough"] or n_entries >= LEAST_FOR_NETWORK


def _network_helps(planned: Plan, settings: Settings, found: Training, progress: Progress) -> bool:
    """Whether members with a network may add something: others gain by being averaged."""
    if not _may_have_network(planned, settings):
        return False
    if settings.effort is EFFORTS["thorough"]:
        return True
    return found.average_gain > ROOM and _glimpse_gains(planned, settings, found, progress)


def _glimpse_gains(planned: Plan, settings: Settings, found: Training, progress: Progress) -> bool:
    """Whether members with a network, trained briefly on one fold, gain beside the others there."""
    from vaecp.models.vaecp.gradients.fits import glimpsed_members

    progress.at(progress.searching, "compiling networks")
    between = (progress.searching + TRAINED) / 2
    on_progress = progress.part(progress.searching, between, "trying a network")
    glimpsed = glimpsed_members(planned, settings, on_progress)
    first = [replace(each, by_fold=each.by_fold[:1]) for each in found.trained]
    observations = planned.observations
    whole = Support.of(observations.indices, observations.shape, planned.ordered_modes)
    judgement = Judgement.of(planned.folds[:1], [*first, *glimpsed], whole, settings.likelihood)
    return judgement.gain_of_last(len(glimpsed)) >= 2 * WORTH


def _history_of_sweeps(histories: Sequence[tuple]) -> dict[str, np.ndarray]:
    longest = max((len(history) for history in histories), default=0)
    if not longest:
        return {}
    table = np.full((longest, len(histories), 2), np.nan)
    for place, history in enumerate(histories):
        table[: len(history), place] = np.array(history).reshape(-1, 2)
    return {"noise_std": table[..., 0], "training_loss": table[..., 1]}
