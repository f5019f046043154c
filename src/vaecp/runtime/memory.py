"""How much memory there is, asked before a file may take it."""

from __future__ import annotations

import os
from pathlib import Path

from vaecp.errors import FormatError

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None


def available_memory() -> int:
    """Return how many bytes this process may still take: of the machine, its container, its limit."""
    found = [_of_machine(), _of_container(), _of_process()]
    return max(min(n_bytes for n_bytes in found if n_bytes is not None), 0)


def refuse_beyond_memory(path: str | Path, n_bytes: float) -> None:
    """Refuse to read what would not fit in memory, before any of it is taken."""
    free = available_memory()
    if n_bytes > free:
        raise FormatError(
            f"{path}: needs about {_gigabytes(n_bytes)} of memory, and {_gigabytes(free)} is free: "
            "write a smaller part of it, or use a machine with more; is the file damaged?"
        )


def _gigabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:,.3g} GB"


def _of_machine() -> int:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**62  # a system that does not say


def _of_container() -> int | None:
    limit = _lines("/sys/fs/cgroup/memory.max")
    taken = _lines("/sys/fs/cgroup/memory.current")
    known = limit and taken and limit[0].isdigit() and taken[0].isdigit()
    return int(limit[0]) - int(taken[0]) if known else None


def _of_process() -> int | None:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource else -1
    if resource is None or limit == resource.RLIM_INFINITY:
        return None
    taken = _lines("/proc/self/statm")
    return limit - int(taken[0].split()[0]) * resource.getpagesize() if taken else limit


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
