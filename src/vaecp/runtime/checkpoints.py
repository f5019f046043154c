"""Long computations that survive: what they need to go on is kept in a folder.

Whoever starts a computation names the folder (`kept_in`); loops that take long ask for it
(`checkpoint`), as they do for watchers of progress. A computation is repeated from its start, and
steps that were kept are read instead of computed: so the result has the bits of one that was never
interrupted.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from vaecp.errors import CheckpointError, VaecpError
from vaecp.runtime.files import write_arrays, write_text
from vaecp.runtime.processes import is_first, is_lost_connection, same_everywhere

SCHEMA, HEADER = 2, "checkpoint.json"
INTERVAL = 180.0

_CURRENT: ContextVar[Checkpoint | None] = ContextVar("checkpoint", default=None)


def checkpoint() -> Checkpoint | None:
    """Return where to keep what a long computation needs to go on; None keeps nothing."""
    return _CURRENT.get()


@contextmanager
def kept_in(
    folder: str | Path | None, of: dict[str, Any], interval: float | None = None
) -> Iterator[None]:
    """Let computations inside the block keep checkpoints in a folder, and go on from those there.

    Parameters
    ----------
    folder : created where it does not exist; None keeps nothing.
    of : plain values that say which computation this is. A folder of another one is refused.
    interval : seconds between two checkpoints, at least; 180 by default.
    """
    if folder is None:
        yield
        return
    kept = Checkpoint(Path(folder).expanduser(), of, interval)
    token = _CURRENT.set(kept)
    try:
        yield
    except (VaecpError, OSError, MemoryError):
        raise
    except Exception as error:
        if not kept.was_read or is_lost_connection(error):
            raise
        raise CheckpointError(
            f"{folder}: the fit went on from what is kept here, and failed ({type(error).__name__}: "
            f"{str(error)[:200]}): remove this folder to start from the beginning."
        ) from error
    finally:
        _CURRENT.reset(token)


class Checkpoint:
    """A folder with one safetensors file for every step of a computation that is done or under way."""

    def __init__(self, folder: Path, of: dict[str, Any], interval: float | None = None) -> None:
        self.folder, self.interval = folder, INTERVAL if interval is None else interval
        self._saved, self.was_read = time.monotonic(), False
        self._counts: Counter[str] = Counter()
        header = {"schema": SCHEMA, **of}
        path = folder / HEADER
        try:
            folder.mkdir(parents=True, exist_ok=True)
            empty = not any(folder.iterdir())
        except OSError as error:
            raise CheckpointError(
                f"{folder}: cannot hold checkpoints ({error.strerror}): name a folder."
            ) from error
        if empty and is_first():
            write_text(path, json.dumps(header))
        same_everywhere({"checkpoint folder": str(folder)})  # the first has written by now
        _check_header(path, header)

    def is_due(self) -> bool:
        """Whether the last checkpoint is old enough for another."""
        return time.monotonic() - self._saved >= self.interval

    def save(self, name: str, arrays: dict[str, np.ndarray], told: dict[str, Any]) -> None:
        """Keep arrays and plain values of a step, in place of those that were kept of it."""
        whole = {key: np.array(array, order="C", copy=True) for key, array in arrays.items()}
        metadata = {"told": json.dumps(told), "checksum": _checksum(whole, told)}
        write_arrays(self._path(name), whole, metadata)
        self._saved = time.monotonic()

    def load(self, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Return what was kept of a step, or None."""
        from safetensors import SafetensorError, safe_open

        path = self._path(name)
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata() or {}
                arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            told = json.loads(metadata.get("told", "null"))
        except (OSError, ValueError, RecursionError, SafetensorError) as error:
            raise _damaged(path, error) from error
        if not isinstance(told, dict) or metadata.get("checksum") != _checksum(arrays, told):
            raise _damaged(path, "its checksum is another")
        self.was_read = True
        return arrays, told

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """Turn whatever contents of a step that do not fit lead to into one line."""
        try:
            yield
        except (VaecpError, MemoryError):
            raise
        except Exception as error:
            raise _damaged(self._path(name), str(error)[:200] or type(error).__name__) from error

    def numbered(self, name: str) -> str:
        """Return the name with a number that counts how often it was asked for."""
        self._counts[name] += 1
        return f"{name}-{self._counts[name]:04d}"

    def once(self, name: str, value: Any) -> Any:
        """Return a plain value as it was when this was asked first, here or before an interruption."""
        found = self.load(name)
        if found is not None:
            kept = found[1].get("value")
            if type(kept) is not type(value):
                raise _damaged(self._path(name), f"it holds {kept!r:.60}, and not {value!r:.60}")
            return kept
        if is_first():
            self.save(name, {}, {"value": value})
        return value

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"


def _check_header(path: Path, wanted: dict[str, Any]) -> None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(
            f"{path.parent}: holds files but no checkpoint: name an empty folder, or a new one."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, error) from error
    wanted = json.loads(json.dumps(wanted))
    if found == wanted:
        return
    told = found if isinstance(found, dict) else {}
    names = [name for name in wanted if told.get(name) != wanted[name]] or ["contents"]
    first = names[0]
    raise CheckpointError(
        f"{path.parent}: is the checkpoint of another fit, whose {first} is {told.get(first)!r:.200} "
        f"and not {wanted.get(first)!r:.200}: name another folder, or remove this one."
    )


def _damaged(path: Path, why: object) -> CheckpointError:
    return CheckpointError(
        f"{path}: is damaged ({why}): remove the folder {path.parent} to start from the beginning."
    )


def _checksum(arrays: dict[str, np.ndarray], told: dict[str, Any]) -> str:
    found = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(array.data if array.size else b"")
    return found.hexdigest()
