"""Entries a second that a fitted model predicts: means alone, and with their uncertainty.

K=100 and R=20 on a smooth tensor of the size of amino, trained for an epoch or two: how well does
not matter here. "labels" is `predict` of a table of labels, "means" and "with std" take coordinates.

    python benchmarks/prediction.py
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from reporting import finish, parser, table

import vaecp
from vaecp.data.observations import Observations

SHAPE = (5, 51, 201)
RANK, HIDDEN = 20, 100


def smooth_tensor() -> Observations:
    """Three peaks that overlap, a fifth of the entries left out: the spectra of a toy."""
    random = np.random.default_rng(0)
    curves = [
        np.exp(-(((np.arange(n)[:, None] / n - np.array([0.3, 0.5, 0.7])) / 0.2) ** 2))
        for n in SHAPE[1:]
    ]
    array = np.einsum("ir,jr,kr->ijk", random.uniform(size=(SHAPE[0], 3)), *curves)
    array += 0.01 * random.standard_normal(SHAPE)
    return Observations.from_array(array).split(0.2, random_state=0)[0]


def models() -> dict[str, vaecp.VAECP]:
    sizes = {"rank": RANK, "hidden": HIDDEN, "max_epochs": 2, "random_state": 0}
    return {
        "published": vaecp.VAECP.paper(**sizes),
        "4 members": vaecp.VAECP(**sizes, n_members=4, neighbours=False),
        "4 members, neighbours": vaecp.VAECP(**sizes, n_members=4),
    }


def measure(model: vaecp.VAECP, n_entries: int, repeats: int) -> dict:
    random = np.random.default_rng(1)
    indices = np.stack([random.integers(n, size=n_entries) for n in SHAPE], axis=1)
    seconds = {
        "means": best_of(repeats, lambda: model.fitted_.predict_mean(indices)),
        "with_std": best_of(repeats, lambda: model.predict_at(indices)),
        "labels": best_of(repeats, lambda: model.predict(indices)),
    }
    return {
        "entries_per_second": {name: n_entries / s for name, s in seconds.items()},
        "neighbours": bool(model.fitted_.near),
    }


def best_of(repeats: int, run: Callable[[], object]) -> float:
    """Seconds of the fastest run, after one that compiles."""
    run()
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--entries", type=int, default=1_000_000)
    options.add_argument("--repeats", type=int, default=5)
    args = options.parse_args()
    tensor = smooth_tensor()
    found = {}
    for name, model in models().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit_tensor(tensor)
        found[name] = measure(model, args.entries, args.repeats)
    rows = (
        [name, *(result["entries_per_second"][kind] / 1e6 for kind in kinds), result["neighbours"]]
        for kinds in [("means", "with_std", "labels")]
        for name, result in found.items()
    )
    print(f"{args.entries:,} entries, R={RANK}, K={HIDDEN}: million entries a second\n")
    print(table(["model", "means", "with std", "labels", "corrected by neighbours"], rows))
    result = {"entries": args.entries, "rank": RANK, "hidden": HIDDEN, "models": found}
    finish(result, args.output)


if __name__ == "__main__":
    main()
