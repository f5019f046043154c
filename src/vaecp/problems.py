"""From observations to the data of a fit, or of several side by side, on the device."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from vaecp.layout import Layout
from vaecp.loop import Problem
from vaecp.objective import Entries
from vaecp.observations import Observations
from vaecp.order import fibre_keys
from vaecp.padding import round_up
from vaecp.smoothing import Smoothers


def problem(
    train: Observations,
    validation: Observations | None,
    *,
    layout: Layout,
    smoothers: Smoothers,
    batch_size: int,
    random: np.random.Generator,
    sharding: jax.sharding.Sharding,
) -> Problem:
    """Shuffle and pad the entries, and put them where they will live."""
    held_out = (validation.indices, validation.values) if validation else (train.indices[:0], ())
    indices = np.concatenate([train.indices, held_out[0]])
    values = np.concatenate([train.values, held_out[1]])
    order = random.permutation(len(values))
    n_entries = batch_size * round_up(-(-len(values) // batch_size), significant_bits=4)
    every = padded(indices[order], values[order], n_entries)
    is_held_out = np.pad(order >= len(train), (0, n_entries - len(order))).astype(np.float32)
    n_held_out = round_up(len(held_out[1]), at_least=32)
    place = functools.partial(jax.device_put, device=sharding)
    return Problem(
        training=Entries(place(every[0]), place(every[1]), place(every[2] - is_held_out)),
        held_out=place(is_held_out),
        validation=Entries(*map(place, padded(*held_out, n_held_out))),
        row_weights=place(layout.row_weights(train.shape)),
        smoothers=jax.tree.map(place, smoothers),
    )


def side_by_side(
    problems: Sequence[tuple[Observations, Observations | None]],
    pool: Observations,
    *,
    layout: Layout,
    smoothers: Smoothers,
    batch_size: int,
    random: np.random.Generator,
    sharding: jax.sharding.Sharding,
) -> Problem:
    """Lay out several fits to parts of the same entries, so that they share every look-up.

    Entries of the pool that are no part of a fit have a weight of 0 in it.
    """
    order = random.permutation(len(pool))
    n_entries = batch_size * round_up(-(-len(pool) // batch_size), significant_bits=4)
    indices = padded(pool.indices[order], np.zeros(len(pool)), n_entries)[0]
    keys = fibre_keys(pool.indices[order], pool.shape, 0)
    place_of_key = np.argsort(keys)
    n_held_out = round_up(max(len(held) if held else 0 for _, held in problems), at_least=32)
    parts = []
    for train, held_out in problems:
        held = held_out if held_out is not None else train.take(np.arange(0))
        values, weights, is_held_out = np.zeros((3, n_entries), dtype=np.float32)
        for part, mark in ((train, weights), (held, is_held_out)):
            found = np.searchsorted(
                keys, fibre_keys(part.indices, pool.shape, 0), sorter=place_of_key
            )
            place = place_of_key[found]
            values[place], mark[place] = part.values, 1.0
        parts.append((values, weights, is_held_out, *padded(held.indices, held.values, n_held_out)))
    place = functools.partial(jax.device_put, device=sharding)
    values, weights, is_held_out, *validation = (
        place(np.stack(p)) for p in zip(*parts, strict=True)
    )
    return Problem(
        training=Entries(place(indices), values, weights),
        held_out=is_held_out,
        validation=Entries(*validation),
        row_weights=place(layout.row_weights(pool.shape)),
        smoothers=jax.tree.map(place, smoothers),
    )


def padded(indices: np.ndarray, values: Any, size: int) -> tuple[np.ndarray, ...]:
    """Return the indices, values and weights of `Entries`, with entries of weight 0 at the end."""
    n_entries, n_modes = indices.shape
    padded_indices = np.zeros((size, n_modes), dtype=np.int32)
    padded_indices[:n_entries] = indices
    padded_values, weights = np.zeros((2, size), dtype=np.float32)
    padded_values[:n_entries] = values
    weights[:n_entries] = 1.0
    return padded_indices, padded_values, weights
