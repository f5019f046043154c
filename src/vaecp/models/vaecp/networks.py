"""What a network adds to the mean of an entry, on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from vaecp.models.vaecp.members import Ensemble


@dataclass(frozen=True, eq=False)
class Network:
    """A tanh layer on the rows of an entry, with a head for the mean and one for the log-noise."""

    input_weights: np.ndarray  # (D, width, K)
    bias: np.ndarray  # (K,)
    heads: np.ndarray  # (2, K): mean, logarithm of the noise variance

    @staticmethod
    def stacked(networks: Sequence[Network | None], width: int) -> dict[str, np.ndarray]:
        """Return arrays with a leading axis of members; zeros where a member has no network."""
        some = next((network for network in networks if network is not None), None)
        if some is None:
            return {}
        n_modes, _, n_hidden = some.input_weights.shape
        n_members = len(networks)
        stack = {
            "input_weights": np.zeros((n_members, n_modes, width, n_hidden), dtype=np.float32),
            "bias": np.zeros((n_members, n_hidden), dtype=np.float32),
            "heads": np.zeros((n_members, 2, n_hidden), dtype=np.float32),
        }
        for place, network in enumerate(networks):
            if network is not None:
                stack["input_weights"][place, :, : network.input_weights.shape[1]] = (
                    network.input_weights
                )
                stack["bias"][place] = network.bias
                stack["heads"][place] = network.heads
        return stack


def add_network(
    ensemble: Ensemble,
    member: int,
    ids: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray | None = None,
    noise: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> None:
    """Add a member's network to means of entries, and to their variances and noise if given.

    The variance is that of the network linearised at the means of the rows; how it varies together
    with the product of the rows is left out.
    """
    heads = ensemble.network["heads"][member]
    if not heads.any():
        return
    weights = ensemble.network["input_weights"][member].astype(np.float64)
    table = ensemble._tables[member][0] if rows is None else rows
    own = [table[ids[:, mode]] for mode in range(ids.shape[1])]
    summed = sum(row @ weights[mode] for mode, row in enumerate(own))
    hidden = np.tanh(summed + ensemble.network["bias"][member])
    mean += hidden @ heads[0]
    if noise is not None:
        noise *= np.exp(hidden @ heads[1])
    if variance is None:
        return
    slope = heads[0] * (1 - hidden**2)
    second = ensemble._tables[member][1]
    for mode, row in enumerate(own):
        spread = second[ids[:, mode]] - row**2
        variance += np.sum((slope @ weights[mode].T) ** 2 * spread, axis=1)
