import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vaecp.models.vaecp.gradients.gather import take_rows


def plain(table, indices):
    return table[indices]


@pytest.fixture
def members(random):
    return jnp.asarray(random.normal(size=(3, 5, 4)), jnp.float32)


@pytest.fixture
def indices(random):
    return jnp.asarray(random.integers(5, size=20))


def total(take, table, indices):
    return jnp.sum(jnp.sin(take(table, indices)) * jnp.arange(20.0)[:, None])


def test_rows_and_gradients_equal_plain_indexing(members, indices):
    table = members[0]
    np.testing.assert_array_equal(take_rows(table, indices), table[indices])
    found, expected = (
        jax.grad(lambda t, take=take: total(take, t, indices))(table) for take in (take_rows, plain)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("members_have_their_own_indices", [False, True])
def test_members_side_by_side_equal_members_one_by_one(
    members, indices, members_have_their_own_indices
):
    if members_have_their_own_indices:
        indices = jnp.stack([indices, indices[::-1], (indices + 1) % 5])
    axes = (0, 0 if members_have_their_own_indices else None)
    together = jax.vmap(jax.value_and_grad(lambda t, i: total(take_rows, t, i)), axes)(
        members, indices
    )
    for member, table in enumerate(members):
        own = indices[member] if members_have_their_own_indices else indices
        value, gradient = jax.value_and_grad(lambda t, i: total(plain, t, i))(table, own)
        np.testing.assert_allclose(together[0][member], value, rtol=1e-5)
        np.testing.assert_allclose(together[1][member], gradient, rtol=1e-5, atol=1e-5)


def test_rows_are_added_whole_under_two_axes_of_members(members, indices):
    nested = jnp.stack([members, 2 * members])
    gradient = jax.grad(lambda t: total(take_rows, t, indices))
    found = jax.vmap(jax.vmap(gradient))(nested)
    for outer, inner in np.ndindex(2, 3):
        expected = jax.grad(lambda t: total(plain, t, indices))(nested[outer, inner])
        np.testing.assert_allclose(found[outer, inner], expected, rtol=1e-5, atol=1e-5)
    program = str(jax.make_jaxpr(jax.vmap(jax.vmap(gradient)))(nested))
    assert "f32[5,24] = scatter-add" in program  # 2 * 3 members of width 4, side by side
