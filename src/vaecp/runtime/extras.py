"""Optional dependencies: imported on first use, and named by their extra when absent."""

from __future__ import annotations

import importlib
from typing import Any

from vaecp.errors import MissingExtraError


def require(module: str, extra: str, purpose: str) -> Any:
    """Import a module, or name the extra that brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs {module.split('.')[0]}, which is not installed: "
            f"pip install 'vaecp[{extra}]'."
        ) from error
