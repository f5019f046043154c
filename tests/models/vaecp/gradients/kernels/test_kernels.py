import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vaecp.models.vaecp.gradients import kernels as fused
from vaecp.models.vaecp.gradients.kernels import additions, cpu, reference
from vaecp.models.vaecp.gradients.kernels.reference import (
    BlockPlan,
    Floats,
    RowTables,
    StoredBlocks,
)

pytestmark = pytest.mark.slow


@pytest.fixture(params=itertools.product((2, 3, 5), (0, 7)), ids=str)
def entries(request, random):
    """Tables of three members, and entries, some of which do not count."""
    n_modes, rank = request.param
    sizes = np.arange(4, 4 + n_modes)
    first = np.cumsum(sizes) - sizes

    def draw(*shape):
        return jnp.asarray(random.normal(size=(3, *shape)), jnp.float32)

    ids = first + random.integers(sizes, size=(50, n_modes))
    tables = RowTables(
        jnp.asarray(ids, jnp.int32),
        draw(sizes.sum(), 11),
        draw(sizes.sum(), rank),
        0.3 * draw(2, 11),
        draw(2),
    )
    values, weights = random.normal(size=50), random.integers(3, size=50)
    return tables, *(jnp.asarray(a, jnp.float32) for a in (values, weights))


on_the_cpu = pytest.mark.skipif(jax.default_backend() != "cpu", reason="JAX computes on a GPU")
OF_MEMBERS = (RowTables(None, 0, 0, 0, 0), None, None)  # type: ignore[arg-type]


