"""How many threads or processes may work at once, and work for threads."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from functools import cache
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")
_this_thread = threading.local()

MOST_SIDE_BY_SIDE = 8


def n_cores() -> int:
    """Count the cores that this process may use; NPROC, which XLA heeds too, can say fewer."""
    usable = getattr(os, "sched_getaffinity", None)
    found = len(usable(0)) if usable else os.cpu_count() or 1
    told = os.environ.get("NPROC", "")
    return min(found, max(int(told), 1)) if told.isdigit() else found


def in_threads(function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
    """Apply a function to all items at once, as far as there are cores, on JAX's chosen device.

    Within a thread of such work there are no cores left: items are taken in turn.
    """
    if len(items) < 2 or n_cores() == 1 or getattr(_this_thread, "is_one_of_many", False):
        return [function(item) for item in items]
    jax = sys.modules.get("jax")  # work without JAX does not wait for its import
    device = getattr(jax.config, "jax_default_device") if jax else None  # noqa: B009

    def in_thread(item: Item) -> Found:
        _this_thread.is_one_of_many = True
        # A thread does not inherit the device, and would compile anew.
        with jax.default_device(device) if jax and device else nullcontext():
            return function(item)

    # Nor who watches how far the work is.
    contexts = [copy_context() for _ in items]
    return list(_pool(n_cores()).map(lambda c, item: c.run(in_thread, item), contexts, items))


def side_by_side(function: Callable[[Item], Found], items: Sequence[Item]) -> Iterator[Found]:
    """Yield what a function finds for every item, in order, while threads work on the next ones.

    At most eight are worked on at a time, and as many wait: memory does not grow with the items.
    """
    n_threads = min(n_cores(), MOST_SIDE_BY_SIDE)
    waiting: deque[Future[Found]] = deque()
    pool = ThreadPoolExecutor(n_threads)
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Threads that are kept: starting them takes longer than a small piece of work."""
    return ThreadPoolExecutor(n_threads)


if hasattr(os, "register_at_fork"):  # a child process has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
