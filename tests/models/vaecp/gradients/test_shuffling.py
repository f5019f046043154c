import numpy as np
import pytest

from vaecp.models.vaecp.gradients.shuffling import shuffle_into

N, ROOM = 1_000, 1_010


def room() -> tuple[np.ndarray, ...]:
    return np.full((ROOM, 2), -1, np.int32), *np.full((3, ROOM), -1.0, np.float32)


def shuffled(seed: int) -> tuple[np.ndarray, ...]:
    """Entry k is at (k, -k), and has the value k; every tenth one judges."""
    number = np.arange(N)
    indices = np.stack([number, -number], axis=1).astype(np.int32)
    into = room()
    shuffle_into(seed, indices, number.astype(float), number % 10 == 0, *into)
    return into


def test_every_entry_is_written_once_with_what_belongs_to_it():
    indices, values, weights, held_out = shuffled(1)
    assert sorted(values[:N]) == list(range(N))
    np.testing.assert_array_equal(indices[:N, 0], values[:N])
    np.testing.assert_array_equal(indices[:N, 1], -values[:N])
    np.testing.assert_array_equal(held_out[:N], values[:N] % 10 == 0)
    np.testing.assert_array_equal(weights[:N], 1 - held_out[:N])
    assert all((array[N:] == -1).all() for array in (indices, values, weights, held_out))


def test_any_entry_comes_to_any_place_as_often():
    """Means of places over many shuffles are those of a uniform draw."""
    values = np.array([shuffled(seed)[1][:N] for seed in range(1, 201)])
    error = np.sqrt((N**2 - 1) / 12 / len(values))
    assert np.abs(values.mean(axis=0) - (N - 1) / 2).max() < 5 * error
    assert abs(np.corrcoef(values[:, :-1].ravel(), values[:, 1:].ravel())[0, 1]) < 0.02


def test_the_same_seed_gives_the_same_order():
    np.testing.assert_array_equal(shuffled(3)[1], shuffled(3)[1])
    assert not np.array_equal(shuffled(3)[1], shuffled(4)[1])


@pytest.mark.parametrize("place", range(4))
def test_too_little_room_is_refused(place):
    into = [*room()]
    into[place] = into[place][: N - 1]
    with pytest.raises(ValueError, match="not enough room"):
        shuffle_into(1, np.zeros((N, 2), np.int32), np.zeros(N), np.zeros(N, bool), *into)
