"""Which fit this is: so that checkpoints are those of the same fit, and processes make one fit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.records import pack_fields, record
from vaecp.data.stored import StoredEntries
from vaecp.runtime.checkpoints import checkpoint, kept_in
from vaecp.runtime.processes import is_first, same_everywhere

Step = TypeVar("Step")

IRRELEVANT = ("verbose", "devices")
"""Settings that do not change what is fitted."""


@contextmanager
def checkpointed(
    model: Any,
    data: Observations | StoredEntries,
    folder: str | Path | None,
    interval: float | None = None,
) -> Iterator[None]:
    """Keep checkpoints of a fit of the model to the data inside the block, where a folder is named."""
    if folder is None:
        yield
        return
    with kept_in(folder, identity(model, data), interval):
        yield


def kept_step(name: str, kind: type[Step], compute: Callable[[], Step]) -> Step:
    """Return a step of a fit: read where the checkpoint has kept it, else computed, and kept.

    Steps of one name are told apart by their order, which is the same whenever a fit is repeated.
    """
    kept = checkpoint()
    if kept is None:
        return compute()
    name = kept.numbered(name)
    found = kept.load(name)
    if found is not None:
        with kept.reading(name):
            return record(kind, found[1]["fields"], found[0])
    step, arrays = compute(), {}
    if is_first():
        kept.save(name, arrays, {"fields": pack_fields(step, "step", arrays)})
    return step


def check_processes(model: Any, data: Observations | StoredEntries) -> None:
    """Refuse to go on unless all processes make the same fit."""
    same_everywhere(identity(model, data))


def identity(model: Any, data: Observations | StoredEntries) -> dict[str, str]:
    """Return what tells a fit from others, in words."""
    settings = {
        name: _told(value)
        for name, value in sorted(model.get_params().items())
        if name not in IRRELEVANT
    }
    return {
        "version": f"{version('vaecp')} on JAX {version('jax')}",
        "method": type(model).__name__,
        "settings": str(settings),
        "data": fingerprint(data),
    }


def fingerprint(data: Observations | StoredEntries) -> str:
    """Return the same text for the same entries in the same order."""
    if isinstance(data, StoredEntries):
        return data.fingerprint
    found = hashlib.sha256(str(data.shape).encode())
    limits = (
        () if data.limits is None else (data.limits.indices, data.limits.lower, data.limits.upper)
    )
    others = [each for each in (*data.features, data.weights) if each is not None]
    for array in (data.indices, data.values, *limits, *others):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def _told(value: Any) -> str:
    """A random generator is told by its kind: where it stands is not known from outside."""
    plain = isinstance(value, (int, float, str, tuple, type(None))) or hasattr(value, "get_params")
    return repr(value) if plain else type(value).__name__
