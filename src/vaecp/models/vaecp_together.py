"""Several fits of VAECP to parts of one tensor, trained side by side.

Folds and repeats differ in which entries they train on. In one array of all entries that is a
matter of weights: fits of equal shape then share batches, look-ups and one compiled program.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vaecp import problems, recipe
from vaecp.cores import first_then_in_threads
from vaecp.models.vaecp import VAECP, Plan
from vaecp.observations import Observations, Standardiser
from vaecp.order import fibre_keys, keys_fit

MAX_NUMBERS = 2_000_000_000
"""Of values and weights side by side: more would not fit the memory of one device."""


def can_share(pool: Observations) -> bool:
    """Whether parts of a tensor can be told apart by their coordinates alone."""
    if not keys_fit(pool.shape):
        return False
    keys = fibre_keys(pool.indices, pool.shape, 0)
    return len(np.unique(keys)) == len(keys)


class Fit(NamedTuple):
    """A model, the part of the pool that it learns from, and what is decided before training."""

    model: VAECP
    part: Observations
    standardiser: Standardiser
    random: np.random.Generator
    plan: Plan


def fit_together(
    models: Sequence[VAECP], parts: Sequence[Observations], pool: Observations
) -> list[VAECP]:
    """Fit every model to its part of the pool, which `can_share` must hold for.

    They are placed where the first one says.
    """
    n_entries = max(len(part) for part in parts)

    # In order, and not in threads: models may share the generator that they draw their seed from.
    prepared = [model._prepared(part) for model, part in zip(models, parts, strict=True)]

    def planned(number: int) -> Fit:
        model, (standardiser, standardised, random) = models[number], prepared[number]
        plan = model._plan(standardised, random, n_entries)
        return Fit(model, parts[number], standardiser, random, plan)

    groups: dict[Hashable, list[Fit]] = defaultdict(list)
    for fit in first_then_in_threads(planned, range(len(models))):
        groups[fit.plan.program].append(fit)
    largest = max(1, MAX_NUMBERS // (4 * len(pool)))
    for group in groups.values():
        for first in range(0, len(group), largest):
            _fit_group(group[first : first + largest], pool)
    return list(models)


def _fit_group(fits: list[Fit], pool: Observations) -> None:
    """Train in one program; judge and calibrate one by one, which is work for the host's cores."""
    trained = _trained(fits, pool)

    def finish(place: int) -> None:
        fit = fits[place]
        with fit.model._on_device():
            fitted = fit.model._judged(fit.plan, trained.of_fit(place), fit.random)
            fit.model._take_over(fit.part, fit.standardiser, fitted)

    first_then_in_threads(finish, range(len(fits)))


def _trained(fits: list[Fit], pool: Observations) -> recipe.Trained:
    model, plan, random = fits[0].model, fits[0].plan, fits[0].random
    with model._on_device():
        problem = problems.side_by_side(
            [(fit.plan.train, fit.plan.held_out) for fit in fits],
            pool,
            layout=plan.layout,
            smoothers=plan.smoothers,
            batch_size=plan.loop.batch_size,
            random=random,
            sharding=model._sharding(),
        )
        states = jax.tree.map(lambda *each: jnp.stack(each), *(fit.plan.states for fit in fits))
        return model._train(plan, states, problem, random)
