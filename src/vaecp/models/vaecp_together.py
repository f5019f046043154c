"""Several fits of VAECP to parts of one tensor, trained side by side.

Folds and repeats differ in which entries they train on. In one array of all entries that is a
matter of weights: fits of equal shape then share batches, look-ups and one compiled program.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from vaecp import problems, recipe
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


def fit_together(
    models: Sequence[VAECP], parts: Sequence[Observations], pool: Observations
) -> list[VAECP]:
    """Fit every model to its part of the pool, which `can_share` must hold for.

    They are placed where the first one says.
    """
    prepared = [model._prepared(part) for model, part in zip(models, parts, strict=True)]
    plans = [
        model._plan(standardised, random, n_entries=max(len(part) for part in parts))
        for model, (_, standardised, random) in zip(models, prepared, strict=True)
    ]
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for number, plan in enumerate(plans):
        groups[plan.program].append(number)
    largest = max(1, MAX_NUMBERS // (4 * len(pool)))
    for group in groups.values():
        for first in range(0, len(group), largest):
            numbers = group[first : first + largest]
            trained = _trained(
                models[numbers[0]], [plans[n] for n in numbers], pool, prepared[numbers[0]][2]
            )
            for place, number in enumerate(numbers):
                standardiser, _, random = prepared[number]
                _finish(
                    models[number],
                    plans[number],
                    trained.of_fit(place),
                    parts[number],
                    standardiser,
                    random,
                )
    return list(models)


def _trained(
    model: VAECP, plans: list[Plan], pool: Observations, random: np.random.Generator
) -> recipe.Trained:
    first = plans[0]
    with model._on_device():
        problem = problems.side_by_side(
            [(plan.train, plan.held_out) for plan in plans],
            pool,
            layout=first.layout,
            smoothers=first.smoothers,
            batch_size=first.loop.batch_size,
            random=random,
            sharding=model._sharding(),
        )
        states = jax.tree.map(lambda *each: jnp.stack(each), *(plan.states for plan in plans))
        return model._train(first, states, problem, random)


def _finish(
    model: VAECP,
    plan: Plan,
    trained: recipe.Trained,
    part: Observations,
    standardiser: Standardiser,
    random: np.random.Generator,
) -> None:
    with model._on_device():
        model._take_over(part, standardiser, model._judged(plan, trained, random))
