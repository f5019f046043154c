"""How many threads or processes may work at once."""

from __future__ import annotations

import os


def n_cores() -> int:
    """Count the cores that this process may use; NPROC, which XLA heeds too, can say fewer."""
    usable = getattr(os, "sched_getaffinity", None)
    found = len(usable(0)) if usable else os.cpu_count() or 1
    told = os.environ.get("NPROC", "")
    return min(found, max(int(told), 1)) if told.isdigit() else found
