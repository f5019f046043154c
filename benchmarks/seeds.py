"""Whether any seed collapses: one split of each tensor, fitted from many seeds.

A seed collapses where its held-out RMSE is more than a tenth above the median of all seeds. The split is
the first of the table that `vaecp evaluate` makes: scattered cells, or the published split where cells
are not hidden. `--share` fits to a part of the entries, chosen once.

    python benchmarks/seeds.py                              every tensor, 20 seeds: hours
    python benchmarks/seeds.py --dataset ems --share 0.2
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
from reporting import table

import vaecp
from vaecp.study.evaluation.tensors import SUBJECTS, tasks

MOST = 1.1
"""Of the median, that the worst may be."""


def parts(name: str, share: float) -> tuple[vaecp.Observations, vaecp.Observations]:
    """Return the entries to fit, of which a share is kept, and those to predict."""
    task = next(tasks([name], n_splits=1))
    observations, test = task.tensor.observations, task.tensor.test
    if test is None:
        training, held_out = observations.split(task.held_out, 0)
    else:
        training, held_out = observations.take(~test), observations.take(test)
    kept = np.random.default_rng(0).random(len(training)) < share
    return training.take(kept), held_out


def errors(name: str, n_seeds: int, share: float) -> list[float]:
    """Return the held-out RMSE of every seed, in standard deviations of the training entries."""
    training, held_out = parts(name, share)
    found = []
    for seed in range(n_seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = vaecp.VAECP(random_state=seed).fit_tensor(training)
            means = model.predict_at(held_out.indices).mean
        error = float(np.sqrt(np.mean((means - held_out.values) ** 2)) / training.values.std())
        print(f"{name} seed {seed}: {error:.5g}", file=sys.stderr, flush=True)
        found.append(error)
    return found


def verdict(name: str, found: list[float]) -> list:
    """Return a line of the table."""
    middle, worst = float(np.median(found)), max(found)
    return [name, len(found), min(found), middle, worst, worst / middle, worst > MOST * middle]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", action="append", choices=SUBJECTS, default=[])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--share", type=float, default=1.0, help="of the entries to fit")
    asked = parser.parse_args()
    rows = [
        verdict(name, errors(name, asked.seeds, asked.share)) for name in asked.dataset or SUBJECTS
    ]
    head = ["tensor", "seeds", "best RMSE", "median", "worst", "worst / median", "collapses"]
    print(table(head, rows))
    return int(any(row[-1] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
