"""How well VAECP fills gaps beside what people use: one table, and every run behind it.

Errors are in units of the training entries' standard deviation (raw units for alog). VAECP
runs with its defaults. Masked CP and SMURFF run at several settings, and the table takes those
that are best *on the test entries*, an advantage that VAECP does not have.

    python benchmarks/accuracy.py run --method VAECP --dataset amino     runs that are missing
    python benchmarks/accuracy.py table                                  Markdown, from the runs
    python benchmarks/accuracy.py export tensors.npz                     for a bare machine

Runs are appended to docs/results/accuracy.jsonl, one line each, and never repeated.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
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
SETTINGS: dict[str, dict[str, list[dict]]] = {
    "CPALS": {
        "synthetic": [{"rank": "r"}],
        "amino": [{"rank": 12}, {"rank": 16}, {"rank": 16, "ridge": 0.03}],
        "fia": [{"rank": 60}, {"rank": 60, "ridge": 1e-4}, {"rank": 80, "ridge": 1e-4}],
        "sugar": [{"rank": 30}, {"rank": 60, "ridge": 0.03}],
        "alog": [{"rank": 3, "ridge": 0.3}, {"rank": 5, "ridge": 1.0}],
    },
    "SMURFF": {
        "synthetic": [{"rank": "r"}],
        "amino": [{"rank": 16}, {"rank": 24}],
        "fia": [{"rank": 60}, {"rank": 80}],
        "sugar": [{"rank": 60}],
        "alog": [{"rank": 5}, {"rank": 10}],
    },
    "FBCP": {
        "synthetic": [{"rank": 20}],
        "amino": [{"rank": 16}],
        "fia": [{"rank": 40}],
        "sugar": [{"rank": 20}],
        "alog": [{"rank": 10}],
    },
    "paper": {  # about 100,000 steps each
        "synthetic": [{"rank": "r", "hidden": 50, "learning_rate": 1e-4, "max_epochs": 468}],
        "amino": [{"rank": 20, "max_epochs": 73}],
        "fia": [{"rank": 20, "max_epochs": 35}],
        "sugar": [{"rank": 20, "max_epochs": 4}],
        "alog": [{"rank": 20, "max_epochs": 200}],
    },
}
METHODS = ("VAECP", "paper", "CPALS", "FBCP", "SMURFF", "mean")


def settings(method: str, dataset: str) -> list[dict]:
    """What a method is tried with: nothing where it chooses for itself."""
    family, _, r = dataset.partition("-")
    tried = SETTINGS.get(method, {}).get(family, [{}])
    return [given | ({"rank": int(r)} if given.get("rank") == "r" else {}) for given in tried]


def predict(
    method: str, given: dict, training: Observations, held_out: Observations, seed: int
) -> Prediction:
    if method == "mean":
        spread = Standardiser.of(training.values)
        return Prediction(*(np.full(len(held_out), v) for v in (spread.location, spread.scale, 0)))
    if method == "SMURFF":
        from smurff_baseline import predict as smurff_predict

        mean = smurff_predict(training, held_out, given["rank"], seed)
        return Prediction(mean, np.full(len(mean), np.nan), np.zeros(len(mean)))  # means alone
    make = vaecp.VAECP.paper if method == "paper" else getattr(vaecp, method)
    model = make(**given, random_state=seed).fit_tensor(training)
    return model.predict_at(held_out.indices)


def measure(key: dict, args) -> dict:
    training, held_out = task(key["dataset"], key["gaps"], key["split"], args.exported)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prediction = predict(key["method"], key["settings"], training, held_out, key["seed"])
    seconds = time.perf_counter() - start
    values = held_out.values
    if key["dataset"] != "alog":
        location, scale = training.values.mean(), training.values.std()
        unit = Standardiser(-location / scale, 1 / scale)
        prediction, values = prediction.in_units_of(unit), unit.invert(values)
    scores = {
        name: v if np.isfinite(v) else None for name, v in summary(prediction, values).items()
    }
    if key["method"] == "SMURFF":  # its spread is that of the mean alone
        scores |= {name: None for name in scores if name not in ("rmse", "mae")}
    return key | scores | {"seconds": round(seconds, 2), "device": device()}


def device() -> str:
    import jax

    first = jax.devices()[0]
    return (
        f"{os.cpu_count()} cores, {platform.machine()}"
        if first.platform == "cpu"
        else first.device_kind
    )


@functools.cache
def code() -> str:
    """Tell versions of the library apart: runs of an earlier one are not those of this one."""
    digest = hashlib.sha256()
    home = Path(vaecp.__file__).parent
    for pattern in ("*.py", "fused/*.py", "models/vaecp*.py"):
        for path in sorted(home.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def recorded() -> list[dict]:
    if not RUNS.exists():
        return []
    return [json.loads(line) for line in RUNS.read_text().splitlines()]


def run(args) -> None:
    done = {identity(row) for row in recorded()}
    deadline = time.monotonic() + args.minutes * 60
    for dataset in args.dataset or SPLITS:
        for split in list(SPLITS[dataset])[: args.splits]:
            for method in args.method or METHODS:
                for given in settings(method, dataset):
                    key = {
                        "method": method,
                        "dataset": dataset,
                        "gaps": args.gaps,
                        "split": split,
                        "settings": given,
                        "seed": args.seed,
                        "code": code() if method == "VAECP" else "",
                    }
                    if identity(key) in done or time.monotonic() > deadline:
                        continue
                    row = measure(key, args)
                    with args.output.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    print(json.dumps(row), flush=True)


def identity(row: dict) -> str:
    """What makes a run the same run."""
    names = ("method", "dataset", "gaps", "split", "settings", "seed", "code")
    return json.dumps([row[name] for name in names], sort_keys=True)


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
    parser.add_argument("--seed", type=int, default=0, help="of the method")
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
