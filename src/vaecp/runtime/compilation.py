"""Keep compiled programs between runs, so that only the first fit of a kind waits for XLA."""

from __future__ import annotations

import os
from pathlib import Path

SETTING = "VAECP_COMPILATION_CACHE"
MAX_BYTES = 512 * 2**20


def keep_compiled_programs() -> None:
    """Switch JAX's persistent cache on, in a bounded folder of the user.

    It stays as it is if JAX was given a folder already, and off if the environment variable
    VAECP_COMPILATION_CACHE is "off"; any other value of that variable is the folder to use.
    """
    import jax

    if getattr(jax.config, "jax_compilation_cache_dir", None):
        return
    folder = folder_of_programs("xla")
    if folder is None:
        return
    jax.config.update("jax_compilation_cache_max_size", MAX_BYTES)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_compilation_cache_dir", str(folder))


def folder_of_programs(name: str) -> Path | None:
    """Make and return a folder for compiled programs; None if there is to be none, or cannot be."""
    setting = os.environ.get(SETTING, "")
    if setting == "off":
        return None
    import platformdirs

    folder = Path(setting or platformdirs.user_cache_path("vaecp") / "compiled") / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a read-only home: compile anew each time
        return None
    return folder if os.access(folder, os.W_OK) else None
