import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.order import fibre_keys, keys_fit, ordered_modes


def spectra(n_samples=12, n_waves=40, *, noise=0.02, seed=0) -> Observations:
    """Samples in no order, along smooth curves."""
    random = np.random.default_rng(seed)
    wave = np.linspace(0, 1, n_waves)
    curves = np.stack([np.exp(-0.5 * ((wave - c) / 0.12) ** 2) for c in (0.3, 0.5, 0.8)])
    array = random.normal(size=(n_samples, 3)) @ curves
    return Observations.from_array(array + noise * random.normal(size=array.shape))


def test_wavelengths_have_an_order_and_samples_do_not():
    assert ordered_modes(spectra()) == (False, True)


def test_an_order_that_is_shuffled_is_none():
    tensor = spectra()
    order = np.random.default_rng(1).permutation(40)
    shuffled = Observations(
        np.column_stack([tensor.indices[:, 0], order[tensor.indices[:, 1]]]),
        tensor.values,
        tensor.shape,
    )
    assert ordered_modes(shuffled) == (False, False)


def test_few_pairs_say_nothing():
    tensor = spectra()
    assert ordered_modes(tensor.take(np.arange(0, len(tensor), 17))) == (False, False)


def test_a_tensor_with_more_cells_than_64_bits_is_not_numbered():
    assert keys_fit((2**20, 2**20, 2**20))
    assert not keys_fit((2**20,) * 4)


def test_keys_of_a_fibre_are_consecutive():
    indices = np.array([[1, 0, 2], [1, 1, 2], [1, 2, 2]])
    assert np.diff(fibre_keys(indices, (2, 3, 4), 1)).tolist() == [1, 1]


def test_uneven_counts_make_no_order_where_there_is_none():
    for seed in range(3):
        random = np.random.default_rng(seed)
        often = np.where(np.arange(1000) < 500, 100.0, 1.0)
        indices = random.integers(1000, size=(30_000, 3)).astype(np.int32)
        indices[:, 0] = random.choice(1000, size=30_000, p=often / often.sum())
        tensor = Observations(indices, random.standard_normal(30_000), (1000,) * 3)
        assert ordered_modes(tensor) == (False, False, False)


def test_effects_of_rows_tell_the_order_of_a_sparse_mode():
    random = np.random.default_rng(0)
    indices = random.integers(1000, size=(20_000, 3)).astype(np.int32)
    values = np.sin(indices[:, 1] / 100) + random.standard_normal(20_000)
    assert ordered_modes(Observations(indices, values, (1000,) * 3)) == (False, True, False)
