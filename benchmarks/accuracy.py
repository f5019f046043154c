"""How well VAECP fills gaps beside what people use: one table, and every run behind it.

Errors are in units of the training entries' standard deviation (raw units for alog). VAECP
runs with its defaults. Masked CP and SMURFF run at several ranks, and the table takes the rank
that is best *on the test entries*, an advantage that VAECP does not have.

    python benchmarks/accuracy.py run --method VAECP --dataset amino     runs that are missing
    python benchmarks/accuracy.py table                                  Markdown, from the runs
    python benchmarks/accuracy.py export tensors.npz                     for a bare machine

Runs are appended to docs/results/accuracy.jsonl, one line each, and never repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np
from tasks import GAPS, SPLITS, export, task

import vaecp
from vaecp.metrics import summary
from vaecp.observations import Observations, Standardiser
from vaecp.prediction import Prediction

RUNS = Path(__file__).parents[1] / "docs" / "results" / "accuracy.jsonl"
RANKS = {
    "CPALS": {
        "synthetic": ["r"],
        "amino": [12, 16],
        "fia": [40, 60],
        "sugar": [30, 60],
        "alog": [2, 5],
    },
    "SMURFF": {
        "synthetic": ["r"],
        "amino": [16, 24],
        "fia": [60, 80],
        "sugar": [60],
        "alog": [5, 10],
    },
    "FBCP": {"synthetic": [20], "amino": [16], "fia": [40], "sugar": [20], "alog": [10]},
    "paper": {"synthetic": ["r"], "amino": [20], "fia": [20], "sugar": [20], "alog": [20]},
}
METHODS = ("VAECP", "paper", "CPALS", "FBCP", "SMURFF", "mean")


def ranks(method: str, dataset: str) -> list[int | None]:
    """The ranks that a method is tried at; None where it chooses, or has none."""
    if method not in RANKS:
        return [None]
    family, _, r = dataset.partition("-")
    return [int(r) if rank == "r" else rank for rank in RANKS[method][family]]


def predict(
    method: str, rank: int | None, training: Observations, held_out: Observations, args
) -> Prediction:
    if method == "mean":
        spread = Standardiser.of(training.values)
        return Prediction(*(np.full(len(held_out), v) for v in (spread.location, spread.scale, 0)))
    if method == "SMURFF":
        from smurff_baseline import predict as smurff_predict

        assert rank is not None
        mean = smurff_predict(training, held_out, rank, seed=0)
        return Prediction(mean, np.full(len(mean), np.nan), np.zeros(len(mean)))  # means alone
    if method == "paper":
        model = vaecp.VAECP.paper(rank=rank, max_epochs=args.paper_epochs, random_state=0)
    elif method == "VAECP":
        model = vaecp.VAECP(random_state=args.seed)
    elif method == "CPALS":  # the ridge keeps ranks beyond what the data support from running away
        model = vaecp.CPALS(rank=rank, ridge=0.03, random_state=0)
    else:
        model = getattr(vaecp, method)(rank=rank, random_state=0)
    return model.fit_tensor(training).predict_at(held_out.indices)


def measure(key: dict, args) -> dict:
    training, held_out = task(key["dataset"], key["gaps"], key["split"], args.exported)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prediction = predict(key["method"], key["rank"], training, held_out, args)
    seconds = time.perf_counter() - start
    values = held_out.values
    if key["dataset"] != "alog":
        location, scale = training.values.mean(), training.values.std()
        unit = Standardiser(-location / scale, 1 / scale)
        prediction, values = prediction.in_units_of(unit), unit.invert(values)
    return key | summary(prediction, values) | {"seconds": round(seconds, 2), "device": device()}


def device() -> str:
    import jax

    first = jax.devices()[0]
    return (
        f"{os.cpu_count()} cores, {platform.machine()}"
        if first.platform == "cpu"
        else first.device_kind
    )


def recorded() -> list[dict]:
    if not RUNS.exists():
        return []
    return [json.loads(line) for line in RUNS.read_text().splitlines()]


def run(args) -> None:
    names = ("method", "dataset", "gaps", "split", "rank", "seed")
    done = {tuple(row[name] for name in names) for row in recorded()}
    deadline = time.monotonic() + args.minutes * 60
    for dataset in args.dataset or SPLITS:
        for split in list(SPLITS[dataset])[: args.splits]:
            for method in args.method or METHODS:
                for rank in ranks(method, dataset):
                    key = dict(
                        zip(
                            names, (method, dataset, args.gaps, split, rank, args.seed), strict=True
                        )
                    )
                    if tuple(key.values()) in done or time.monotonic() > deadline:
                        continue
                    row = measure(key, args)
                    with args.output.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    print(
                        f"{dataset} {args.gaps} {split} {method} {rank}: {row['rmse']:.5f} "
                        f"{row['coverage_90']:.3f} {row['seconds']} s",
                        flush=True,
                    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["run", "table", "export"])
    parser.add_argument("path", nargs="?", type=Path, help="where to export to")
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--dataset", action="append", choices=list(SPLITS))
    parser.add_argument("--gaps", default="random-20", choices=GAPS)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of VAECP")
    parser.add_argument("--paper-epochs", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=np.inf, help="start no run after these")
    parser.add_argument("--exported", type=Path, help="read tensors from this file")
    parser.add_argument("--output", type=Path, default=RUNS)
    args = parser.parse_args()
    if args.what == "export":
        export(args.path)
    elif args.what == "table":
        from accuracy_table import table

        print(table(recorded()))
    else:
        run(args)


if __name__ == "__main__":
    main()
