"""Steps of training on a GPU, timed: entries a second, and an epoch over a billion entries."""

from __future__ import annotations

import json
import time

import jax
import jax.numpy as jnp
import numpy as np

from vaecp.models.vaecp.gradients import kernels as fused
from vaecp.models.vaecp.gradients.kernels import reference
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.loop import Loop, Phase, Problem, run_chunk
from vaecp.models.vaecp.gradients.members import Architecture, free_numbers, initial_states
from vaecp.models.vaecp.gradients.objective import Entries
from vaecp.models.vaecp.gradients.schedule import choose_blocks
from vaecp.runtime.placement import Placement

SHAPE, RANK, HIDDEN, BATCH = (10_000, 5_000, 1_000), 20, 100, 524_288
PUBLISHED = Architecture(RANK, HIDDEN, multilinear=False, shared_prior=True, near_zero=False)


def report(**found) -> None:
    device = jax.devices()[0]
    print(json.dumps(found | {"device": device.device_kind, "jax": jax.__version__}), flush=True)


def random_problem(n_entries: int, block_size: int, sorted_mode: int | None) -> Problem:
    """Entries at random, made where they are used: a billion would be slow to send."""
    keys = jax.random.split(jax.random.key(0), 4)
    indices = [
        jax.random.randint(key, (n_entries,), 0, size, dtype=jnp.int32)
        for key, size in zip(keys, SHAPE, strict=False)
    ]
    if sorted_mode is not None:  # the other modes and the values are random in any order
        column = indices[sorted_mode].reshape(-1, block_size)
        indices[sorted_mode] = jax.lax.map(jnp.sort, column, batch_size=256).ravel()
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


def blocks_of(n_entries: int) -> tuple[int, int | None]:
    return choose_blocks(n_entries, BATCH, RowLayout(SHAPE), Placement.on(None))


def entries_a_second(
    problem: Problem, n_steps: int, block_size: int, sorted_mode: int | None
) -> float:
    """Of the published model in the compiled loop, everything included."""
    n_entries = problem.training.values.size
    loop = Loop(
        RowLayout(SHAPE),
        BATCH,
        block_size,
        n_draws=1,
        epochs_per_chunk=1,
        sorted_mode=sorted_mode,
    )
    states = initial_states(0, [0.0], loop.layout, PUBLISHED, np.asarray(problem.free))
    phase = Phase(*(np.full(1, setting, np.float32) for setting in (1e-4, 1e-4, 1, 0, 0)))
    random = np.random.default_rng(0)
    order = random.permutation(n_entries // block_size)[: n_steps * BATCH // block_size]
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
    n_entries = 64 * BATCH
    blocks = blocks_of(n_entries)
    problem = random_problem(n_entries, *blocks)
    kernel = entries_a_second(problem, 64, *blocks)
    floor = _forward_alone(problem)
    fused._gpu = lambda: None
    jax.clear_caches()
    plain = entries_a_second(problem, 64, *blocks)
    report(
        what="training throughput",
        entries_per_second=kernel,
        plain_jax=plain,
        ratio=kernel / plain,
        reading_alone=floor,
    )


VARIANTS = {
    "as it is": {},
    "exact tangent": {"fast_tanh": False},
    "products and sums apart": {"fused": False},
    "no sums over runs": {"runs": False},
    "entries read when they are computed": {"ahead": False},
    "2 entries a tile": {"tile": 256},
    "2 entries a tile, 4,224 programs": {"tile": 256, "programs": 4224},
    "8 entries a tile": {"tile": 1024},
    "4,096 programs": {"programs": 4096},
    "1,056 programs": {"programs": 1056},
}
"""Settings of the kernel that differ from its own."""


def variants() -> None:
    """Throughput of each setting of the kernel, of small blocks in random order, and of gathered batches."""
    if jax.default_backend() != "gpu":
        raise SystemExit("variants of the GPU's kernel want a GPU")
    from vaecp.models.vaecp.gradients.kernels import gpu

    n_entries = 64 * BATCH
    blocks = blocks_of(n_entries)
    problem = random_problem(n_entries, *blocks)
    usual = gpu.SETTINGS

    def tried(name: str, *blocks) -> None:
        jax.clear_caches()
        try:
            report(variant=name, entries_per_second=entries_a_second(problem, 64, *blocks))
        except Exception as error:  # of one variant: the others are still of interest
            report(variant=name, failed=f"{type(error).__name__}: {error}"[:600])

    for name, changed in VARIANTS.items():
        gpu.SETTINGS = usual._replace(**changed)
        tried(name, *blocks)
    gpu.SETTINGS = usual
    tried("sorted, but not told so", blocks[0], None)
    kept, fused.reads_blocks = fused.reads_blocks, lambda: False
    tried("gathered batches, a product per mode", *blocks)
    fused.reads_blocks = kept
    problem = random_problem(n_entries, 512, None)
    tried("blocks of 512 in random order", 512, None)


def _forward_alone(problem: Problem) -> float:
    """Entries a second of a forward pass in plain JAX: look-ups, but nothing added to rows."""
    random = np.random.default_rng(0)
    n_rows = sum(SHAPE)
    offsets = np.cumsum([0, *SHAPE[:-1]])
    tables = fused.RowTables(
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
    blocks = blocks_of(n_entries)
    start = time.perf_counter()
    problem = jax.block_until_ready(random_problem(n_entries, *blocks))
    made = time.perf_counter() - start
    rate = entries_a_second(problem, n_entries // BATCH, *blocks)
    memory = jax.devices()[0].memory_stats() or {}
    report(
        what="an epoch over a billion entries",
        entries=n_entries,
        seconds=n_entries / rate,
        entries_per_second=rate,
        seconds_to_make_and_sort=made,
        peak_bytes=memory.get("peak_bytes_in_use"),
    )
