import numpy as np
import pytest
from gradient_training import FREE, loop, small_tensor

from vaecp.models.vaecp.gradients import loop as loops
from vaecp.models.vaecp.gradients.entries import padded_entries, place_problem, shuffled_blocks
from vaecp.models.vaecp.gradients.schedule import Schedule
from vaecp.runtime.placement import N_SHARDS, Placement

FIELDS = ("values", "weights")


def settings_of(*, with_held_out: bool):
    (phase,) = Schedule(1, 0.1, decay=False, kl_warmup=0.0, scale_from=1.0).phases()
    return phase._replace(with_held_out=np.float32(with_held_out))


def taken(problem, settings, program):
    """Values and weights of every batch of a chunk's epochs: (epochs, entries)."""
    epochs = []
    for blocks in shuffled_blocks(problem, program, np.random.default_rng(0)):
        batches = [loops._take_blocks(problem, settings, b, program.block_size) for b in blocks]
        epochs.append([np.concatenate([np.ravel(getattr(b, n)) for b in batches]) for n in FIELDS])
    return epochs


@pytest.mark.parametrize(("batch_size", "block_size", "n_parts"), [(30, 1, 1), (64, 8, N_SHARDS)])
def test_every_entry_is_in_one_batch_of_an_epoch(batch_size, block_size, n_parts):
    tensor, program = small_tensor(), loop(batch_size, block_size, epochs_per_chunk=2)
    assert program.n_parts == n_parts
    random, placement = np.random.default_rng(0), Placement.on("cpu")
    problem = place_problem(tensor, None, FREE, program, random, placement)
    for values, weights in taken(problem, settings_of(with_held_out=False), program):
        assert weights.sum() == len(tensor)
        np.testing.assert_array_equal(
            np.sort(values[weights > 0]), np.sort(tensor.values).astype(np.float32)
        )


def test_entries_of_sorted_blocks_are_those_of_the_blocks():
    tensor = small_tensor()
    usual, by_row = (
        place_problem(
            tensor,
            None,
            FREE,
            loop(64, 8, sorted_mode=mode),
            np.random.default_rng(0),
            Placement.on("cpu"),
        ).training
        for mode in (None, 1)
    )
    columns = np.reshape(by_row.indices, (-1, 8, 2))[..., 1]
    assert (np.diff(columns, axis=1) >= 0).all()
    assert (np.diff(np.reshape(usual.indices, (-1, 8, 2))[..., 1], axis=1) < 0).any()
    for name in FIELDS:
        blocks = [np.sort(np.reshape(getattr(each, name), (-1, 8))) for each in (usual, by_row)]
        np.testing.assert_array_equal(*blocks)
    weighted = np.ravel(by_row.weights) > 0
    dense = np.zeros((12, 12), dtype=np.float32)
    dense[tuple(np.reshape(by_row.indices, (-1, 2))[weighted].T)] = np.ravel(by_row.values)[
        weighted
    ]
    np.testing.assert_array_equal(dense[tuple(tensor.indices.T)], tensor.values.astype(np.float32))


def test_held_out_entries_count_only_when_they_are_let_in():
    train, held_out = small_tensor().split(0.25, 0)
    program, random = loop(epochs_per_chunk=1), np.random.default_rng(0)
    problem = place_problem(train, held_out, FREE, program, random, Placement.on("cpu"))
    for let_in, expected in ((False, train.values), (True, small_tensor().values)):
        ((values, weights),) = taken(problem, settings_of(with_held_out=let_in), program)
        np.testing.assert_array_equal(
            np.sort(values[weights > 0]), np.sort(expected).astype(np.float32)
        )


def test_entries_of_padding_have_no_weight():
    indices, values, weights = padded_entries(np.array([[1, 2], [3, 4]]), np.array([5.0, 6.0]), 4)
    np.testing.assert_array_equal(indices, [[1, 2], [3, 4], [0, 0], [0, 0]])
    np.testing.assert_array_equal(values, [5, 6, 0, 0])
    np.testing.assert_array_equal(weights, [1, 1, 0, 0])
