"""Which modes have an order, where values themselves are too sparse to tell: held-out entries do.

Entries of sparse tensors have hardly any neighbours to compare them with. But rows that vary smoothly
predict held-out entries far better than free ones where the order of a mode means something. Where it means
nothing, how smooth rows are is learned, down to not at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.order import orders
from vaecp.models.vaecp.held_out import HeldOut
from vaecp.models.vaecp.holdouts import Fold, folds_for
from vaecp.models.vaecp.likelihoods import Likelihood
from vaecp.models.vaecp.sweeps.chains import Chain
from vaecp.models.vaecp.sweeps.descent import Kind
from vaecp.models.vaecp.workshop import Candidate, Workshop

RANKS = (0, 2, 4)
GAIN = 0.2
"""By how much the logarithm of the held-out squared error must fall, beyond what other entries might tell."""
MOST_ENTRIES = 20_000
"""More entries have neighbours enough, or are in tensors too large for a trial to be quick."""


def order_of(observations: Observations, likelihood: Likelihood, seed: int) -> tuple[bool, ...]:
    """Say of every mode whether its order means something."""
    found = orders(observations)
    plain = tuple(bool(follows) for follows in found)
    if None not in found or len(observations) > MOST_ENTRIES:
        return plain
    all_open = tuple(follows is not False for follows in found)
    folds = folds_for(observations, plain, np.random.default_rng(seed))
    if not folds:
        return plain

    free, held_out = _best(observations, folds, plain, likelihood, seed)
    smooth, _ = _best(observations, folds, all_open, likelihood, seed)
    doubt = held_out.doubt(
        likelihood, (free.means, free.variances), (smooth.means, smooth.variances)
    )
    return all_open if smooth.loss < free.loss - max(GAIN, doubt) else plain


def _best(
    observations: Observations,
    folds: tuple[Fold, ...],
    ordered: Sequence[bool],
    likelihood: Likelihood,
    seed: int,
) -> tuple[Candidate, HeldOut]:
    """Return the best of some narrow members whose rows are smooth along ordered modes."""
    chains = chains_through(observations, ordered)
    workshop = Workshop(observations, folds, chains, likelihood, seed)
    tried = workshop.first(*((Kind(rank, smooth=True), 0) for rank in RANKS))
    return min(tried, key=lambda candidate: candidate.loss), workshop.held_out


def chains_through(observations: Observations, ordered: Sequence[bool]) -> tuple[Chain | None, ...]:
    """Return the path through the rows of every ordered mode."""
    ordered = ordered or (False,) * observations.n_modes
    return tuple(
        Chain.through(labels, len(labels)) if has_order else None
        for has_order, labels in zip(ordered, observations.labels, strict=True)
    )
