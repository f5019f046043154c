"""Where arrays live: entries cut over devices, everything else on each of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

N_SHARDS = 8
"""Entries are always cut into so many parts, and every batch takes as many from each. A batch is
then the same however many devices share the parts, and so is the result, but for rounding."""

AXIS = "entries"


@dataclass(frozen=True)
class Placement:
    """One device, or several that share the entries."""

    devices: tuple[Any, ...]

    @classmethod
    def on(cls, devices: Any = None) -> Placement:
        """Take one device (None leaves it to JAX), "all", a kind such as "cpu", or a list.

        A list holds devices, or their places in `jax.devices()`.

        Of a number that does not divide the parts of the entries, as many are used as do.
        """
        found = tuple(_devices(devices))
        usable = max(n for n in (1, 2, 4, 8) if n <= len(found))
        return cls(found[:usable])

    @property
    def is_one(self) -> bool:
        return len(self.devices) == 1

    @property
    def is_cpu(self) -> bool:
        return all(device.platform == "cpu" for device in self.devices)

    @property
    def mesh(self) -> Mesh:
        return Mesh(np.array(self.devices), (AXIS,))

    def of_entries(self, array: Any) -> Any:
        """Place an array whose first axis goes over the parts of the entries."""
        return jax.device_put(array, NamedSharding(self.mesh, PartitionSpec(AXIS)))

    def of_all(self, tree: Any) -> Any:
        """Place arrays on every device."""
        return jax.device_put(tree, NamedSharding(self.mesh, PartitionSpec()))

    def as_default(self) -> AbstractContextManager:
        """Let what is not placed live on the first device."""
        return jax.default_device(self.devices[0])


def _devices(devices: Any) -> Sequence[Any]:
    if devices is None:
        return jax.devices()[:1]
    if isinstance(devices, str):
        if devices == "all":
            return jax.devices()
        try:
            return jax.devices(devices)[:1]
        except RuntimeError:
            raise ValueError(
                f'devices is {devices!r}, but JAX sees only {jax.devices()}: use one of these, "all" '
                'or "cpu".'
            ) from None
    given = list(devices) if isinstance(devices, (list, tuple)) else [devices]
    return [_at(place) if isinstance(place, int) else place for place in given]


def _at(place: int) -> Any:
    there = jax.devices()
    if not 0 <= place < len(there):
        raise ValueError(
            f"devices is {place}, but JAX sees {len(there)}: use 0 to {len(there) - 1}."
        )
    return there[place]
