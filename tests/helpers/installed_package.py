"""A package of another author that is installed beside this one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def help_with(folder: Path, source: str, command: str) -> str:
    """Return the help of a command, where an entry point names a module with this source."""
    (folder / "their_package.py").write_text(source)
    described = folder / "their_package-1.0.dist-info"
    described.mkdir(exist_ok=True)
    (described / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n"
    )
    (described / "entry_points.txt").write_text("[vaecp.plugins]\ntheirs = their_package\n")
    paths = (str(folder), os.environ.get("PYTHONPATH", ""))
    outcome = subprocess.run(
        [sys.executable, "-m", "vaecp", command, "--help"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "500"},
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stderr
    return " ".join(outcome.stdout.split())
