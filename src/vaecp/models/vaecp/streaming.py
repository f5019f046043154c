"""From entries on disk to a fitted model: a sample is looked at, all entries are learned from.

Members have a multilinear path, effects of rows and a network, and are trained by gradients: the
batches of a stream are those of a fit in memory, on one device, on several, and in several
processes. Sweeps would need fewer passes, but a sum over all entries for every mode of every one,
and their own way to share that between machines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.standardising import Scaling
from vaecp.data.stored import StoredEntries
from vaecp.models.fitted import Diagnostics, FitResult
from vaecp.models.vaecp.choosing import choose
from vaecp.models.vaecp.fitting import Settings
from vaecp.models.vaecp.holdouts import Fold
from vaecp.models.vaecp.judging import judged
from vaecp.models.vaecp.progress import OnProgress

N_SAMPLE = 500_000
"""Entries that choose the kind of values, and show how much is known around a cell."""

N_HELD_OUT, SHARE_HELD_OUT = 20_000, 0.07


@dataclass(frozen=True, eq=False)
class LearnedFromDisk:
    """A fit, and the sample in whose terms it is told: in the units of the data, and its scaling."""

    sample: Observations
    scaling: Scaling
    result: FitResult


def fit_stored(
    entries: StoredEntries,
    likelihood: str,
    settings: Settings,
    random: np.random.Generator,
    on_progress: OnProgress | None = None,
) -> LearnedFromDisk:
    """Hold scattered entries out, train on the others, and let the held-out ones judge."""
    from vaecp.models.vaecp.gradients.fits import stored_members
    from vaecp.models.vaecp.gradients.streamed import Stored

    if settings.recipe.network is False:
        raise ValueError(
            "recipe.network is False, but entries on disk are fitted by members with a network: "
            "leave it None."
        )
    positions, sample = entries.sample(N_SAMPLE, random)
    choice, why, _ = choose(sample, likelihood, settings)
    chosen, scaling = choice.kind.of(sample.values), choice.scaling(sample)
    scaled = sample.with_values(scaling.apply(sample.values, sample.indices))
    judges = _judges(len(sample), random)
    fold = _fold(scaled, judges)
    found = stored_members(
        Stored(entries, scaling, positions[judges]),
        fold.held_out,
        replace(settings, likelihood=chosen),
        int(random.integers(2**31)),
        on_progress,
    )
    fitted = judged(
        scaled,
        (fold,),
        found.trained,
        (),
        (),
        chosen,
        neighbours=False,
        calibrate=settings.recipe.calibrate,
        random=random,
    )
    fitted = replace(fitted, support=replace(fitted.support, is_sample=True))
    told = {
        "rank": int(fitted.ensemble.ranks[fitted.main]),
        "n_members": len(fitted.ensemble),
        "likelihood": choice.kind.name,
        "likelihood_reason": why,
    }
    result = FitResult(fitted, Diagnostics(found.history, "piece", found=told))
    return LearnedFromDisk(sample, scaling, result)


def _judges(n_sample: int, random: np.random.Generator) -> np.ndarray:
    """Choose the places of held-out entries in the sample, sorted."""
    n_held_out = int(np.clip(SHARE_HELD_OUT * n_sample, 1, N_HELD_OUT))
    return np.sort(random.choice(n_sample, n_held_out, replace=False))


def _fold(sample: Observations, judges: np.ndarray) -> Fold:
    held_out = np.zeros(len(sample), dtype=bool)
    held_out[judges] = True
    return Fold(
        sample.take(~held_out),
        sample.take(held_out),
        np.ones(len(judges)),
        np.zeros(len(judges), dtype=np.int64),
        np.arange(len(judges)),
    )
