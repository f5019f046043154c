"""Members with a network for every fold of a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.members import Architecture, TrainedMembers, train_members
from vaecp.models.vaecp.gradients.schedule import (
    Schedule,
    choose_batch_size,
    choose_epochs,
    choose_passes,
    loop_for,
)
from vaecp.models.vaecp.gradients.streamed import Stored
from vaecp.models.vaecp.judgement import Trained
from vaecp.models.vaecp.likelihoods import (
    GAUSSIAN,
    Bernoulli,
    Gaussian,
    Likelihood,
    Poisson,
    StudentT,
)
from vaecp.models.vaecp.members import Member
from vaecp.runtime.placement import Placement

if TYPE_CHECKING:
    from vaecp.data.observations import Observations
    from vaecp.models.vaecp.fitting import Plan, Settings
    from vaecp.models.vaecp.progress import OnProgress

RANK, HIDDEN, MEMBERS = 32, 64, 4


class NetworkMembers(NamedTuple):
    """Members, and the terms of the objective during training on the first fold."""

    trained: list[Trained]
    history: dict[str, np.ndarray]

    @classmethod
    def of(
        cls,
        by_fold: Sequence[Sequence[Member]],
        final: Sequence[Member],
        history: dict[str, np.ndarray],
    ) -> NetworkMembers:
        """Put together what became of every member in the folds, and after all entries."""
        judged = zip(*by_fold, strict=True) if by_fold else ((),) * len(final)
        trained = [
            Trained(tuple(folds), partial(_same, member))
            for folds, member in zip(judged, final, strict=True)
        ]
        return cls(trained, history)


def _same(member: Member) -> Member:
    return member


def network_members(
    plan: Plan, settings: Settings, on_progress: OnProgress | None
) -> NetworkMembers:
    """Train on what every fold leaves, and on all entries."""
    job = _Job.of(settings, len(plan.observations), choose_epochs, plan.seed, on_progress)
    if not plan.folds:
        alone = _train(plan.observations, None, job, "network")
        return NetworkMembers.of((), alone.final, alone.history)
    n_folds = len(plan.folds)
    by_fold = [
        _train(fold.train, fold.held_out, job.one_of(number, n_folds), f"network-{number}")
        for number, fold in enumerate(plan.folds)
    ]
    first = by_fold[0]
    return NetworkMembers.of([found.judged for found in by_fold], first.final, first.history)


def glimpsed_members(
    plan: Plan, settings: Settings, on_progress: OnProgress | None
) -> list[Trained]:
    """Train on the first fold alone, half as long: enough to see whether a network adds anything."""
    job = _Job.of(settings, len(plan.observations), choose_epochs, plan.seed, on_progress)
    job = replace(job, n_epochs=max(1, job.n_epochs // 2), finish=0.0)
    fold = plan.folds[0]
    found = _train(fold.train, fold.held_out, job, "glimpse")
    return NetworkMembers.of([found.judged], found.judged, found.history).trained


def stored_members(
    stored: Stored,
    held_out: Observations,
    settings: Settings,
    seed: int,
    on_progress: OnProgress | None,
) -> NetworkMembers:
    """Train on entries that are read from disk: piece by piece, each as if it were an epoch."""
    job = _Job.of(settings, len(stored.entries), choose_passes, seed, on_progress, "pieces")
    job = replace(job, n_epochs=job.n_epochs * stored.n_pieces)
    found = _train(stored, held_out, job, "network")
    return NetworkMembers.of([found.judged], found.final, found.history)


@dataclass(frozen=True, eq=False)
class _Job:
    """What the trainings of a fit share."""

    settings: Settings
    n_entries: int
    batch_size: int
    n_epochs: int
    finish: float  # see Recipe
    seed: int
    placement: Placement
    on_progress: OnProgress | None
    unit: str = "epochs"

    @classmethod
    def of(
        cls,
        settings: Settings,
        n_entries: int,
        choose: Callable[[int, int], int],
        seed: int,
        on_progress: OnProgress | None,
        unit: str = "epochs",
    ) -> _Job:
        """Take batch size and length of training from the settings, or choose them."""
        batch_size = settings.recipe.batch_size or choose_batch_size(n_entries)
        return cls(
            settings,
            n_entries,
            batch_size,
            settings.max_epochs or choose(n_entries, batch_size),
            settings.recipe.finish,
            seed,
            Placement.on(settings.devices),
            on_progress,
            unit,
        )

    def one_of(self, number: int, n_jobs: int) -> _Job:
        """Return the same as one of several that are done in turn, for whoever watches."""
        watcher = self.on_progress
        if watcher is None:
            return self
        return replace(
            self,
            on_progress=lambda done, total, unit: watcher(
                number * total + done, n_jobs * total, unit
            ),
        )

    def schedule(self, finish: float) -> Schedule:
        recipe = self.settings.recipe
        return Schedule(
            self.n_epochs,
            recipe.learning_rate,
            decay=recipe.decay,
            kl_warmup=recipe.kl_warmup,
            scale_from=recipe.scale_from,
            finish=finish,
            kl_weight=recipe.kl_weight,
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
    train: Observations | Stored,
    held_out: Observations | None,
    job: _Job,
    name: str,
) -> TrainedMembers:
    settings, recipe = job.settings, job.settings.recipe
    schedule = job.schedule(finish=0.0 if held_out is None else job.finish)
    architecture = Architecture(
        settings.rank or RANK,
        settings.hidden or HIDDEN,
        recipe.multilinear,
        shared_prior=recipe.prior == "shared",
        near_zero=recipe.scale_from > 0,
    )
    n_members = settings.n_members or MEMBERS
    n_epochs = schedule.n_epochs_in_all
    loop = loop_for(
        job.n_entries,
        job.batch_size,
        RowLayout.of(train.shape),
        recipe.n_draws,
        recipe.log_variance_rate,
        job.placement,
        _shared(settings.likelihood),
    )

    def on_chunk(n_done: int, terms: dict[str, np.ndarray]) -> None:
        if job.on_progress is not None:
            job.on_progress(n_done, n_epochs, job.unit)

    return train_members(
        train,
        held_out,
        architecture,
        np.resize(recipe.weight_precision, n_members).tolist(),
        schedule,
        replace(loop, epochs_per_chunk=1) if isinstance(train, Stored) else loop,
        job.seed,
        job.placement,
        patience=recipe.patience,
        on_chunk=on_chunk,
        name=name,
    )
