"""Training throughput of the published model, ours beside PyTorch: nanoseconds per entry.

Every batch size is timed in turns, ours and PyTorch's, and the fastest turn counts: what else
the machine does slows both. PyTorch runs with one thread and with one per core, and the faster
counts. Compilation is left out, shuffling is not.

Our loop draws a row once per step, for all entries of the batch that share it. PyTorch is timed with
a draw per entry, as the published model reads, and with draws that are shared like ours.

    python benchmarks/throughput.py                                     the size of amino
    python benchmarks/throughput.py --shape 10000,5000,1000 --batch 524288 --no-torch
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable

import epochs
from reporting import finish, parser, table

from vaecp.runtime.threads import n_cores

AMINO, AMINO_ENTRIES = (5, 51, 201), 41_004
MANY_ENTRIES = 2**24
PUBLISHED_BATCH = 30
OUR_BATCHES = (PUBLISHED_BATCH, 1024, 4096, 16384)
TORCH_BATCHES = (PUBLISHED_BATCH, 1024, 4096, 8192)

SIDES = {"vaecp": "vaecp", "torch": "PyTorch", "torch_shared_draws": "PyTorch, shared draws"}

Timers = dict[tuple[str, int, int | None], Callable[[], float]]
"""By side, batch size and, of PyTorch, number of threads."""


def timers(args: argparse.Namespace) -> Timers:
    observations = epochs.random_entries(args.shape, args.entries)
    architecture = epochs.published(args.rank, args.hidden)
    found: Timers = {
        ("vaecp", batch, None): epochs.epoch_timer(observations, architecture, batch)
        for batch in _batches(args, OUR_BATCHES)
    }
    if not args.no_torch:
        import pytorch_reference

        entries = observations.indices, observations.values
        sizes = args.shape, args.rank, args.hidden
        choices = itertools.product(
            pytorch_reference.MODELS, _batches(args, TORCH_BATCHES), sorted({1, n_cores()})
        )
        for name, batch, n_threads in choices:
            found[name, batch, n_threads] = pytorch_reference.epoch_timer(
                name, *entries, *sizes, batch, n_threads
            )
    return found


def _batches(args: argparse.Namespace, usual: tuple[int, ...]) -> list[int]:
    """Those that were asked for, else the usual ones and all entries at once."""
    return args.batch or [*(batch for batch in usual if batch < args.entries), args.entries]


def measure(args: argparse.Namespace) -> dict:
    found = timers(args)
    seconds = {key: float("inf") for key in found}
    for _ in range(args.repeats):
        for key, timer in found.items():
            seconds[key] = min(seconds[key], timer())
    sides: dict[str, dict[int, float]] = {side: {} for side in SIDES}
    threads: dict[str, dict[int, int | None]] = {side: {} for side in SIDES}
    for (side, batch, n_threads), value in sorted(seconds.items(), key=lambda item: -item[1]):
        sides[side][batch] = value / args.entries * 1e9  # the fastest is the last to be written
        threads[side][batch] = n_threads
    return {
        "shape": list(args.shape),
        "entries": args.entries,
        "rank": args.rank,
        "hidden": args.hidden,
        "ns_per_entry": sides,
        "threads": {side: found for side, found in threads.items() if side != "vaecp"},
        "ratios": ratios(sides["vaecp"], sides["torch"]),
        "ratios_shared_draws": ratios(sides["vaecp"], sides["torch_shared_draws"]),
    }


def ratios(ours: dict[int, float], theirs: dict[int, float]) -> dict[str, float]:
    """How many times faster ours is, each at its best batch, and at the published one."""
    found = {}
    if ours and theirs:
        found["best_batch"] = min(theirs.values()) / min(ours.values())
    if PUBLISHED_BATCH in ours and PUBLISHED_BATCH in theirs:
        found["batch_30"] = theirs[PUBLISHED_BATCH] / ours[PUBLISHED_BATCH]
    return found


def printed(result: dict) -> str:
    sides = result["ns_per_entry"]
    batches = sorted({batch for side in sides.values() for batch in side})
    lines = [
        f"{' x '.join(map(str, result['shape']))}, {result['entries']:,} entries, "
        f"R={result['rank']}, K={result['hidden']}: ns per entry",
        "",
        table(
            ["batch", *SIDES.values()],
            ([batch, *(sides[side].get(batch) for side in SIDES)] for batch in batches),
        ),
        "",
        f"best: {1e3 / min(sides['vaecp'].values()):.3g} million entries a second",
    ]
    for what, key in (("PyTorch", "ratios"), ("PyTorch, shared draws", "ratios_shared_draws")):
        lines += [f"times {what}, {name}: {ratio:.2f}" for name, ratio in result[key].items()]
    return "\n".join(lines)


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(","))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--shape", type=_shape, default=AMINO)
    options.add_argument("--entries", type=int, help="41,004, or 2^24 of another shape")
    options.add_argument("--batch", type=int, action="append", help="of both sides")
    options.add_argument("--rank", type=int, default=20)
    options.add_argument("--hidden", type=int, default=100)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--no-torch", action="store_true")
    args = options.parse_args()
    args.entries = args.entries or (AMINO_ENTRIES if args.shape == AMINO else MANY_ENTRIES)
    result = measure(args)
    print(printed(result))
    finish(result, args.output)


if __name__ == "__main__":
    main()
