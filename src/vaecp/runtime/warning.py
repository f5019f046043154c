"""Warnings that point at the user's own line."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn, with the line outside this package that led here as the place."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and os.path.realpath(frame.f_code.co_filename).startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
