"""What new rows have of their own."""

import numpy as np
import pytest

import vaecp
from vaecp.models.vaecp.own_parts import own_part
from vaecp.models.vaecp.surfaces import Surface, possible
from vaecp.models.vaecp.sweeps.chains import Chain

SHAPE = (6, 40, 30)
CHAINS = (None, Chain(np.ones(39)), Chain(np.ones(29)))
NEW = (np.arange(6) == 4, np.zeros(40, dtype=bool), np.zeros(30, dtype=bool))


def surface() -> np.ndarray:
    left, right = np.linspace(-1, 1, 40), np.linspace(-1, 1, 30)
    return np.exp(-((left[:, None] - right) ** 2) / 0.1)


def entries(n: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    cells = random.permutation(40 * 30)[:n]
    return np.stack([np.full(n, 4), cells // 30, cells % 30], axis=1).astype(np.int32)


def sum_of_columns(part) -> np.ndarray:
    """What the columns add up to, for the new row and for the others."""
    return np.einsum("ir,jr,kr->ijk", *(table[:-1] for table in part.mean))


@pytest.mark.parametrize("chains", [CHAINS, (None, None, None)], ids=["surface", "components"])
def test_a_pattern_of_a_new_row_is_found_and_leaves_old_rows_alone(chains):
    truth = surface() if chains[1] is not None else np.outer(np.arange(40) % 7, np.arange(30) % 5)
    indices = entries(700)
    at = tuple(indices[:, 1:].T)
    noise = 0.02 * truth.std() * np.random.default_rng(1).normal(size=700)
    part = own_part(indices, truth[at] + noise, NEW, chains)
    assert part is not None
    found = sum_of_columns(part)
    assert np.std(found[4] - truth) < 0.15 * truth.std()
    np.testing.assert_array_equal(found[:4], 0.0)
    assert np.std(part.errors) < 0.15 * truth.std()


@pytest.mark.parametrize("chains", [CHAINS, (None, None, None)], ids=["surface", "components"])
def test_noise_is_no_pattern(chains):
    indices = entries(400)
    assert own_part(indices, np.random.default_rng(2).normal(size=400), NEW, chains) is None


def test_few_entries_and_new_rows_of_two_modes_are_left_alone():
    indices = entries(50)
    assert own_part(indices, surface()[tuple(indices[:, 1:].T)], NEW, CHAINS) is None
    indices = entries(300)
    both = (NEW[0], np.arange(40) < 3, NEW[2])
    assert own_part(indices, surface()[tuple(indices[:, 1:].T)], both, CHAINS) is None


def test_columns_of_a_surface_add_up_to_it():
    indices = entries(300)[:, 1:]
    found = Surface((CHAINS[1], CHAINS[2])).learned(indices, surface()[tuple(indices.T)])
    left, right = found.columns()
    np.testing.assert_allclose(
        np.einsum("jr,kr->jk", left, right)[tuple(indices.T)], found.at(indices), atol=0.03
    )


def test_a_surface_needs_one_or_two_ordered_modes():
    assert possible(CHAINS[1:])
    assert not possible(CHAINS)
    assert not possible((None, CHAINS[1]))


def test_a_new_sample_with_a_substance_of_its_own_is_predicted_and_calibrated():
    random = np.random.default_rng(3)
    amounts = random.random((6, 2)) + 0.2
    shapes = [
        np.stack([np.exp(-(((np.arange(n) - n * c) / 6) ** 2)) for c in (0.3, 0.7)], axis=1)
        for n in SHAPE[1:]
    ]
    full = np.einsum("ir,jr,kr->ijk", amounts, *shapes)
    full[4] += 0.5 * surface()
    full += 0.02 * random.normal(size=SHAPE)
    labels = [[f"s{n}" for n in range(6)], np.arange(300.0, 340), np.arange(250.0, 280)]
    tensor = vaecp.Observations.from_array(full, mode_names=["sample", "em", "ex"], labels=labels)
    new = tensor.indices[:, 0] == 4
    given = new & (random.random(len(new)) < 0.4)
    old, measured, asked = (tensor.take(part) for part in (~new, given, new & ~given))
    model = vaecp.VAECP(rank=2, effort="quick", random_state=0).fit(old.keys(), old.values)
    grown = model.fold_in(measured.keys(), measured.values)
    error = grown.predict(asked.keys()) - asked.values
    assert np.sqrt(np.mean(error**2)) < 0.04
    low, high = grown.predict_interval(asked.keys())
    assert 0.8 < np.mean((low <= asked.values) & (asked.values <= high)) < 0.98
