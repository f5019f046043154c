"""Packages of other authors: modules that register methods or formats when they are imported."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

GROUP = "vaecp.plugins"


@cache
def load_plugins() -> None:
    """Import every module that an installed package names in the entry-point group."""
    for entry in entry_points(group=GROUP):
        entry.load()
