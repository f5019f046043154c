"""Default fits of many splits of the paper's tensors at once, timed as a whole."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from vaecp.runtime.threads import n_cores

TENSORS = ("synthetic", "amino", "fia", "sugar")
LONGEST = ("sugar", "fia", "amino", "synthetic")
PER_PROCESS = {
    "NPROC": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}
"""One core for each process, and no more of the card's memory than it uses."""


def tensors(n_splits: int) -> None:
    """Default fits of all splits, as many at once as there are cores; the second round is timed.

    The first, of one split each, compiles what is missing from the user's caches. Networks are trained
    on the card where the default wants them, and the processes share it.
    """
    n_processes = n_cores()
    os.environ.update(PER_PROCESS)
    fits = [(dataset, 1000 + split) for split in range(n_splits) for dataset in TENSORS]
    with _processes(n_processes) as pool:
        list(pool.map(fit_one, fits[: len(TENSORS)]))
    start = time.perf_counter()
    with _processes(n_processes) as pool:  # their start is part of the time
        found = list(pool.map(fit_one, sorted(fits, key=lambda fit: LONGEST.index(fit[0]))))
    whole = time.perf_counter() - start
    for dataset in TENSORS:
        own = [fit for fit in found if fit["dataset"] == dataset]
        report(
            what=f"{len(own)} splits of {dataset}",
            core_seconds=sum(fit["seconds"] for fit in own),
            longest=max(fit["seconds"] for fit in own),
            median_rmse=float(np.median([fit["rmse"] for fit in own])),
            with_jax=sum(fit["with_jax"] for fit in own),
        )
    report(what=f"{n_splits} splits of all four", seconds=whole, processes=n_processes)


def _processes(n_processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(n_processes, mp_context=multiprocessing.get_context("spawn"))


def fit_one(fit: tuple[str, int]) -> dict:
    """Return seconds and held-out error of a default fit; in standard deviations of what it learns from."""
    import vaecp

    dataset, split = fit
    training, held_out = vaecp.datasets.load(dataset).split(0.2, split)
    start = time.perf_counter()
    mean = vaecp.VAECP(random_state=0).fit_tensor(training).predict_at(held_out.indices).mean
    seconds = time.perf_counter() - start
    error = np.sqrt(np.mean((mean - held_out.values) ** 2)) / training.values.std()
    return {
        "dataset": dataset,
        "seconds": seconds,
        "rmse": float(error),
        "with_jax": "jax" in sys.modules,
    }


def report(**found) -> None:
    print(json.dumps(found), flush=True)
