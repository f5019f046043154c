"""Runs on a cluster: joblib hands them to the workers of a Dask scheduler."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from typing import Any

from vaecp.errors import VaecpError
from vaecp.runtime.extras import require
from vaecp.study.experiments.execution import execute
from vaecp.study.experiments.provenance import codes
from vaecp.study.experiments.runs import Run, Tensor

SECONDS_TO_CONNECT = 20


class ClusterError(VaecpError, RuntimeError):
    """A cluster cannot be reached, has no workers, or workers of another version."""


def records(
    runs: list[Run], tensors: Mapping[str, Tensor], address: str
) -> Generator[dict[str, Any]]:
    """Yield the record of every run as it ends. The runs of a worker that dies go to another."""
    from joblib import Parallel, delayed, parallel_config

    distributed = require("distributed", "cluster", "a cluster")
    logging.getLogger("distributed").setLevel(logging.ERROR)  # lost workers are no one's concern
    with _connected(distributed, address) as client:
        _check_workers(client, address)
        with parallel_config("dask"):
            pool: Any = Parallel(n_jobs=-1, return_as="generator_unordered")
            yield from pool(delayed(execute)(run, tensors[run.data]) for run in runs)


def _connected(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=True)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"cluster is {address!r}, where no scheduler answers ({error}): start one with `dask "
            "scheduler`, and give the address that it prints."
        ) from error


def _check_workers(client: Any, address: str) -> None:
    """Refuse workers whose code is another: their results would be those of another version."""
    found = client.run(codes)
    if not found:
        raise ClusterError(
            f"cluster is {address!r}, which has no workers: start some with `dask worker {address}`."
        )
    for worker, theirs in found.items():
        if theirs != codes():
            raise ClusterError(
                f"the worker {worker} has another version of vaecp than this machine: install the "
                "same on both."
            )
