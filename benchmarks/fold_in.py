"""How well new samples are folded in: error beside a full refit, and coverage of 90 % intervals.

    python benchmarks/fold_in.py amino fia synthetic     the named tensors; VAECP with effort "quick"

A fifth of the rows of the first mode are left out whole, and folded in from 5, 20 and 50 % of their
entries. The aim: intervals hold 85 to 95 %, and the error is at most 1.1 times that of a refit.
"""

from __future__ import annotations

import sys

import numpy as np

import vaecp

SHARES = (0.05, 0.2, 0.5)


def model() -> vaecp.VAECP:
    return vaecp.VAECP(effort="quick", random_state=0)


def figures(fitted: vaecp.VAECP, asked: vaecp.Observations) -> tuple[float, float]:
    prediction = fitted.predictive(asked.keys())
    low, high = prediction.interval(0.9)
    inside = (low <= asked.values) & (asked.values <= high)
    return float(np.sqrt(np.mean((prediction.mean - asked.values) ** 2))), float(inside.mean())


def measure(name: str) -> None:
    observations = vaecp.datasets.load(name)
    random, scale = np.random.default_rng(0), float(observations.values.std())
    n_rows = observations.shape[0]
    left_out = random.choice(n_rows, max(1, n_rows // 5), replace=False)
    new = np.isin(observations.indices[:, 0], left_out)
    fitted = model().fit(observations.take(~new).keys(), observations.values[~new])
    for share in SHARES:
        given = new & (random.random(len(new)) < share)
        known, asked = observations.take(~new | given), observations.take(new & ~given)
        grown = fitted.fold_in(observations.take(given).keys(), observations.values[given])
        rmse, coverage = figures(grown, asked)
        refit, refit_coverage = figures(model().fit(known.keys(), known.values), asked)
        print(
            f"{name:12} {share:4.0%}  folded in {rmse / scale:.4f} ({coverage:.1%})  "
            f"refit {refit / scale:.4f} ({refit_coverage:.1%})  ratio {rmse / refit:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    for each in sys.argv[1:] or ("amino", "fia", "synthetic"):
        measure(each)
