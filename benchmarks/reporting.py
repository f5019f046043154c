"""What every speed benchmark says beside its figures: the machine, and how they are written."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from vaecp.runtime.threads import n_cores
from vaecp.runtime.versions import versions
from vaecp.study.experiments.provenance import commit

PACKAGES = ("jax", "numba", "numpy", "torch", "smurff", "tensorly")
LOAD_AT_START = round(os.getloadavg()[0], 2)
"""Of the last minute: above a half, others were at work, and figures say little."""


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the one option that all benchmarks share."""
    found = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    found.add_argument("--output", type=Path, help="write the figures here, as JSON")
    return found


def machine() -> dict:
    """Name what the figures were taken on; a package that is not there is left out."""
    import jax

    return {
        "cores": n_cores(),
        "load_at_start": LOAD_AT_START,
        "cpu": _cpu_model(),
        "device": jax.devices()[0].device_kind,
        "versions": versions(*PACKAGES),
        "commit": commit(),
    }


def table(header: Sequence[str], rows: Iterable[Sequence]) -> str:
    """Lay out Markdown; floats have three digits, None is an empty cell."""
    lines = [header, ["---"] * len(header), *([_cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def finish(result: dict, output: Path | None) -> None:
    """Add the machine to a result, and write it where that was asked for."""
    result["machine"] = machine()
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(result, indent=2) + "\n")


def _cell(value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
