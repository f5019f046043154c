"""How entries are cut into parts that threads take."""

from __future__ import annotations

import itertools

import numpy as np

from vaecp.runtime.threads import n_cores

PARTS_PER_CORE = 4


def even_cuts(n_entries: int) -> list[tuple[int, int]]:
    """Cut entries into parts of the same size."""
    ends = np.linspace(0, n_entries, PARTS_PER_CORE * n_cores() + 1).astype(int)
    return [(int(a), int(b)) for a, b in itertools.pairwise(ends) if b > a]


def cuts_by_entries(start: np.ndarray) -> list[tuple[int, int]]:
    """Cut rows into parts of about as many entries; a row is never cut, so bits do not depend."""
    wanted = np.linspace(0, start[-1], PARTS_PER_CORE * n_cores() + 1)[1:-1]
    ends = np.unique([0, *np.searchsorted(start, wanted), len(start) - 1])
    return [(int(a), int(b)) for a, b in itertools.pairwise(ends)]
