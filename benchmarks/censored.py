"""Saturated peaks: values above the 90th percentile become limits, and VAECP estimates them.

    python benchmarks/censored.py                          fia, sugar and amino: some minutes
    python benchmarks/censored.py --only amino --effort quick

Needs the files that `VAECP_DATA` names. Beside it stands the same fit in which the same values are
plainly missing. The target: 90 % intervals hold 85 to 95 % of the hidden values.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import vaecp
from vaecp.data.limits import saturated
from vaecp.data.observations import Observations

NAMES = ("fia", "sugar", "amino")
CUT = 0.9
HEADER = "| tensor | limits are | entries | hidden | RMSE / std | 90 % intervals hold | seconds |"


def row(name: str, tensor: Observations, effort: str, *, limits: bool) -> str:
    """Fit to the values below the cut, and measure on those above it."""
    level = float(np.quantile(tensor.values, CUT))
    hidden = tensor.take(tensor.values >= level)
    training = saturated(tensor, level)
    if not limits:
        training = replace(training, limits=None)
    started = time.perf_counter()
    model = vaecp.VAECP(effort=effort, random_state=0).fit_tensor(training)
    seconds = time.perf_counter() - started
    prediction = model.predict_at(hidden.indices)
    error = vaecp.metrics.rmse(prediction, hidden.values) / tensor.values.std()
    share = vaecp.metrics.coverage(prediction, hidden.values, 0.9)
    words = "known" if limits else "not known"
    return (
        f"| {name} | {words} | {len(training):,} | {len(hidden):,} | {error:.3f} | {share:.1%} "
        f"| {seconds:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(NAMES), help="tensors, with commas")
    parser.add_argument("--effort", default="normal", help="quick, normal or thorough")
    parser.add_argument(
        "--every", type=int, default=1, help="take every n-th row of the first mode"
    )
    asked = parser.parse_args()
    print(HEADER)
    print("|---" * 7 + "|")
    for name in asked.only.split(","):
        tensor = vaecp.datasets.load(name)
        tensor = tensor.take(tensor.indices[:, 0] % asked.every == 0)
        for limits in (True, False):
            print(row(name, tensor, asked.effort, limits=limits), flush=True)


if __name__ == "__main__":
    main()
