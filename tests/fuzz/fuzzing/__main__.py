"""Attack the package with many cases: `python -m fuzzing --cases 10000 --workers 2 --seed 0`.

Every case runs in a child process with a limit of memory and of time. At the end stands a table of
what came of them; the exit code is 1 where any was not answered, or refused in one line.
"""

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from fuzzing.campaign import FINE
from fuzzing.children import SECONDS
from fuzzing.installed import NEEDED, lacking
from fuzzing.kinds import KINDS, Seeds, batches
from fuzzing.probe import ROOM
from fuzzing.workers import start, work

OUTCOMES = (*FINE, "defect", "crash", "hang", "memory")


def table(counts: dict[str, Counter[str]]) -> str:
    """Return the counts per kind of case and outcome as a Markdown table."""
    rows = [[kind, *(counts[kind][outcome] for outcome in OUTCOMES)] for kind in counts]
    rows.append(["all", *(sum(row[at] for row in rows) for at in range(1, len(OUTCOMES) + 1))])
    lines = [f"| kind of case | cases | {' | '.join(OUTCOMES)} |", f"|---{'|---:' * 7}|"]
    lines += [
        f"| {' | '.join([kind, *(f'{n:,}' for n in (sum(ns), *ns))])} |" for kind, *ns in rows
    ]
    return "\n".join(lines)


def told(
    asked: argparse.Namespace, counts: dict[str, Counter[str]], faults: list[str], seconds: float
) -> dict:
    """Return what a run came to as plain values."""
    return {
        "seed": asked.seed,
        "workers": asked.workers,
        "seconds": round(seconds, 1),
        "counts": {
            kind: {name: count[name] for name in OUTCOMES} for kind, count in counts.items()
        },
        "faults": faults,
        "left_out": left_out(),
    }


def left_out() -> list[str]:
    """Return a line for each kind of file that cannot be made here."""
    return [f"{name}: there is no {', '.join(lacking(name))}" for name in NEEDED if lacking(name)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("fuzzing", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2, help="processes that work at once")
    parser.add_argument("--seed", type=int, default=0, help="another number leads to other cases")
    parser.add_argument("--kind", action="append", choices=KINDS, default=[])
    parser.add_argument(
        "--keep", type=Path, default=Path("fuzz-faults"), help="for files of faults"
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no batch after this time")
    parser.add_argument("--json", type=Path, help="also write the counts and the faults here")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    for line in left_out():
        print(f"Left out: {line}", flush=True)
    plan = list(batches(asked.cases, asked.seed, tuple(asked.kind)))
    random.Random(asked.seed).shuffle(plan)  # a run that is cut short has cases of every kind
    counts = {kind: Counter() for kind in KINDS if not asked.kind or kind in asked.kind}
    begin, faults = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        seeds = Seeds.save(Path(folder), asked.kind)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(
            asked.workers,
            context,
            start,
            (seeds, asked.kind, Path(folder), asked.keep.resolve()),
        ) as pool:
            futures = [pool.submit(work, batch) for batch in plan]
            for future in as_completed(futures):
                if future.cancelled():
                    continue
                if future.exception():  # of the harness itself
                    pool.shutdown(cancel_futures=True)
                batch, outcomes, wrong = future.result()
                counts[batch.kind] += outcomes
                faults += wrong
                for line in wrong:
                    print(line, file=sys.stderr, flush=True)
                if time.monotonic() - begin > 60 * asked.minutes:
                    for other in futures:
                        other.cancel()
    print(table(counts))
    if asked.json is not None:
        asked.json.write_text(json.dumps(told(asked, counts, faults, time.monotonic() - begin)))
    print(
        f"\nSeed {asked.seed}; at most {SECONDS:.0f} s of a processor and {ROOM / 2**30:.0f} GiB for each case."
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
