"""Where arrays live: entries cut over devices, everything else on each of them.

The devices may be those of several processes. Then each process holds the parts of the entries that
lie on its own devices, and all of them run the same programs in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

N_SHARDS = 8
"""Entries are cut into so many parts, and every batch takes as many from each. A batch is then the
same however many devices share the parts, and so is the result, but for rounding. More devices
than that need as many parts, and so see other batches."""

AXIS = "entries"


@dataclass(frozen=True)
class Placement:
    """One device, or several that share the entries."""

    devices: tuple[Any, ...]

    @classmethod
    def on(cls, devices: Any = None) -> Placement:
        """Take one device (None leaves it to JAX), "all", a kind such as "cpu", or a list.

        A list holds devices, or their places in `jax.devices()`.

        Of a number that is no power of two, as many are used as the next smaller one. Where
        several processes work together, all their devices are used.
        """
        if devices is None and jax.process_count() > 1:
            devices = "all"
        found = tuple(_devices(devices))
        _check(found)
        return cls(found[: 1 << (len(found).bit_length() - 1)])

    @property
    def is_one(self) -> bool:
        return len(self.devices) == 1

    @property
    def is_cpu(self) -> bool:
        return all(device.platform == "cpu" for device in self.devices)

    @property
    def is_local(self) -> bool:
        """Whether all devices are those of this process."""
        return jax.process_count() == 1

    @property
    def n_parts(self) -> int:
        return max(N_SHARDS, len(self.devices))

    @property
    def mesh(self) -> Mesh:
        return Mesh(np.array(self.devices), (AXIS,))

    @property
    def by_entries(self) -> NamedSharding:
        return NamedSharding(self.mesh, PartitionSpec(AXIS))

    def parts_here(self, n_parts: int) -> range:
        """Which parts of the entries lie on devices of this process."""
        held = self.by_entries.addressable_devices_indices_map((n_parts,)).values()
        ends = [index[0].indices(n_parts) for index in held if index is not None]
        return range(min(end[0] for end in ends), max(end[1] for end in ends))

    def of_entries(self, array: Any) -> Any:
        """Place an array whose first axis goes over the parts of the entries."""
        if self.is_local:
            return jax.device_put(array, self.by_entries)
        return jax.make_array_from_callback(array.shape, self.by_entries, array.__getitem__)

    def of_parts_here(self, array: np.ndarray, n_parts: int) -> Any:
        """Place an array of the parts of the entries that lie here."""
        shape = (n_parts, *array.shape[1:])
        return jax.make_array_from_process_local_data(self.by_entries, array, shape)

    def of_all(self, tree: Any) -> Any:
        """Place arrays on every device; processes give the same arrays."""
        everywhere = NamedSharding(self.mesh, PartitionSpec())
        if self.is_local:
            return jax.device_put(tree, everywhere)

        def placed(array: Any) -> Any:
            if isinstance(array, jax.Array) and not array.is_fully_addressable:
                return jax.device_put(array, everywhere)
            host = np.asarray(array)
            return jax.make_array_from_callback(host.shape, everywhere, host.__getitem__)

        return jax.tree.map(placed, tree)

    def as_default(self) -> AbstractContextManager:
        """Let what is not placed live on the first device of this process."""
        here = jax.process_index()
        return jax.default_device(next(d for d in self.devices if d.process_index == here))


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


def _check(devices: Sequence[Any]) -> None:
    if not devices:
        raise ValueError('devices is empty: give at least one of jax.devices(), or "all".')
    for number, device in enumerate(devices):
        if not hasattr(device, "platform"):
            raise ValueError(
                f"devices has {device!r:.60}, which is no device: use some of {jax.devices()}, their "
                'places, or "all".'
            )
        if device in devices[:number]:
            raise ValueError(f"devices has {device!r:.60} more than once: list every device once.")


def _at(place: int) -> Any:
    there = jax.devices()
    if not 0 <= place < len(there):
        raise ValueError(
            f"devices is {place}, but JAX sees {len(there)}: use 0 to {len(there) - 1}."
        )
    return there[place]
