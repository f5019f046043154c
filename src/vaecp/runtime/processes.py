"""Processes that fit one model together, on one machine or on several (`jax.distributed`).

Every process runs the same program with the same arguments, and holds the part of the entries that
lies on its own devices. What they must agree on is compared before any long work.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping

import numpy as np

from vaecp.errors import ProcessError
from vaecp.runtime.extras import require

HEARTBEAT_SECONDS = 45
"""JAX takes a process that has said nothing for so long for dead."""

STARTUP_SECONDS = 120
OUT_OF_MEMORY = "RESOURCE_EXHAUSTED"
"""How JAX says that this process itself has no room left."""


def join(
    coordinator: str | None = None, n_processes: int | None = None, number: int | None = None
) -> None:
    """Join the other processes, before JAX computes anything.

    Parameters
    ----------
    coordinator : HOST:PORT of the first process; None finds it from Slurm, Open MPI, Kubernetes or
        a cloud's metadata, together with the numbers.
    n_processes, number : how many there are, and which one this is, from 0.
    """
    import jax

    # Its handler would take the signal that ends a command.
    jax.config.update("jax_enable_preemption_service", False)
    try:
        jax.distributed.initialize(
            coordinator,
            n_processes,
            number,
            cluster_detection_method=None if coordinator else _detection(),
            initialization_timeout=STARTUP_SECONDS,
            heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
        )
    except (RuntimeError, ValueError) as error:
        where = "found around this process" if coordinator is None else f"at {coordinator}"
        raise ProcessError(
            f"no other processes were {where} ({error}): start this under srun or mpirun, or name "
            "them with --coordinator HOST:PORT --processes N --process-id I."
        ) from error


def _detection() -> str | None:
    """How the others are found: JAX knows by itself, except under Open MPI 5, where mpi4py knows."""
    if "OMPI_COMM_WORLD_SIZE" not in os.environ or "OMPI_MCA_orte_hnp_uri" in os.environ:
        return None
    require("mpi4py.MPI", "mpi", "a job of Open MPI 5")
    return "mpi4py"


def n_processes() -> int:
    """Return how many processes work together."""
    jax = sys.modules.get("jax")  # nothing was joined before its import
    return jax.process_count() if jax and jax.distributed.is_initialized() else 1


def is_first() -> bool:
    """Whether this process is the one that writes files and speaks to people."""
    return n_processes() == 1 or sys.modules["jax"].process_index() == 0


def is_lost_connection(error: Exception) -> bool:
    """Whether an error says that another process has ended, or cannot be reached any more."""
    failed = n_processes() > 1 and isinstance(error, sys.modules["jax"].errors.JaxRuntimeError)
    return failed and OUT_OF_MEMORY not in str(error)


def same_everywhere(items: Mapping[str, str]) -> None:
    """Refuse to go on unless all processes have the same texts under these names."""
    if n_processes() == 1:
        return
    from jax.experimental.multihost_utils import process_allgather

    own = [hashlib.sha256(text.encode()).digest()[:8] for text in items.values()]
    sent = np.frombuffer(b"".join(own), dtype=np.uint8).reshape(len(items), 8)
    found = np.asarray(process_allgather(sent))
    differs = (found != found[0]).any(axis=2)
    for item, name in enumerate(items):
        others = np.flatnonzero(differs[:, item])
        if len(others):
            raise ProcessError(
                f"process {others[0]} has another {name} than process 0 (here it is "
                f"{items[name]:.200}): start all processes with the same data, options and version."
            )
