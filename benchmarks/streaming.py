"""Training on Parquet files that are read piece by piece, beside entries in memory.

One member of rank 8 with 16 hidden units on this machine's devices. Files of 5 million entries are
written first, 16 bytes an entry, then encoded, 20 bytes an entry; what is there already is not
written again. Every measurement is a process of its own and says:

- entries a second: padding of batches counts, the first piece, which compiles, does not; `waited`
  is how much of that time the devices waited for pieces that were not read yet; seconds of all cores
  that a million entries took, reading included, say more where other programs are at work;
- peak: the most memory that the process had, pages of mapped files included. With `--limit`, a
  process that encodes or streams and asks for more bytes than that fails.

Entries in memory are the first `--in-memory` ones, for three passes.

    python benchmarks/streaming.py --entries 20000000
    python benchmarks/streaming.py --entries 200000000 --cores 2 --limit 4 --folder /big/disk
    python benchmarks/streaming.py --entries 1000000000 --batch 524288 --in-memory 100000000
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

SHAPE = (100_000, 20_000, 500)
OF_FILE = 5_000_000
STEPS = ("encode", "stream", "memory")


def write(folder: Path, n_entries: int, n_processes: int) -> float:
    """Write files that are not there yet; return the seconds that it took."""
    folder.mkdir(parents=True, exist_ok=True)
    firsts = range(0, n_entries, OF_FILE)
    files = [(folder / f"{number:04d}.parquet", number) for number in range(len(firsts))]
    sizes = [min(OF_FILE, n_entries - first) for first in firsts]
    began = time.perf_counter()
    with ProcessPoolExecutor(n_processes) as pool:
        jobs = zip(files, sizes, strict=True)
        list(pool.map(_write_file, [(*file, n) for file, n in jobs if not file[0].exists()]))
    return time.perf_counter() - began


def _write_file(job: tuple[Path, int, int]) -> None:
    import numpy as np
    import pyarrow
    from pyarrow import parquet

    path, seed, n = job
    random = np.random.default_rng(seed)
    columns = {
        f"mode{m}": random.integers(size, size=n, dtype=np.int32) for m, size in enumerate(SHAPE)
    }
    columns["value"] = random.standard_normal(n, dtype=np.float32)
    temporary = path.with_suffix(".part")
    parquet.write_table(
        pyarrow.table(columns),
        temporary,
        use_dictionary=False,
        compression="none",
        write_statistics=False,
    )
    temporary.rename(path)


class Clock:
    """How long the devices computed, and how long they waited."""

    def __init__(self) -> None:
        self.began: list[float] = []
        self.ended: list[float] = []
        self.cores: list[float] = []  # seconds of all cores, when each piece had ended
        self.trained: list[int] = []

    def watch(self) -> None:
        """Take the time of every piece from now on, and let each be one pass over its entries."""
        from vaecp.models.vaecp.gradients import driver, schedule

        schedule.choose_epochs_per_chunk = lambda n_entries, batch_size: 1
        run = driver.Groups.run

        def timed(groups, problem, *rest):
            self.began.append(time.perf_counter())
            found = run(groups, problem, *rest)
            self.ended.append(time.perf_counter())
            self.cores.append(time.process_time())
            self.trained.append(problem.training.values.size)
            return found

        driver.Groups.run = timed

    def told(self) -> dict:
        if len(self.ended) < 2:
            raise SystemExit("one piece is no measurement: more --entries, or more --passes.")
        elapsed, n_trained = self.ended[-1] - self.ended[0], sum(self.trained[1:])
        waited = sum(b - e for b, e in zip(self.began[1:], self.ended, strict=False))
        return {
            "pieces": len(self.ended),
            "first_piece_seconds": self.ended[0] - self.began[0],
            "entries_per_second": n_trained / elapsed,
            "waited": waited / elapsed,
            "core_seconds_per_million": 1e6 * (self.cores[-1] - self.cores[0]) / n_trained,
        }


def measure(kind: str, given: argparse.Namespace) -> dict:
    """Encode, or train, in this process."""
    import resource

    if given.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cores])
    if given.limit and kind != "memory":
        resource.setrlimit(resource.RLIMIT_DATA, (int(given.limit * 1e9),) * 2)
    import vaecp

    began = time.perf_counter()
    entries = vaecp.scan(files(given))
    found = {"encoding_seconds": time.perf_counter() - began} if kind == "encode" else {}
    if kind != "encode":
        began = time.perf_counter()
        found |= trained(kind, entries, given)
        found["fit_seconds"] = time.perf_counter() - began
    return found | {"peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9}


def trained(kind: str, entries, given: argparse.Namespace) -> dict:
    import vaecp
    from vaecp.data.observations import Observations

    clock, recipe = Clock(), vaecp.Recipe(batch_size=given.batch, finish=0.0)
    clock.watch()
    model = vaecp.VAECP(
        8,
        hidden=16,
        n_members=1,
        max_epochs=given.passes if kind == "stream" else 3,
        likelihood="gaussian",
        recipe=recipe,
        random_state=0,
    )
    if kind == "stream":
        model.fit_tensor(entries)
        return {"entries": len(entries), **clock.told()}
    n_blocks = min(len(entries.blocks), max(given.in_memory // entries.block_size, 1))
    _, indices, values = entries.read(range(n_blocks))
    recipe.set_params(sweeps=False, network=True, held_out=False, calibrate=False)
    model.set_params(smooth=False, neighbours=False)
    model.fit_tensor(Observations(indices, values, entries.shape))
    return {"entries": len(values), **clock.told()}


def files(given: argparse.Namespace) -> Path:
    return given.folder / f"entries-{given.entries}"


def child(kind: str, given: argparse.Namespace) -> dict:
    words = [sys.executable, __file__, "--measure", kind, *sys.argv[1:]]
    words += ["--folder", str(given.folder), "--child"]
    made = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(made.stdout.splitlines()[-1])


def parsed() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("--entries", type=int, default=20_000_000)
    options.add_argument("--in-memory", type=int, default=20_000_000)
    options.add_argument("--passes", type=int, default=1)
    options.add_argument("--batch", type=int, help="entries of a step; chosen by their number")
    options.add_argument("--cores", type=int, help="how many cores a measurement may use; all")
    options.add_argument("--limit", type=float, help="GB that encoding and streaming may take")
    options.add_argument("--folder", type=Path, help="a temporary one, removed at the end")
    options.add_argument("--measure", action="append", choices=STEPS, help="one step alone")
    options.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return options.parse_args()


def main() -> None:
    given = parsed()
    if given.child:
        print(json.dumps(measure(given.measure[0], given)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        given.folder = given.folder or Path(temporary)
        seconds = write(files(given), given.entries, len(os.sched_getaffinity(0)))
        print(json.dumps({"step": "write", "entries": given.entries, "seconds": seconds}))
        found = {}
        for kind in given.measure or STEPS:
            found[kind] = child(kind, given)
            print(json.dumps({"step": kind, **found[kind]}), flush=True)
    if {"stream", "memory"} <= set(found):
        rates = (found[kind]["entries_per_second"] for kind in ("stream", "memory"))
        stream, memory = rates
        print(f"from disk / in memory: {stream / memory:.0%}")


if __name__ == "__main__":
    main()
