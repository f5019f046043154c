"""Loops compiled by Numba, whose machine code is kept in the user's cache folder.

A cache that cannot be written, or that is damaged, costs no more than compiling anew.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numba
from numba.core import serialize, sigutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher

from vaecp.runtime.compilation import folder_of_programs

config: Any = getattr(numba, "config")  # noqa: B009  (made at run time)


def loop(**options: Any) -> Callable[[Callable], Any]:
    """Compile a function when it is called first, as `numba.njit` does, or find it in the cache."""

    def decorate(function: Callable) -> Any:
        dispatcher: Any = numba.njit(**options)(function)
        helpers = _sources_of_helpers(function)
        _SOURCES[dispatcher] = helpers | {function.__code__.co_filename}
        _keep(dispatcher, function, _folder(helpers | {function.__code__.co_filename}))
        return dispatcher

    return decorate


def callback(signature: Any, function: Callable, helpers: str) -> Any:
    """Compile a function that C code calls; `helpers` is the file of the functions that it calls."""
    made = CFunc(function, sigutils.normalize_signature(signature), locals={}, options={})
    _keep(made, function, _folder({helpers}))
    made.compile()
    return made


_SOURCES: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
"""The files that a compiled function is made of."""


def _sources_of_helpers(function: Callable) -> set[str]:
    """Return the other files whose compiled functions a function may call."""
    found = {function.__code__.co_filename}
    for each in function.__globals__.values():
        if isinstance(each, Dispatcher):
            found |= _SOURCES.get(each, set())
    return found - {function.__code__.co_filename}


def _folder(helpers: Iterable[str]) -> str:
    """Name a folder for machine code with that of helpers in it, and with constants.

    Numba looks for changes in the file of the function alone. Constants come from files beside those of
    the functions.
    """
    digest = hashlib.sha256()
    for source in sorted({path for each in helpers for path in Path(each).parent.glob("*.py")}):
        digest.update(source.read_bytes())
    return f"numba-{digest.hexdigest()[:8]}"


class _Checked(CompileResultCacheImpl):
    """Machine code with a checksum: damaged code would crash, or compute something else."""

    def reduce(self, cres: Any) -> tuple[bytes, bytes]:
        content = serialize.dumps(super().reduce(cres))
        return hashlib.sha256(content).digest(), content

    def rebuild(self, target_context: Any, payload: tuple[bytes, bytes]) -> Any:
        digest, content = payload
        if hashlib.sha256(content).digest() != digest:
            raise ValueError("the machine code in the cache is damaged")
        return super().rebuild(target_context, pickle.loads(content))


class _Forgiving(FunctionCache):
    """A cache whose failures leave the work to the compiler."""

    _impl_class = _Checked

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            self._discard()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            self._discard()

    def _discard(self) -> None:
        """Begin with an empty index, if even that can be written."""
        try:
            self.flush()
        except Exception:
            self.disable()


def _keep(compiled: Any, function: Callable, name: str) -> None:
    folder = folder_of_programs(name)
    if folder is None:
        return
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        compiled._cache = _Forgiving(function)
    except (OSError, RuntimeError):  # Numba found no place of its own in the folder
        return
    finally:
        config.CACHE_DIR = before
