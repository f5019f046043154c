"""What training costs against the entries, modes, rank and hidden units; and encoding of labels.

One member of the default decoder, R=20 and K=100 where they do not vary, modes of 1,000 rows.
Every point runs in a process of its own: its memory is the peak of that process less that of one
which only imports. Compilation has a peak of its own, so bytes per entry say little below a million.

    python benchmarks/scaling.py                        up to ten million entries
    python benchmarks/scaling.py --largest 100000000
    python benchmarks/scaling.py --sweep rank --base 100000
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time

from children import measured
from reporting import finish, parser, table

N_ROWS = 1_000
BASE = {"modes": 3, "rank": 20, "hidden": 100}
SWEEPS = {
    "entries": [10**power for power in range(4, 9)],
    "modes": [2, 3, 4, 5, 6],
    "rank": [5, 10, 20, 50, 100],
    "hidden": [16, 32, 64, 128, 256],
}
REPEATS = 3


def measure(point: dict) -> dict:
    """Train at one point, in this process."""
    import epochs

    from vaecp.models.vaecp.gradients.schedule import choose_batch_size

    n_entries = point["entries"]
    observations = epochs.random_entries((N_ROWS,) * point["modes"], n_entries)
    timer = epochs.epoch_timer(
        observations,
        epochs.default(point["rank"], point["hidden"]),
        choose_batch_size(n_entries),
        min_chunks=1,
    )
    seconds = min(timer() for _ in range(REPEATS))
    return {"seconds_per_epoch": seconds, "ns_per_entry": seconds / n_entries * 1e9}


def encode(n_entries: int) -> dict:
    """Time the ways in of integer labels: those of `fit(X, y)`, and a table."""
    import numpy as np
    import pandas as pd

    from vaecp.data.observations import Observations

    random = np.random.default_rng(0)
    keys = random.integers(N_ROWS, size=(n_entries, 3))
    values = random.standard_normal(n_entries)
    frame = pd.DataFrame(keys, columns=["a", "b", "c"])
    listed = frame.assign(value=values)
    ways = {
        "array": lambda: Observations.from_keys(keys, values),
        "DataFrame": lambda: Observations.from_keys(frame, values),
        "table": lambda: Observations.from_table(
            listed, ["a", "b", "c"], "value", duplicates="keep"
        ),
    }
    seconds = {}
    for name, way in ways.items():
        started = time.perf_counter()
        way()
        seconds[name] = time.perf_counter() - started
    return {"entries": n_entries, "seconds": seconds}


def only_import() -> dict:
    """Do what every point does before it begins."""
    import epochs  # noqa: F401

    return {}


def peak_bytes() -> int:
    """Return the most memory that this process has held.

    A process starts from the peak of the one that started it, which must stay small: so nothing
    large is imported at the head of this file.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def sweep(name: str, args: argparse.Namespace, imported: int) -> list[dict]:
    base = BASE | {"entries": min(args.base, args.largest)}
    values = [v for v in SWEEPS[name] if name != "entries" or v <= args.largest]
    points = [base | {name: value} for value in values]
    found = []
    for point in points:
        result = measured(__file__, "--child", json.dumps(point))
        memory = max(result.pop("peak_bytes") - imported, 0)
        found.append(
            point | result | {"bytes": memory, "bytes_per_entry": memory / point["entries"]}
        )
    return found


def printed(name: str, points: list[dict]) -> str:
    columns = ("seconds_per_epoch", "ns_per_entry", "bytes_per_entry")
    rows = (
        [p[name], *(p[c] for c in columns[:2]), p["bytes"] / 1e6, p[columns[2]]] for p in points
    )
    lines = table([name, "seconds per epoch", "ns per entry", "MB", "bytes per entry"], rows)
    if name == "entries" and len(points) > 1:
        few, many = points[0], points[-1]
        slope = (many["bytes"] - few["bytes"]) / (many["entries"] - few["entries"])
        lines += f"\n\nfrom the first to the last: {slope:.0f} bytes per entry"
    return lines + "\n"


def child(what: dict) -> dict:
    if not what:
        result = only_import()
    else:
        result = encode(what["encode"]) if "encode" in what else measure(what)
    return result | {"peak_bytes": peak_bytes()}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--largest", type=int, default=10**7, help="number of entries")
    options.add_argument("--base", type=int, default=10**6, help="entries where they do not vary")
    options.add_argument("--sweep", action="append", choices=[*SWEEPS, "encoding"])
    options.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.child is not None:
        print(json.dumps(child(args.child)))
        return
    imported = measured(__file__, "--child", "{}")["peak_bytes"]
    result: dict = {"import_bytes": imported, "sweeps": {}}
    chosen = args.sweep or [*SWEEPS, "encoding"]
    for name in SWEEPS:
        if name in chosen:
            result["sweeps"][name] = sweep(name, args, imported)
            print(printed(name, result["sweeps"][name]), flush=True)
    if "encoding" in chosen:
        found = measured(__file__, "--child", json.dumps({"encode": args.largest}))
        result["encoding"] = found
        rows = ([way, s, s / args.largest * 1e9] for way, s in found["seconds"].items())
        print(f"{args.largest:,} entries of integer labels\n")
        print(table(["from", "seconds", "ns per entry"], rows))
    finish(result, args.output)


if __name__ == "__main__":
    main()
