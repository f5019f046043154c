"""Where the rows of each mode lie in the one table that holds the rows of all modes.

One table means one draw and one update per training step, whatever the number of modes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import jax.numpy as jnp
import numpy as np
from jax import Array

from vaecp.runtime.padding import round_up

MIN_TABLE = 32


@dataclass(frozen=True)
class RowLayout:
    """Table sizes per mode; they may exceed the modes' own sizes, the rest being padding."""

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> RowLayout:
        """Round the sizes up, so that similar tensors share a compiled program."""
        return cls(tuple(round_up(n_rows, at_least=MIN_TABLE) for n_rows in shape))

    @property
    def n_modes(self) -> int:
        return len(self.sizes)

    @property
    def n_rows(self) -> int:
        return sum(self.sizes)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where each mode's rows begin."""
        return (0, *accumulate(self.sizes[:-1]))

    def split(self, table: Array) -> tuple[Array, ...]:
        """Cut a table of all rows into one per mode."""
        return tuple(jnp.split(table, self.offsets[1:]))  # its gradient is one concatenation

    def spread(self, per_mode: Array) -> Array:
        """Repeat (modes, R) for every row of the mode; (1, R) serves all modes alike."""
        if per_mode.shape[0] == 1:
            return per_mode
        return jnp.concatenate(
            [
                jnp.broadcast_to(row, (size, *row.shape))
                for row, size in zip(per_mode, self.sizes, strict=True)
            ]
        )

    def is_row(self, shape: tuple[int, ...]) -> np.ndarray:
        """1 for rows of the tensor, 0 for padding."""
        return np.concatenate(
            [
                (np.arange(size) < n_rows).astype(np.float32)
                for size, n_rows in zip(self.sizes, shape, strict=True)
            ]
        )
