"""Weak scaling, simulated: as many entries per device, on 1, 2, 4 and 8 virtual devices of one CPU.

The devices share the cores of this machine, so a step over n times the entries takes about n times as
long: what is shown is the time per entry, relative to one device. What it exceeds 1 by is what sharding
and the sums over devices add. A real network adds the time that docs/scaling.md computes.

    python benchmarks/weak_scaling.py
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

DEVICES = (1, 2, 4, 8)
PER_DEVICE, SHAPE = 1_024, (2_000, 1_000, 100)
ENTRIES = 64 * PER_DEVICE


def measure(n_devices: int) -> float:
    """Return the seconds of a step, in a process with so many devices."""
    import jax
    import numpy as np

    from vaecp.data.observations import Observations
    from vaecp.models.vaecp.gradients.driver import Groups
    from vaecp.models.vaecp.gradients.entries import InMemory, shuffled_blocks
    from vaecp.models.vaecp.gradients.layout import RowLayout
    from vaecp.models.vaecp.gradients.members import Architecture, free_numbers, initial_states
    from vaecp.models.vaecp.gradients.schedule import Schedule, loop_for
    from vaecp.runtime.placement import Placement

    assert len(jax.devices()) == n_devices
    random, n_entries = np.random.default_rng(0), n_devices * ENTRIES
    indices = np.stack([random.integers(size, size=n_entries) for size in SHAPE], axis=1)
    tensor = Observations(indices, random.normal(size=n_entries), SHAPE)
    placement, layout = Placement.on("all"), RowLayout.of(SHAPE)
    architecture = Architecture(8, 16, multilinear=True, shared_prior=False, near_zero=True)
    loop = loop_for(n_entries, n_devices * PER_DEVICE, layout, 1, 1.0, placement)
    free = free_numbers(SHAPE, layout, architecture)
    problem = InMemory.of(tensor, None, free, loop, random, placement).problem
    groups = Groups(initial_states(0, [1.0], layout, architecture, free), loop, placement)
    length = loop.epochs_per_chunk
    phase = Schedule(length, 1e-3, decay=False, kl_warmup=0.0, scale_from=0.0).phases()[0]
    seconds = []
    for _ in range(4):  # the first compiles
        batches = shuffled_blocks(problem, loop, random)
        began = time.perf_counter()
        groups.run(problem, phase, batches, 0)
        seconds.append((time.perf_counter() - began) / batches.shape[0] / batches.shape[1])
    return min(seconds[1:])


def child(n_devices: int) -> float:
    flags = f"--xla_force_host_platform_device_count={n_devices}"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, __file__, "--devices", str(n_devices)]
    made = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(made.stdout)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--devices", type=int)
    given = options.parse_args()
    if given.devices:
        print(json.dumps(measure(given.devices)))
        return
    found = {n: child(n) for n in DEVICES}
    print("| devices | entries in a step | ms a step | time per entry, relative |")
    print("|---|---|---|---|")
    for n, seconds in found.items():
        relative = seconds / n / found[1]
        print(f"| {n} | {n * PER_DEVICE:,} | {1e3 * seconds:.2f} | {relative:.2f} |")


if __name__ == "__main__":
    main()
