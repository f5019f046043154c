"""What a GPU makes of training: entries a second, a billion entries, and ten splits at once.

    python benchmarks/gpu.py throughput        K = 100, R = 20, 10,000 x 5,000 x 1,000, batch 524,288
    python benchmarks/gpu.py billion           an epoch over 1e9 entries
    python benchmarks/gpu.py tensors           default fits of the paper's tensors, ten splits each

Each line that is printed is a JSON object, with the device and the versions.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from tasks import load

import vaecp
from vaecp import fused, recipe
from vaecp.fused import reference
from vaecp.layout import Layout
from vaecp.loop import Loop, Phase, Problem, run_chunk
from vaecp.models.vaecp_together import fit_together
from vaecp.objective import Entries

SHAPE, RANK, HIDDEN, BATCH = (10_000, 5_000, 1_000), 20, 100, 524_288
TENSORS = ("synthetic-10", "amino", "fia", "sugar")


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
    layout = Layout(SHAPE)
    ones = jnp.ones(n_entries)
    return Problem(
        training=Entries(
            jnp.stack(indices, axis=1), jax.random.normal(keys[3], (n_entries,)), ones
        ),
        held_out=jnp.zeros(n_entries),
        validation=Entries(jnp.zeros((32, 3), jnp.int32), jnp.zeros(32), jnp.zeros(32)),
        row_weights=jnp.asarray(layout.row_weights(SHAPE)),
    )


def entries_a_second(problem: Problem, n_steps: int) -> float:
    """Of the published model in the compiled loop, everything included."""
    n_entries = problem.training.values.shape[0]
    block = recipe.choose_block_size(n_entries, BATCH)
    loop = Loop(Layout(SHAPE), BATCH, block, n_draws=1, epochs_per_chunk=1)
    architecture = recipe.Architecture(
        RANK, HIDDEN, multilinear=False, shared_prior=True, quiet=False
    )
    states = recipe.initial_states(0, np.ones(1), loop.layout, architecture)
    phase = Phase(*(np.full(1, setting, np.float32) for setting in (1e-4, 1e-4, 1, 0, 0)))
    random = np.random.default_rng(0)
    order = random.permutation(n_entries // block)[: n_steps * BATCH // block]
    batches = order.astype(np.int32).reshape(1, n_steps, -1)
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
        problem.training.indices[:BATCH] + jnp.asarray(offsets, jnp.int32),
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


def tensors(exported: Path | None, epochs: int | None) -> None:
    whole = 0.0
    for dataset in TENSORS:
        pool = load(dataset, 1000, exported)
        parts = [pool.split(0.2, split) for split in range(1000, 1010)]
        models = [vaecp.VAECP(random_state=0, max_epochs=epochs) for _ in parts]
        start = time.perf_counter()
        fit_together(models, [training for training, _ in parts], pool)
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
    parser.add_argument("--exported", type=Path, help="tensors of `accuracy.py export`")
    parser.add_argument("--epochs", type=int, help="of tensors: fewer, to compile and no more")
    args = parser.parse_args()
    if args.what == "tensors":
        tensors(args.exported, args.epochs)
    else:
        {"throughput": throughput, "billion": billion}[args.what]()


if __name__ == "__main__":
    main()
