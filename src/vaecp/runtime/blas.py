"""How many threads the linear algebra may use.

A pool of threads that waits for work at every small matrix loses far more, on a machine that
others use too, than it ever wins: an eigendecomposition of 200 rows takes a hundred times as
long. So small work gets one thread; large products get what the user's settings allow.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController

_SMALL = 1e8
"""Multiplications between two waits, below which one thread is best."""


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager:
    """Keep linear algebra to one thread inside this block."""
    return _controller().limit(limits=1, user_api="blas")


def threads_for(n_multiplications: float) -> AbstractContextManager:
    """Keep linear algebra to one thread if each of its calls is this small."""
    return one_thread() if n_multiplications < _SMALL else nullcontext()
