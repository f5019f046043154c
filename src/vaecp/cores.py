"""How many threads or processes may work at once, and work for threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")
_this_thread = threading.local()


def n_cores() -> int:
    """Count the cores that this process may use; NPROC, which XLA heeds too, can say fewer."""
    usable = getattr(os, "sched_getaffinity", None)
    found = len(usable(0)) if usable else os.cpu_count() or 1
    told = os.environ.get("NPROC", "")
    return min(found, max(int(told), 1)) if told.isdigit() else found


def first_then_in_threads(function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
    """Apply a function to the first item, which compiles what it needs, then to all others at once."""
    return [*map(function, items[:1]), *in_threads(function, items[1:])]


def in_threads(function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
    """Apply a function to all items at once, as far as there are cores, on JAX's chosen device.

    Within a thread of such work there are no cores left: items are taken in turn.
    """
    import jax

    if getattr(_this_thread, "is_one_of_many", False):
        return [function(item) for item in items]
    device = getattr(jax.config, "jax_default_device")  # noqa: B009  (set at run time)

    def on_device(item: Item) -> Found:
        _this_thread.is_one_of_many = True
        with jax.default_device(device):  # a thread does not inherit it, and would compile anew
            return function(item)

    with ThreadPoolExecutor(max(1, min(len(items), n_cores()))) as threads:
        return list(threads.map(on_device, items))
