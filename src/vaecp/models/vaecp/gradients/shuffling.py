"""Entries of a part in another order, compiled: without Python's lock, so that parts are shuffled at once."""

from __future__ import annotations

import numpy as np

from vaecp.runtime.machine_code import loop


@loop(nogil=True, error_model="numpy")
def shuffle_into(seed, indices, values, judges, into_indices, into_values, weights, held_out):
    """Write entries in a random order; those that judge have no weight, and the rest are left alone.

    Fisher and Yates' shuffle by the generator xorshift64*, whose seed must not be 0.
    """
    n = values.shape[0]
    if indices.shape[0] != n or judges.shape[0] != n:
        raise ValueError("there are not as many values as entries")
    if min(into_indices.shape[0], into_values.shape[0], weights.shape[0], held_out.shape[0]) < n:
        raise ValueError("there is not enough room")
    if into_indices.shape[1] != indices.shape[1]:
        raise ValueError("the entries have another number of modes")
    order, state = np.empty(n, np.int32), np.uint64(seed)
    for k in range(n):
        state ^= state >> np.uint64(12)
        state ^= state << np.uint64(25)
        state ^= state >> np.uint64(27)
        drawn = (state * np.uint64(2685821657736338717)) >> np.uint64(32)
        j = (drawn * np.uint64(k + 1)) >> np.uint64(32)
        order[k] = order[j]
        order[j] = k
    for k in range(n):
        entry = order[k]
        for mode in range(indices.shape[1]):
            into_indices[k, mode] = indices[entry, mode]
        into_values[k] = values[entry]
        held_out[k] = judges[entry]
        weights[k] = 1 - judges[entry]
