"""How long and how fast members are trained by gradients, and in how large batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.loop import Loop, Phase
from vaecp.models.vaecp.likelihoods import GAUSSIAN, Likelihood
from vaecp.runtime.placement import N_SHARDS, Placement

STEPS, FEWEST_STEPS, ENTRIES_PER_STEP = 3_000, 1_500, 3
MIN_EPOCHS, MAX_EPOCHS = 20, 1_000
MIN_PASSES = 2
"""Over entries that are read from disk."""
FINISHING_RATE = 0.1
SORTED_BLOCK, SHARING = 2**13, 8
"""Smallest block of entries that is sorted, and how many of its entries then share a row."""


def choose_batch_size(n_entries: int) -> int:
    """About forty steps an epoch: fewer waste the gradient's precision, more waste time."""
    power = int(np.round(np.log2(max(n_entries, 1) / 40)))
    return int(2 ** np.clip(power, 6, 13))


def choose_block_size(n_entries: int, batch_size: int, n_parts: int = N_SHARDS) -> int:
    """Entries are shuffled singly once, and in blocks every epoch.

    A block is read in one piece, and the order of an epoch stays short however many entries
    there are.
    """
    block_size = min(16, max(batch_size // n_parts, 1))
    while n_entries // block_size > 2**16 and 2 * n_parts * block_size < batch_size:
        block_size *= 2
    return block_size if batch_size % block_size == 0 else 1


def choose_blocks(
    n_entries: int, batch_size: int, layout: RowLayout, placement: Placement
) -> tuple[int, int | None]:
    """Return the size of blocks, and by the rows of which mode they are sorted, if by any.

    On a GPU large batches are made of so large blocks that many entries share a row of the smallest
    mode: what these add to the row is then added at once.
    """
    size = choose_block_size(n_entries, batch_size, placement.n_parts)
    sizes, large = layout.sizes, batch_size // (2 * placement.n_parts)
    if placement.is_cpu or not placement.is_one or not large or batch_size % large:
        return size, None
    if large < max(SORTED_BLOCK, SHARING * min(sizes)):
        return size, None
    return large, sizes.index(min(sizes))


def choose_epochs(n_entries: int, batch_size: int) -> int:
    """A number of steps, so that small tensors see their entries more often; the smallest need fewer."""
    steps_per_epoch = -(-n_entries // batch_size)
    n_steps = int(np.clip(n_entries // ENTRIES_PER_STEP, FEWEST_STEPS, STEPS))
    return int(np.clip(n_steps // steps_per_epoch, MIN_EPOCHS, MAX_EPOCHS))


def choose_passes(n_entries: int, batch_size: int) -> int:
    """As many steps over entries on disk as over ones in memory, in fewer passes where these are long."""
    steps_per_pass = -(-n_entries // batch_size)
    return int(np.clip(STEPS // steps_per_pass, MIN_PASSES, MAX_EPOCHS))


def loop_for(
    n_entries: int,
    batch_size: int,
    layout: RowLayout,
    n_draws: int,
    log_variance_rate: float,
    placement: Placement,
    likelihood: Likelihood = GAUSSIAN,
) -> Loop:
    """What the compiled program is specialised to."""
    n_devices = len(placement.devices)
    if n_devices > 1 and batch_size % placement.n_parts:
        raise ValueError(
            f"batch_size is {batch_size}, which {n_devices} devices cannot share evenly: use a "
            f"multiple of {placement.n_parts}, or one device."
        )
    block_size, sorted_mode = choose_blocks(n_entries, batch_size, layout, placement)
    return Loop(
        layout,
        batch_size,
        block_size,
        n_draws,
        choose_epochs_per_chunk(n_entries, batch_size),
        log_variance_rate,
        likelihood,
        mesh=None if placement.is_one else placement.mesh,
        sorted_mode=sorted_mode,
    )


def choose_epochs_per_chunk(n_entries: int, batch_size: int) -> int:
    """Come back to Python often enough to show progress, seldom enough not to matter."""
    return int(np.clip(2_000 * batch_size // n_entries, 1, 10))


@dataclass(frozen=True)
class Schedule:
    """See the parameters of `Recipe`."""

    n_epochs: int
    learning_rate: float
    decay: bool
    kl_warmup: float
    scale_from: float
    finish: float = 0.0
    kl_weight: float = 1.0

    @property
    def n_mean(self) -> int:
        return round(self.scale_from * self.n_epochs) if self.scale_from > 0 else self.n_epochs

    @property
    def n_scale(self) -> int:
        return self.n_epochs - self.n_mean

    @property
    def n_finish(self) -> int:
        return round(self.finish * self.n_epochs)

    @property
    def n_epochs_in_all(self) -> int:
        return self.n_epochs + (self.n_finish + self.n_scale if self.n_finish else 0)

    def phases(self) -> list[Phase]:
        """Per-epoch rates and KL weights.

        Up to `scale_from` the mean is trained under one shared noise level; after it the
        variance head alone. At 0 both are trained together all the way.
        """
        n_warm = self.kl_warmup * self.n_epochs
        ramp = np.arange(self.n_mean) / n_warm if n_warm > 0 else np.ones(self.n_mean)
        rate = self._rates(self.learning_rate, self.n_mean)
        together = self.scale_from == 0
        return [
            _phase(rate, rate * together, self.kl_weight * np.minimum(ramp, 1.0)),
            *self._head(),
        ]

    def finishing_phases(self) -> list[Phase]:
        """Take in the entries that were held out so far, in small steps; then the head again."""
        rate = self._rates(FINISHING_RATE * self.learning_rate, self.n_finish)
        full = np.full(self.n_finish, self.kl_weight)
        finish = _phase(rate, 0 * rate, full, with_held_out=True)
        return [finish, *self._head(with_held_out=True)]

    def _head(self, with_held_out: bool = False) -> list[Phase]:
        if not self.n_scale:
            return []
        rate = self._rates(self.learning_rate, self.n_scale)
        ones = np.ones(self.n_scale)
        return [_phase(0 * rate, rate, ones, by_likelihood=True, with_held_out=with_held_out)]

    def _rates(self, peak: float, n_epochs: int) -> np.ndarray:
        if not self.decay or n_epochs < 1:
            return np.full(n_epochs, peak)
        return peak * 0.5 * (1 + np.cos(np.pi * np.arange(n_epochs) / n_epochs))


def _phase(
    *settings: np.ndarray, by_likelihood: bool = False, with_held_out: bool = False
) -> Phase:
    flags = (np.full(len(settings[0]), flag) for flag in (by_likelihood, with_held_out))
    return Phase(*(np.asarray(a, dtype=np.float32) for a in (*settings, *flags)))
