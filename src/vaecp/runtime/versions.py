"""Versions of what results depend on, and where they are computed."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from vaecp import __version__


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of this library, of Python, and of those packages that are there."""
    found = {"vaecp": __version__, "python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def device() -> str:
    """Return where JAX computes, in words."""
    import jax

    first = jax.devices()[0]
    cores = f"{platform.machine()}, {os.cpu_count()} cores"
    kind = cores if first.platform == "cpu" else first.device_kind
    return f"{first.platform} ({kind})"
