"""Seconds per epoch of the compiled loop: one member, no validation, compilation left out."""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.vaecp.gradients.driver import run_phases
from vaecp.models.vaecp.gradients.entries import InMemory
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.members import Architecture, free_numbers, initial_states
from vaecp.models.vaecp.gradients.schedule import Schedule, loop_for
from vaecp.runtime.compilation import keep_compiled_programs
from vaecp.runtime.placement import Placement

MIN_CHUNKS, MIN_STEPS = 3, 200


def published(rank: int, hidden: int) -> Architecture:
    """Return the network alone, under one prior."""
    return Architecture(rank, hidden, multilinear=False, shared_prior=True, near_zero=False)


def default(rank: int, hidden: int) -> Architecture:
    """Return what `VAECP()` trains by gradients."""
    return Architecture(rank, hidden, multilinear=True, shared_prior=False, near_zero=True)


def random_entries(shape: tuple[int, ...], n_entries: int, seed: int = 0) -> Observations:
    """Draw entries: distinct ones of a small tensor, of a large one whichever come."""
    random = np.random.default_rng(seed)
    n_cells = float(np.prod(np.array(shape, dtype=float)))
    values = random.standard_normal(n_entries)
    indices = np.empty((n_entries, len(shape)), dtype=np.int32)
    if n_entries <= n_cells <= 10**6:
        cells = random.choice(int(n_cells), n_entries, replace=False)
        indices[:] = np.stack(np.unravel_index(cells, shape), axis=1)
    else:
        for mode, n_rows in enumerate(shape):
            indices[:, mode] = random.integers(n_rows, size=n_entries, dtype=np.int32)
    return Observations(indices, values, shape)


def epoch_timer(
    observations: Observations,
    architecture: Architecture,
    batch_size: int,
    min_chunks: int = MIN_CHUNKS,
    min_steps: int = MIN_STEPS,
) -> Callable[[], float]:
    """Return a function that trains from the start, and gives the seconds per epoch.

    The loop has been compiled when this returns. Entries that pad the last batches cost time and
    teach nothing: divide by the entries that there are.
    """
    keep_compiled_programs()
    random = np.random.default_rng(0)
    layout = RowLayout.of(observations.shape)
    placement = Placement.on()
    loop = loop_for(len(observations), batch_size, layout, 1, 5.0, placement)
    free = free_numbers(observations.shape, layout, architecture)
    source = InMemory.of(observations, None, free, loop, random, placement)
    steps_per_chunk = loop.epochs_per_chunk * (source.problem.training.values.size // batch_size)
    n_chunks = max(min_chunks, -(-min_steps // steps_per_chunk))

    def seconds_per_epoch(n_chunks: int = n_chunks) -> float:
        n_epochs = n_chunks * loop.epochs_per_chunk
        schedule = Schedule(n_epochs, 1e-4, decay=False, kl_warmup=0.0, scale_from=0.0)
        states = jax.block_until_ready(initial_states(0, [0.0], layout, architecture, free))
        started = time.perf_counter()
        run_phases(states, source, schedule.phases(), loop, random, placement)
        return (time.perf_counter() - started) / n_epochs

    seconds_per_epoch(1)
    return seconds_per_epoch
