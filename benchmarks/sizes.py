"""Seconds and held-out error of whole fits against the number of entries, beside rivals.

Every fit runs in a process of its own, which then fits once more: "first" holds whatever is loaded
or compiled on the way, "second" is every later fit. Seconds hold the fit and the prediction of the
held-out entries, not imports. RMSE is in standard deviations of the training entries.

    python benchmarks/sizes.py
    python benchmarks/sizes.py --only 807,4723
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
from children import measured
from reporting import finish, parser, table

SPLIT = 3000
SIZES = {
    6: ("il2", 6, 3.0),
    807: ("il2", 807, 1.5),
    4_000: ("il2", None, 3.0),
    21_076: ("alog", None, 5.0),
    41_004: ("amino", None, 8.0),
    100_000: ("hangzhou", 100_000, 15.0),
    847_193: ("sugar", None, 90.0),
}
"""Training entries: of which tensor, how many of them, and the seconds that are aimed at."""
RIVALS = {"VAECP": {}, "CPALS": {"rank": 5}, "SMURFF": {"rank": 16}, "LightGBM": {"leaves": 31}}


def entries(size: int):
    """Return training and held-out entries."""
    from vaecp import datasets

    name, kept, _ = SIZES[size]
    if name == "alog":
        return datasets.load_fold("alog", 1)
    training, held_out = datasets.load(name).split(0.2, SPLIT)
    if kept is None:
        return training, held_out
    chosen = np.random.default_rng(SPLIT).permutation(len(training))[:kept]
    return training.take(np.sort(chosen)), held_out


def measure(method: str, size: int) -> dict:
    """Fit twice, in this process."""
    from vaecp.study.rivals import build

    training, held_out = entries(size)
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            means = build(method, RIVALS[method], 0).fit_tensor(training)
            means = means.predict_at(held_out.indices).mean
        seconds.append(time.perf_counter() - started)
    error = np.sqrt(np.mean((means - held_out.values) ** 2)) / training.values.std()
    return {"first": seconds[0], "second": seconds[1], "rmse": float(error)}


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--only", help="sizes, such as 807,4000; all but the largest by default")
    args = options.parse_args()
    asked = [int(size) for size in args.only.split(",")] if args.only else list(SIZES)[:-1]
    rows = []
    for size in asked:
        for method in RIVALS:
            if size < 100 and method != "VAECP":
                continue
            found = measured(__file__, "--child", method, str(size))
            aim = SIZES[size][2] if method == "VAECP" else None
            rows.append([size, SIZES[size][0], method, *found.values(), aim])
            print(rows[-1], file=sys.stderr, flush=True)
    header = ["entries", "tensor", "method", "first, s", "second, s", "RMSE", "aim, s"]
    print(table(header, rows))
    finish({"header": header, "rows": rows}, args.output)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
    else:
        main()
