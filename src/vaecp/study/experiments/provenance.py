"""Which code made a result: what it depends on besides its settings and the machine."""

from __future__ import annotations

import hashlib
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

import vaecp

HOME = Path(vaecp.__file__).parent
ROOMS = ("data", "models", "study/rivals")
"""Where the code lies that decides what a run measures."""
PACKAGES = ("jax", "numba", "numpy", "scipy", "scikit-learn", "lightgbm", "smurff")


@cache
def code() -> str:
    """Return a digest of every module that decides what a run measures."""
    digest = hashlib.sha256()
    for room in ROOMS:
        for path in sorted((HOME / room).rglob("*.py")):
            digest.update(path.relative_to(HOME).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@cache
def commit() -> str:
    """Return the commit that the package lies in, with "+" after changes; "" outside a checkout."""
    root = HOME.parents[1]
    if not (root / ".git").exists():
        return ""
    with suppress(OSError, subprocess.CalledProcessError):
        found = _git("rev-parse", "--short=12", "HEAD").strip()
        return f"{found}+" if _git("status", "--porcelain", "--", ".") else found
    return ""


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(HOME), *arguments], capture_output=True, text=True, check=True
    ).stdout
