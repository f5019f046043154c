"""Training on Parquet files that are read piece by piece, beside the same entries in memory.

One member of rank 8 with 16 hidden units, four passes over the entries, on this machine's devices. Files
are written first, 5 million entries each. Every measurement is a process of its own; its memory is the
peak of that process, pages of mapped files included. Entries a second count the padding of batches, and
leave out the first piece, which compiles.

    python benchmarks/streaming.py --entries 20000000
    python benchmarks/streaming.py --entries 200000000 --folder /big/disk
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHAPE = (100_000, 20_000, 500)
OF_FILE = 5_000_000
LIMIT = 4e9


def write(folder: Path, n_entries: int) -> None:
    import numpy as np
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, n_entries, OF_FILE)):
        path = folder / f"{number:04d}.parquet"
        if path.exists():
            continue
        random, n = np.random.default_rng(number), min(OF_FILE, n_entries - first)
        columns = {f"mode{m}": random.integers(size, size=n) for m, size in enumerate(SHAPE)}
        frame = pd.DataFrame(columns).assign(value=random.normal(size=n).astype(np.float32))
        frame.to_parquet(path, index=False)


def measure(kind: str, folder: str) -> dict:
    """Encode, or train, in this process."""
    import vaecp
    from vaecp.data.observations import Observations
    from vaecp.models.vaecp.gradients import driver, schedule

    schedule.choose_epochs_per_chunk = lambda n_entries, batch_size: 1
    seconds, n_trained = [], []
    run = driver.Groups.run

    def timed(self, problem, *rest):
        began = time.perf_counter()
        found = run(self, problem, *rest)
        seconds.append((began, time.perf_counter()))
        n_trained.append(problem.training.values.size)
        return found

    driver.Groups.run = timed
    began = time.perf_counter()
    entries = vaecp.scan(folder)
    found = {"encoding": time.perf_counter() - began, "entries": len(entries)}
    model = vaecp.VAECP(
        8, hidden=16, n_members=1, max_epochs=4, likelihood="gaussian", random_state=0
    )
    if kind == "stream":
        model.fit_tensor(entries)
    elif kind == "memory":
        _, indices, values = entries.read(range(len(entries.blocks)))
        tensor = Observations(indices, values, entries.shape)
        recipe = vaecp.Recipe(sweeps=False, network=True, held_out=False, calibrate=False)
        model.set_params(recipe=recipe, smooth=False, neighbours=False).fit_tensor(tensor)
    if seconds:  # the first piece compiles
        elapsed = seconds[-1][1] - seconds[0][1]
        found["entries_per_second"] = sum(n_trained[1:]) / elapsed
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return found


def child(kind: str, folder: Path) -> dict:
    command = [sys.executable, __file__, "--measure", kind, "--folder", str(folder)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entries", type=int, default=20_000_000)
    options.add_argument("--folder", type=Path)
    options.add_argument("--measure", choices=("encode", "stream", "memory"))
    given = options.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, str(given.folder))))
        return
    folder = given.folder or Path(tempfile.mkdtemp())
    write(folder / "all", given.entries)
    encoded = child("encode", folder / "all")
    stream, memory = child("stream", folder / "all"), child("memory", folder / "all")
    ratio = stream["entries_per_second"] / memory["entries_per_second"]
    print(f"entries                         {encoded['entries']:,}")
    print(f"encoding                        {encoded['encoding']:.1f} s")
    print(f"streamed, entries a second      {stream['entries_per_second']:,.0f}")
    print(f"in memory, entries a second     {memory['entries_per_second']:,.0f}")
    print(f"streamed / in memory            {ratio:.0%}")
    print(f"peak memory, streamed           {stream['peak'] / 1e9:.2f} GB of {LIMIT / 1e9:.0f}")
    print(f"peak memory, in memory          {memory['peak'] / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