def close(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for each, right in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        # Terms that nearly cancel leave the rounding of the largest.
        largest = np.max(np.abs(right), initial=1.0)
        np.testing.assert_allclose(each, right, rtol=1e-4, atol=2e-6 * largest)


@on_the_cpu
@pytest.mark.parametrize("compiled", [False, True])
def test_the_cpu_loop_gives_the_value_and_gradients_of_the_reference(entries, compiled):
    functions = [jax.vmap(module.value_and_gradients, OF_MEMBERS) for module in (cpu, reference)]
    close(*((jax.jit(f) if compiled else f)(*entries) for f in functions))


@on_the_cpu
def test_the_cpu_loop_decodes_as_the_reference_does(entries):
    tables = entries[0]
    close(*(jax.vmap(module.decode, OF_MEMBERS[:1])(tables) for module in (cpu, reference)))


@on_the_cpu
def test_fits_side_by_side_have_values_of_their_own(entries):
    """A second mapped axis, along which the tables and what is learned from differ."""
    tables, values, weights = entries
    several = tables._replace(
        **{name: jnp.stack([getattr(tables, name)] * 2) for name in RowTables._fields[1:]}
    )
    both = jnp.stack([values, -values]), jnp.stack([weights, weights[::-1]])
    axes = (RowTables(None, 0, 0, 0, 0), 0, 0)  # type: ignore[arg-type]
    close(
        *(
            jax.vmap(jax.vmap(module.value_and_gradients, OF_MEMBERS), axes)(several, *both)
            for module in (cpu, reference)
        )
    )


def test_gradients_are_those_that_jax_would_find(entries):
    tables, values, weights = entries
    member = RowTables(tables.ids, *(table[0] for table in tables[1:]))

    def gradient(log_likelihood):
        def of_floats(*floats):
            return -2.0 * log_likelihood(RowTables(member.ids, *floats), values, weights)

        return jax.grad(of_floats, argnums=(0, 1, 2, 3))(*member[1:])

    close(gradient(fused.log_likelihood), gradient(reference.log_likelihood))


def test_other_likelihoods_can_be_trained_through_the_decoder(entries):
    tables = entries[0]
    member = RowTables(tables.ids, *(table[0] for table in tables[1:]))

    def gradient(decode):
        def of_floats(*floats):
            mean, log_variance = decode(RowTables(member.ids, *floats))
            return jnp.sum(jnp.sin(mean) + log_variance**2)

        return jax.grad(of_floats, argnums=(0, 1, 2, 3))(*member[1:])

    close(gradient(fused.decode), gradient(reference.decode))


@on_the_cpu
def test_large_activations_saturate():
    ids = jnp.zeros((1, 2), jnp.int32)
    tables = RowTables(
        ids, jnp.full((1, 1), 60.0), jnp.zeros((1, 0)), jnp.ones((2, 1)), jnp.zeros(2)
    )
    np.testing.assert_allclose(cpu.decode(tables)[0], [1.0], rtol=1e-6)


@on_the_cpu
def test_what_is_not_finite_stays_so():
    ids = jnp.zeros((1, 2), jnp.int32)
    tables = RowTables(
        ids, jnp.full((1, 1), jnp.nan), jnp.zeros((1, 0)), jnp.ones((2, 1)), jnp.zeros(2)
    )
    value, _ = cpu.value_and_gradients(tables, jnp.zeros(1), jnp.ones(1))
    assert not np.isfinite(value)


def astray(tables, row):
    """The first entry asks for a row that no table has."""
    return tables._replace(ids=tables.ids.at[0, 1].set(row))


@pytest.mark.parametrize("row", [-1, 10**6, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("home", [cpu, reference], ids=["cpu", "reference"])
def test_rows_that_no_table_has_give_nan(entries, home, row):
    tables, values, weights = entries
    member = astray(RowTables(tables.ids, *(table[0] for table in tables[1:])), row)
    assert all(np.isnan(output).all() for output in home.decode(member))
    assert np.isnan(home.value_and_gradients(member, values, weights)[0])


WRONG = {
    "heads": lambda t: t._replace(heads=t.heads[:, :-1]),
    "one head": lambda t: t._replace(heads=t.heads[:1]),
    "biases": lambda t: t._replace(biases=t.biases[:1]),
    "fewer factors": lambda t: t._replace(factors=t.factors[:-1]),
    "flat tables": lambda t: t._replace(projected=t.projected.ravel()),
    "one mode": lambda t: t._replace(ids=t.ids[:, :1]),
    "flat ids": lambda t: t._replace(ids=t.ids[:, 0]),
    "half floats": lambda t: t._replace(projected=t.projected.astype(jnp.float16)),
    "ids that are floats": lambda t: t._replace(ids=t.ids.astype(jnp.float32)),
}
each_wrong = pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)


@on_the_cpu
@each_wrong
def test_arrays_that_do_not_fit_each_other_are_refused(entries, change):
    tables, values, weights = entries
    wrong = change(RowTables(tables.ids, *(table[0] for table in tables[1:])))
    with pytest.raises((ValueError, TypeError), match="arrays of"):
        cpu.decode(wrong)
    with pytest.raises((ValueError, TypeError), match="arrays of"):
        cpu.value_and_gradients(wrong, values, weights)


@on_the_cpu
@each_wrong
def test_the_compiled_loop_itself_answers_such_arrays_with_nan(entries, change):
    tables, values, weights = entries
    wrong = change(RowTables(tables.ids, *(table[0] for table in tables[1:])))
    (outputs,) = cpu._call(cpu.DECODE, (2, 50))(*wrong)
    assert np.isnan(outputs).all()
    shapes = ((3,), *(table.shape for table in wrong[1:4]))
    for result in cpu._call(cpu.LOG_LIKELIHOOD, *shapes)(wrong.ids, values, weights, *wrong[1:]):
        assert np.isnan(result).all()


@on_the_cpu
@pytest.mark.parametrize("shape", [(2,), (2, 49), (50, 2), (3, 2, 50)])
def test_the_compiled_loop_writes_nothing_but_nan_into_a_result_of_another_size(entries, shape):
    tables = RowTables(entries[0].ids, *(table[0] for table in entries[0][1:]))
    (outputs,) = cpu._call(cpu.DECODE, shape)(*tables)
    assert np.isnan(outputs).all()


@on_the_cpu
def test_the_compiled_loop_counts_its_arguments(entries):
    tables = RowTables(entries[0].ids, *(table[0] for table in entries[0][1:]))
    (outputs,) = cpu._call(cpu.DECODE, (2, 50))(*tables[:3])
    assert np.isnan(outputs).all()


def test_the_gpu_kernel_looks_at_its_arrays_before_it_starts(entries):
    gpu = pytest.importorskip("vaecp.models.vaecp.gradients.kernels.gpu")
    tables, values, weights = entries
    member = RowTables(tables.ids, *(table[0] for table in tables[1:]))
    with pytest.raises(ValueError, match="arrays of"):
        gpu.value_and_gradients(WRONG["heads"](member), values, weights)
    lowered = jax.jit(gpu.value_and_gradients).trace(member, values, weights)
    assert "triton" in lowered.lower(lowering_platforms=("cuda",)).as_text()


PRECISE = {"fast_tanh": False}
on_a_gpu = pytest.mark.skipif(jax.default_backend() != "gpu", reason="there is no GPU")


@on_a_gpu
@pytest.mark.parametrize(
    "settings", [{}, {"fused": False, "tile": 32}], ids=["as it is", "other tiles"]
)
def test_the_gpu_kernel_gives_the_value_and_gradients_of_the_reference(
    entries, monkeypatch, settings
):
    from vaecp.models.vaecp.gradients.kernels import gpu

    monkeypatch.setattr(gpu, "SETTINGS", gpu.SETTINGS._replace(**settings))
    with jax.default_matmul_precision("highest"):
        close(
            *(
                jax.jit(jax.vmap(module.value_and_gradients, OF_MEMBERS))(*entries)
                for module in (gpu, reference)
            )
        )


OFFSETS = (0, 4, 9)


def blocks_of_entries(random, *, in_order: bool, rank: int = 3) -> tuple[Floats, StoredBlocks]:
    """Four blocks of sixteen entries, of which a batch takes three."""
    indices = random.integers((4, 5, 6), size=(4, 16, 3))
    if in_order:
        indices[..., 0] = np.sort(indices[..., 0], axis=1)

    def draw(*shape):
        return jnp.asarray(random.normal(size=shape), jnp.float32)

    floats = Floats(draw(15, 11), draw(15, rank), 0.3 * draw(2, 11), draw(2))
    weights = jnp.asarray(random.integers(3, size=64), jnp.float32)
    blocks = jnp.asarray([2, 0, 3], jnp.int32)
    return floats, StoredBlocks(
        jnp.asarray(indices.reshape(64, 3), jnp.int32), draw(64), weights, blocks
    )


def test_blocks_of_entries_are_the_entries_in_them(random):
    floats, stored = blocks_of_entries(random, in_order=False)
    chosen = np.concatenate([np.arange(32, 48), np.arange(16), np.arange(48, 64)])
    ids = stored.indices[chosen] + jnp.asarray(OFFSETS)
    expected = jax.value_and_grad(
        lambda floats: reference.log_likelihood(
            RowTables(ids, *floats), stored.values[chosen], stored.weights[chosen]
        )
    )(floats)
    close(fused.of_blocks(floats, stored, BlockPlan(16, OFFSETS)), expected)


@pytest.fixture
def interpreted(monkeypatch):
    """The kernel of the GPU, carried out by JAX, which has no additions in any order."""
    gpu = pytest.importorskip("vaecp.models.vaecp.gradients.kernels.gpu")
    state = pytest.importorskip("jax._src.state.primitives")

    def add(ref, place, terms, mask=None):
        state.ref_addupdate(ref, place, terms if mask is None else jnp.where(mask, terms, 0.0))

    monkeypatch.setattr(gpu, "INTERPRET", True)
    monkeypatch.setattr(gpu, "add", add)

    def of_blocks(floats, stored, sorted_mode, **settings):
        chosen = gpu.KernelSettings(tile=64, programs=3, **settings)
        monkeypatch.setattr(gpu, "SETTINGS", chosen)
        return gpu.of_blocks(floats, stored, BlockPlan(16, OFFSETS, sorted_mode))

    return of_blocks


@on_the_cpu
@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("sorted_mode", [None, 0])
def test_the_gpu_kernel_computes_what_the_reference_does(
    interpreted, random, in_order, sorted_mode
):
    """Sums over runs of a row are right, whether or not entries lie in the order of its mode."""
    floats, stored = blocks_of_entries(random, in_order=in_order)
    found = interpreted(floats, stored, sorted_mode, ahead=in_order)
    close(found, reference.of_blocks(floats, stored, BlockPlan(16, OFFSETS)))


@on_the_cpu
def test_the_gpu_kernel_gives_nan_for_rows_that_no_table_has(interpreted, random):
    floats, stored = blocks_of_entries(random, in_order=False)
    astray = stored._replace(indices=stored.indices.at[40, 1].set(10**6))
    assert np.isnan(interpreted(floats, astray, None)[0])


@on_a_gpu
@pytest.mark.parametrize("in_order", [True, False])
def test_the_gpu_kernel_sums_over_runs_as_the_reference_does(random, monkeypatch, in_order):
    from vaecp.models.vaecp.gradients.kernels import gpu

    floats, stored = blocks_of_entries(random, in_order=in_order)
    precise = gpu.SETTINGS._replace(tile=64, programs=3, **PRECISE)
    monkeypatch.setattr(gpu, "SETTINGS", precise)
    with jax.default_matmul_precision("highest"):
        expected = reference.of_blocks(floats, stored, BlockPlan(16, OFFSETS))
        close(
            jax.jit(gpu.of_blocks, static_argnums=2)(floats, stored, BlockPlan(16, OFFSETS, 0)),
            expected,
        )


def test_this_version_of_jax_can_add_in_any_order(monkeypatch):
    """Else the kernel of the GPU falls back to additions that take twice the time."""
    lowering = pytest.importorskip("jax._src.pallas.triton.lowering")
    asked = []

    def noted(*args, **settings):
        asked.append(str(settings["semantic"]))
        return kept(*args, **settings)

    kept = lowering._atomic_rmw
    monkeypatch.setattr(lowering, "_atomic_rmw", noted)
    additions._lower(additions._make())
    assert [word.lower() for word in asked] == ["relaxed"]


def test_a_version_of_jax_that_cannot_add_in_any_order_gets_the_additions_of_pallas(monkeypatch):
    def changed():
        raise AttributeError("this version of JAX has it elsewhere")

    monkeypatch.setattr(additions, "_make", changed)
    additions._relaxed_add.cache_clear()
    try:
        assert additions._relaxed_add() is None
        assert additions._lower(additions.add)
    finally:
        additions._relaxed_add.cache_clear()


@pytest.mark.parametrize(("flags", "used"), [("", True), (fused.DETERMINISTIC, False)])
def test_the_gpu_kernel_makes_way_where_sums_need_an_order(monkeypatch, flags, used):
    pytest.importorskip("jax.experimental.pallas.triton")
    monkeypatch.setattr("jax.default_backend", lambda: "gpu")
    monkeypatch.setenv("XLA_FLAGS", flags)
    assert (fused._gpu.__wrapped__() is not None) == used
