"""Weak scaling, simulated: as many entries per device, on 1, 2, 4 and 8 virtual devices of one CPU.

The devices share the cores of this machine, so a step over n times the entries takes about n times as
long: what is shown is the time per entry, relative to one device. What it exceeds 1 by is what sharding
and the sums over devices add. A real network adds the time that docs/scaling.md computes.

    python benchmarks/weak_scaling.py
    python benchmarks/weak_scaling.py --up-to 2 --steps 4      # briefly
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
STEPS = 64


def measure(n_devices: int, n_steps: int) -> float:
    """Return the seconds of a step, of `n_steps` in an epoch, in a process with so many devices."""
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
    random, n_entries = np.random.default_rng(0), n_devices * n_steps * PER_DEVICE
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


def child(n_devices: int, n_steps: int) -> float:
    flags = f"--xla_force_host_platform_device_count={n_devices}"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, __file__, "--devices", str(n_devices), "--steps", str(n_steps)]
    made = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(made.stdout)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--devices", type=int, help=argparse.SUPPRESS)
    options.add_argument("--up-to", type=int, default=DEVICES[-1], help="devices at most")
    options.add_argument("--steps", type=int, default=STEPS, help="steps of an epoch")
    given = options.parse_args()
    if given.devices:
        print(json.dumps(measure(given.devices, given.steps)))
        return
    found = {n: child(n, given.steps) for n in DEVICES if n <= given.up_to}
    print("| devices | entries in a step | ms a step | time per entry, relative |")
    print("|---|---|---|---|")
    for n, seconds in found.items():
        relative = seconds / n / found[1]
        print(f"| {n} | {n * PER_DEVICE:,} | {1e3 * seconds:.2f} | {relative:.2f} |")


if __name__ == "__main__":
    main()
