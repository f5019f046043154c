"""Run one measurement in a process of its own: nothing is compiled, cached or grown before it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping


def measured(script: str, *arguments: str, environment: Mapping[str, str] | None = None) -> dict:
    """Return the JSON object that the script prints as its last line."""
    child = subprocess.run(
        [sys.executable, script, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    if child.returncode:
        raise RuntimeError(f"{script} {' '.join(arguments)} failed:\n{child.stderr[-2000:]}")
    return json.loads(child.stdout.splitlines()[-1])
