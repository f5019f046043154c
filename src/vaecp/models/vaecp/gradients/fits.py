"""Members with a network for every fold of a plan."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vaecp.models.vaecp.gradients.layout import Layout
from vaecp.models.vaecp.gradients.members import Architecture, TrainedMembers, train_members
from vaecp.models.vaecp.gradients.schedule import (
    Schedule,
    choose_batch_size,
    choose_epochs,
    loop_for,
)
from vaecp.models.vaecp.judging import Trained
from vaecp.models.vaecp.likelihoods import (
    GAUSSIAN,
    Bernoulli,
    Gaussian,
    Likelihood,
    Poisson,
    StudentT,
)
from vaecp.runtime.placement import Placement

if TYPE_CHECKING:
    from vaecp.data.observations import Observations
    from vaecp.models.vaecp.fitting import OnProgress, Plan, Settings

RANK, HIDDEN, MEMBERS = 32, 64, 4


class NetworkMembers(NamedTuple):
    """Members, and the terms of the objective during training on the first fold."""

    trained: list[Trained]
    history: dict[str, np.ndarray]


def network_members(
    plan: Plan, settings: Settings, on_progress: OnProgress | None
) -> NetworkMembers:
    """Train on what every fold leaves, and on all entries."""
    placement = Placement.on(settings.devices)
    if not plan.folds:
        alone = _train(plan.observations, None, plan, settings, placement, on_progress)
        return NetworkMembers([Trained((), member) for member in alone.final], alone.history)
    by_fold = [
        _train(fold.train, fold.held_out, plan, settings, placement, on_progress)
        for fold in plan.folds
    ]
    members = zip(*(found.judged for found in by_fold), by_fold[0].final, strict=True)
    return NetworkMembers(
        [Trained(tuple(judged), final) for *judged, final in members], by_fold[0].history
    )


def _shared(likelihood: Likelihood) -> Likelihood:
    """Return one object for all fits of a kind: a program is compiled for each object."""
    if type(likelihood).total is Gaussian.total:
        return GAUSSIAN
    plain = isinstance(likelihood, (Bernoulli, Poisson, StudentT))
    return _of_type(type(likelihood)) if plain else likelihood


@cache
def _of_type(kind: type[Likelihood]) -> Likelihood:
    return kind()


def _train(
    train: Observations,
    held_out: Observations | None,
    plan: Plan,
    settings: Settings,
    placement: Placement,
    on_progress: OnProgress | None,
) -> TrainedMembers:
    recipe = settings.recipe
    n_entries = len(plan.observations)
    batch_size = recipe.batch_size or choose_batch_size(n_entries)
    layout = Layout.of(train.shape)
    schedule = Schedule(
        settings.max_epochs or choose_epochs(n_entries, batch_size),
        recipe.learning_rate,
        decay=recipe.decay,
        kl_warmup=recipe.kl_warmup,
        scale_from=recipe.scale_from,
        finish=0.0 if held_out is None else recipe.finish,
        kl_weight=recipe.kl_weight,
    )
    architecture = Architecture(
        settings.rank or RANK,
        settings.hidden or HIDDEN,
        recipe.multilinear,
        shared_prior=recipe.prior == "shared",
        near_zero=recipe.scale_from > 0,
    )
    n_members = settings.n_members or MEMBERS
    n_epochs = schedule.n_epochs_in_all

    def on_chunk(n_done: int, terms: dict[str, np.ndarray]) -> None:
        if on_progress is not None:
            on_progress(n_done, n_epochs, "epochs")

    return train_members(
        train,
        held_out,
        architecture,
        np.resize(recipe.weight_precision, n_members).tolist(),
        schedule,
        loop_for(
            n_entries,
            batch_size,
            layout,
            recipe.n_draws,
            recipe.log_variance_rate,
            placement,
            _shared(settings.likelihood),
        ),
        plan.seed,
        placement,
        patience=recipe.patience,
        on_chunk=on_chunk,
    )
