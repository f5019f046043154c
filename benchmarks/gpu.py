"""What a GPU makes of training: entries a second, a billion entries, and ten splits.

    python benchmarks/gpu.py throughput        K = 100, R = 20, 10,000 x 5,000 x 1,000, batch 524,288
    python benchmarks/gpu.py billion           an epoch over 1e9 entries
    python benchmarks/gpu.py tensors           default fits of the paper's tensors, ten splits each

Each line that is printed is a JSON object, with the device and the versions.
"""

from __future__ import annotations

import argparse
import json
import time

import jax
import jax.numpy as jnp
import numpy as np

import vaecp
from vaecp.models.vaecp.gradients import kernels as fused
from vaecp.models.vaecp.gradients.kernels import reference
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.loop import Loop, Phase, Problem, run_chunk
from vaecp.models.vaecp.gradients.members import Architecture, free_numbers, initial_states
from vaecp.models.vaecp.gradients.objective import Entries
from vaecp.models.vaecp.gradients.schedule import choose_block_size

SHAPE, RANK, HIDDEN, BATCH = (10_000, 5_000, 1_000), 20, 100, 524_288
PUBLISHED = Architecture(RANK, HIDDEN, multilinear=False, shared_prior=True, near_zero=False)
TENSORS = ("synthetic", "amino", "fia", "sugar")


def report(**found) -> None:
    device = jax.devices()[0]
    print(json.dumps(found | {"device": device.device_kind, "jax": jax.__version__}), flush=True)


def random_problem(n_entries: int) -> Problem:
    """Entries at random, made where they are used: a billion would be slow to send."""
    keys = jax.random.split(jax.random.key(0), 4)
    indices = [
        jax.random.randint(key, (n_entries,), 0, size, dtype=jnp.int32)
        for key, size in zip(keys, SHAPE, strict=False)
    ]
    ones = jnp.ones((1, n_entries))
    return Problem(
        training=Entries(
            jnp.stack(indices, axis=1)[None], jax.random.normal(keys[3], (1, n_entries)), ones
        ),
        held_out=jnp.zeros((1, n_entries)),
        n_entries=jnp.float32(n_entries),
        validation=Entries(jnp.zeros((32, 3), jnp.int32), jnp.zeros(32), jnp.zeros(32)),
        free=jnp.asarray(free_numbers(SHAPE, RowLayout(SHAPE), PUBLISHED)),
    )


def entries_a_second(problem: Problem, n_steps: int) -> float:
    """Of the published model in the compiled loop, everything included."""
    n_entries = problem.training.values.size
    block = choose_block_size(n_entries, BATCH)
    loop = Loop(RowLayout(SHAPE), BATCH, block, n_draws=1, epochs_per_chunk=1)
    states = initial_states(0, [0.0], loop.layout, PUBLISHED, np.asarray(problem.free))
    phase = Phase(*(np.full(1, setting, np.float32) for setting in (1e-4, 1e-4, 1, 0, 0)))
    random = np.random.default_rng(0)
    order = random.permutation(n_entries // block)[: n_steps * BATCH // block]
    batches = order.astype(np.int32).reshape(1, n_steps, 1, -1)
    best = np.inf
    for _ in range(4):  # the first compiles
        start = time.perf_counter()
        states, epochs = jax.block_until_ready(
            run_chunk(states, problem, phase, batches, jax.random.key(1), loop)
        )
        best = min(best, time.perf_counter() - start)
    assert np.isfinite(epochs.elbo).all()
    return n_steps * BATCH / best


def throughput() -> None:
    problem = random_problem(64 * BATCH)
    kernel = entries_a_second(problem, 64)
    floor = _forward_alone(problem)
    fused._gpu = lambda: None
    jax.clear_caches()
    plain = entries_a_second(problem, 64)
    report(
        what="training throughput",
        entries_per_second=kernel,
        plain_jax=plain,
        ratio=kernel / plain,
        reading_alone=floor,
    )


def _forward_alone(problem: Problem) -> float:
    """Entries a second of a forward pass in plain JAX: look-ups, but nothing added to rows."""
    random = np.random.default_rng(0)
    n_rows = sum(SHAPE)
    offsets = np.cumsum([0, *SHAPE[:-1]])
    tables = fused.Tables(
        problem.training.indices[0, :BATCH] + jnp.asarray(offsets, jnp.int32),
        jnp.asarray(random.normal(size=(n_rows, HIDDEN)), jnp.float32),
        jnp.zeros((n_rows, 0)),
        jnp.asarray(random.normal(size=(2, HIDDEN)), jnp.float32),
        jnp.zeros(2),
    )
    forward = jax.jit(reference.decode)
    jax.block_until_ready(forward(tables))
    start = time.perf_counter()
    for _ in range(20):
        out = forward(tables)
    jax.block_until_ready(out)
    return 20 * BATCH / (time.perf_counter() - start)


def billion() -> None:
    n_entries = -(-1_000_000_000 // BATCH) * BATCH
    problem = random_problem(n_entries)
    rate = entries_a_second(problem, n_entries // BATCH)
    memory = jax.devices()[0].memory_stats() or {}
    report(
        what="an epoch over a billion entries",
        entries=n_entries,
        seconds=n_entries / rate,
        entries_per_second=rate,
        peak_bytes=memory.get("peak_bytes_in_use"),
    )


def tensors() -> None:
    whole = 0.0
    for dataset in TENSORS:
        pool = vaecp.datasets.load(dataset)
        parts = [pool.split(0.2, split) for split in range(1000, 1010)]
        start = time.perf_counter()
        models = [vaecp.VAECP(random_state=0).fit_tensor(training) for training, _ in parts]
        seconds = time.perf_counter() - start
        whole += seconds
        errors = [
            np.sqrt(np.mean((model.predict_at(held_out.indices).mean - held_out.values) ** 2))
            / training.values.std()
            for model, (training, held_out) in zip(models, parts, strict=True)
        ]
        report(what=f"ten splits of {dataset}", seconds=seconds, median_rmse=np.median(errors))
    report(what="ten splits of all four", seconds=whole)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["throughput", "billion", "tensors"])
    args = parser.parse_args()
    {"throughput": throughput, "billion": billion, "tensors": tensors}[args.what]()


if __name__ == "__main__":
    main()
