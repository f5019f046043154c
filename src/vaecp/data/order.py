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
N_SHUFFLES, N_SWEEPS, RIDGE = 5, 4, 5.0


def ordered_modes(observations: Observations) -> tuple[bool, ...]:
    """Tell for every mode whether values change little from one label to the next.

    The mean squared difference of neighbours is compared with that of entries any distance
    apart (von Neumann's ratio, 1 where the order means nothing). Where hardly any entry has a
    neighbour in its fibre, the effects of rows are compared instead.
    """
    return tuple(bool(follows) for follows in orders(observations))


def orders(observations: Observations) -> tuple[bool | None, ...]:
    """Tell the same, and None for modes of which neighbours and rows are too few to tell."""
    if len(observations) > MAX_ENTRIES:
        return (False,) * observations.n_modes
    found = []
    for mode, n_rows in enumerate(observations.shape):
        follows = None if n_rows >= MIN_ROWS else False
        if follows is None and keys_fit(observations.shape):
            follows = _neighbours_are_alike(observations, mode)
        if follows is None:  # fibres have too few entries to tell
            follows = _effects_are_alike(observations, mode)
        found.append(follows)
    return tuple(found)


def _effects_are_alike(observations: Observations, mode: int) -> bool | None:
    """Compare the effects of neighbouring rows with those of any two rows; None where rows are too few."""
    rows, values = observations.indices[:, mode], _without_others(observations, mode)
    counts = np.bincount(rows, minlength=observations.shape[mode])
    seen = np.flatnonzero(counts)
    if len(seen) < MIN_PAIRS:
        return None
    effects = np.bincount(rows, values, minlength=len(counts))[seen] / counts[seen]
    noise = values.var() / counts[seen]
    # Rows have few entries or many, and may be sorted by that: differences are standardised.
    centre = np.average(effects, weights=1 / (noise + effects.var() + 1e-300))
    trust = (noise + effects.var() + 1e-300) ** -2
    signal = max(float(np.average((effects - centre) ** 2 - noise, weights=trust)), 0.0)

    def ratio(order: np.ndarray) -> float:
        expected = noise[order][1:] + noise[order][:-1] + 2 * signal + 1e-300
        return float(np.mean(np.diff(effects[order]) ** 2 / expected))

    near = ratio(np.arange(len(seen)))
    shuffles = (np.random.default_rng(n).permutation(len(seen)) for n in range(N_SHUFFLES))
    far = np.mean([ratio(order) for order in shuffles])
    return bool(near * (1 + 4 * len(seen) ** -0.5) < ORDERED_BELOW * far)


def _without_others(observations: Observations, mode: int) -> np.ndarray:
    """Return the values less the effects of the rows of all other modes."""
    values = observations.values - observations.values.mean()
    effects = [np.zeros(size) for size in observations.shape]
    for _ in range(N_SWEEPS):
        for other, (effect, rows) in enumerate(zip(effects, observations.indices.T, strict=True)):
            left = values - sum(
                found[observations.indices[:, m]] for m, found in enumerate(effects) if m != other
            )
            counts = np.bincount(rows, minlength=len(effect))
            effect[:] = np.bincount(rows, left, minlength=len(effect)) / (counts + RIDGE)
    return values - sum(
        found[observations.indices[:, m]] for m, found in enumerate(effects) if m != mode
    )


def _neighbours_are_alike(observations: Observations, mode: int) -> bool | None:
    """Compare entries with their neighbours in a fibre; None where these are too few."""
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
    if min(len(near), len(far)) < MIN_PAIRS:
        return None
    if not far.mean() > 0:
        return False
    doubt = np.hypot(
        *(part.std() / (part.mean() + 1e-12) / len(part) ** 0.5 for part in (near, far))
    )
    doubt += n_rows**-0.5  # fibres may be alike, and then rows are all that chance had a say in
    return bool(near.mean() * (1 + 2 * doubt) < ORDERED_BELOW * far.mean())
