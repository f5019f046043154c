"""Linear algebra in one thread, so that bits do not depend on how many there are.

How OpenBLAS cuts a product over threads decides in which order its terms are added. And a pool of
threads that waits for work at every small matrix loses far more, on a machine that others use too,
than it ever wins: an eigendecomposition of 200 rows takes a hundred times as long. What is worth
several cores is cut by hand, into parts that do not depend on their number (`runtime.threads`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_LOCK = threading.Lock()
_INSIDE: list[Any] = []


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (its library must be there to be found)

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread inside this block, whoever else is in such a block.

    The limit is one of the whole process: the first to come sets it, the last to leave lifts it.
    """
    with _LOCK:
        limit = None if _INSIDE else _controller().limit(limits=1, user_api="blas")
        _INSIDE.append(limit or _INSIDE[0])
    try:
        yield
    finally:
        with _LOCK:
            limit = _INSIDE.pop()
            if not _INSIDE:
                limit.restore_original_limits()
