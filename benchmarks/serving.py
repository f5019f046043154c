"""Memory and speed of what is written piece by piece: `vaecp predict --batch` and `vaecp complete`.

A model of 2,000 users, 1,000 items and 300 days answers Parquet files of so many rows each; then the
tensor of that size, or another, is completed into one Parquet file. A tensor of more than 500 million
cells is completed piece by piece, a smaller one in memory. Every command is a process of its own:
its peak is the most memory that it had, its seconds hold imports.

    python benchmarks/serving.py --rows 5000000,20000000
    python benchmarks/serving.py --complete 2000,1000,251 --folder /big/disk
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHAPE, NAMES = (2_000, 1_000, 300), ("user", "item", "day")
OF_FILE, KNOWN = 5_000_000, 20_000
QUICK = ("--rank", "2", "--effort", "quick")


def random_cells(shape: tuple[int, ...], n: int, seed: int):
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(seed)
    columns = (random.integers(size, size=n, dtype=np.int32) for size in shape)
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True)))


def write_known(path: Path, shape: tuple[int, ...]) -> None:
    """Write the product of an effect of each row, with noise; every row has entries."""
    import numpy as np

    random = np.random.default_rng(0)
    table = random_cells(shape, KNOWN, 1)
    for name, size in zip(NAMES, shape, strict=True):
        table.loc[: size - 1, name] = np.arange(size, dtype=np.int32)
    effects = [1 + random.random(size) for size in shape]
    value = np.prod([effect[table[name]] for effect, name in zip(effects, NAMES, strict=True)], 0)
    table = table.assign(value=value + 0.1 * random.standard_normal(KNOWN))
    table.drop_duplicates(list(NAMES)).to_parquet(path, index=False)


def write_queries(folder: Path, n_rows: int) -> None:
    folder.mkdir()
    for number, first in enumerate(range(0, n_rows, OF_FILE)):
        table = random_cells(SHAPE, min(OF_FILE, n_rows - first), number)
        table.to_parquet(folder / f"{number:03d}.parquet", index=False)


def run(*words: object) -> dict:
    """Run a command; return its seconds and the peak of its memory."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "vaecp", *map(str, words), "--quiet"])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"vaecp {words[0]} ended with {process.returncode}")
    return {"seconds": time.perf_counter() - began, "peak_gb": usage.ru_maxrss * 1024 / 1e9}


def tell(what: str, n: int, found: dict) -> None:
    print(json.dumps({"what": what, "rows": n, **found, "a_second": n / found["seconds"]}))
    sys.stdout.flush()


def answer(folder: Path, rows: list[int]) -> None:
    write_known(folder / "known.parquet", SHAPE)
    run("fit", folder / "known.parquet", "-o", folder / "m.vaecp", *QUICK)
    for n in rows:
        write_queries(folder / f"asked-{n}", n)
        words = ("predict", folder / "m.vaecp", folder / f"asked-{n}", "--batch")
        tell("predict --batch", n, run(*words, "-o", folder / f"answers-{n}"))


def complete(folder: Path, shape: tuple[int, ...]) -> None:
    import math

    from pyarrow import parquet

    write_known(folder / "known-of-all.parquet", shape)
    output = folder / "whole.parquet"
    words = ("complete", folder / "known-of-all.parquet", *QUICK, "--cells", "all")
    found = run(*words, "-o", output)
    n = parquet.ParquetFile(output).metadata.num_rows
    assert n == math.prod(shape), "every cell is written once"
    tell("complete", n, found | {"file_gb": output.stat().st_size / 1e9})


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("--rows", type=numbers, help="such as 5000000,20000000")
    options.add_argument("--complete", type=numbers, help="the shape of a tensor")
    options.add_argument("--folder", type=Path, help="where a temporary folder is made")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        if given.rows or not given.complete:
            answer(Path(temporary), given.rows or [5_000_000, 20_000_000])
        if given.complete:
            complete(Path(temporary), tuple(given.complete))


if __name__ == "__main__":
    main()
