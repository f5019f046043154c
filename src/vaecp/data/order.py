"""Which modes have an order that the values follow: wavelengths and times do, names do not.

Labels are sorted, so codes of a wavelength axis are in order. Whether that order means
anything is asked of the values: do neighbours differ less than entries far apart?
"""

from __future__ import annotations

import numpy as np

from vaecp.data.cells import fibre_keys, keys_fit
from vaecp.data.observations import Observations

MIN_ROWS = 8
MIN_PAIRS = 100
MAX_PAIRS = 200_000
MAX_ENTRIES = 20_000_000
ORDERED_BELOW = 0.7


def ordered_modes(observations: Observations) -> tuple[bool, ...]:
    """Tell for every mode whether values change little from one label to the next.

    The mean squared difference of neighbours is compared with that of entries any distance
    apart (von Neumann's ratio, 1 where the order means nothing).
    """
    n_modes = observations.n_modes
    if len(observations) > MAX_ENTRIES or not keys_fit(observations.shape):
        return (False,) * n_modes
    found = []
    for mode, n_rows in enumerate(observations.shape):
        found.append(n_rows >= MIN_ROWS and _follows_order(observations, mode))
    return tuple(found)


def _follows_order(observations: Observations, mode: int) -> bool:
    random = np.random.default_rng(0)
    n_rows = observations.shape[mode]
    keys = fibre_keys(observations.indices, observations.shape, mode)
    order = np.argsort(keys)
    keys, values, rows = keys[order], observations.values[order], observations.indices[order, mode]
    asked = random.permutation(len(keys))[:MAX_PAIRS]

    def squared_differences(steps: np.ndarray | int) -> np.ndarray:
        """From the asked entries to those `steps` further along their fibres, where observed."""
        target = rows[asked] + steps
        there = np.searchsorted(keys, keys[asked] + steps)
        there = np.minimum(there, len(keys) - 1)
        found = (keys[there] == keys[asked] + steps) & (target != rows[asked])
        found &= (target >= 0) & (target < n_rows)
        return (values[there] - values[asked])[found] ** 2

    near = squared_differences(1)
    far = squared_differences(random.integers(n_rows, size=len(asked)) - rows[asked])
    if min(len(near), len(far)) < MIN_PAIRS or not far.mean() > 0:
        return False
    doubt = np.hypot(
        *(part.std() / (part.mean() + 1e-12) / len(part) ** 0.5 for part in (near, far))
    )
    doubt += n_rows**-0.5  # fibres may be alike, and then rows are all that chance had a say in
    return bool(near.mean() * (1 + 2 * doubt) < ORDERED_BELOW * far.mean())
