"""Small trainings by gradients, on one shape, so that tests share compiled programs."""

from __future__ import annotations

import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.vaecp.gradients.driver import Outcome, run_phases
from vaecp.models.vaecp.gradients.entries import InMemory
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.loop import Loop
from vaecp.models.vaecp.gradients.members import Architecture, free_numbers, initial_states
from vaecp.models.vaecp.gradients.schedule import Schedule
from vaecp.runtime.placement import Placement

SHAPE = (12, 12)
LAYOUT = RowLayout.of(SHAPE)
ARCHITECTURE = Architecture(rank=2, hidden=4, multilinear=True, shared_prior=False, near_zero=True)
FREE = free_numbers(SHAPE, LAYOUT, ARCHITECTURE)


def small_tensor() -> Observations:
    rows, columns = np.random.default_rng(0).normal(size=(2, 12, 2))
    return Observations.from_array(rows @ columns.T)


def loop(batch_size: int = 64, block_size: int = 8, **settings) -> Loop:
    return Loop(LAYOUT, batch_size, block_size, **settings)


def starts(precisions=(1.0, 1.0)):
    return initial_states(0, precisions, LAYOUT, ARCHITECTURE, FREE)


def outcome_of(
    train: Observations,
    validation: Observations | None = None,
    *,
    n_epochs: int = 20,
    rate: float = 0.01,
    scale_from: float = 1.0,
    decay: bool = False,
    precisions=(1.0, 1.0),
    batch_size: int = 64,
    placement: Placement | None = None,
    **options,
) -> Outcome:
    """Train members through the phases of a schedule."""
    placement = placement or Placement.on("cpu")
    mesh = None if placement.is_one else placement.mesh
    program, random = loop(batch_size, mesh=mesh), np.random.default_rng(0)
    return run_phases(
        starts(precisions),
        InMemory.of(train, validation, FREE, program, random, placement),
        Schedule(n_epochs, rate, decay, kl_warmup=0.0, scale_from=scale_from).phases(),
        program,
        random,
        placement,
        **options,
    )
