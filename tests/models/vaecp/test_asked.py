import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.models.vaecp.asked import gaps_asked_for, shares_of

SHAPE = (10, 48, 60)
ORDERED = (False, True, True)


def asked(missing: np.ndarray, ordered=ORDERED) -> dict[str, float]:
    values = np.random.default_rng(0).normal(size=missing.shape)
    tensor = Observations.from_array(values, mask=~missing)
    most = 0.08 * len(tensor), 0.12 * len(tensor)
    patterns, shares = gaps_asked_for(tensor, ordered, most, np.random.default_rng(0))
    names = [*map(str, patterns), "scattered"]
    return dict(zip(names, shares.tolist(), strict=True))


def most_asked(missing: np.ndarray, ordered=ORDERED) -> str:
    found = asked(missing, ordered)
    return max(found, key=lambda name: found[name])


def test_shares_of_a_mixture_are_found_from_its_parts(random):
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    known = [centre + random.normal(size=(400, 2)) for centre in centres]
    truth = [0.6, 0.1, 0.3]
    mixed = np.concatenate(
        [c + random.normal(size=(int(4_000 * t), 2)) for c, t in zip(centres, truth, strict=True)]
    )
    np.testing.assert_allclose(shares_of(mixed, known), truth, atol=0.05)


def test_what_is_like_all_parts_is_taken_for_the_last(random):
    known = [random.normal(size=(400, 3)) for _ in range(3)]
    assert shares_of(random.normal(size=(4_000, 3)), known)[-1] > 0.6


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_scattered_gaps_are_told_from_all_others(share, random):
    assert asked(random.random(SHAPE) < share)["scattered"] > 0.6


def test_blocks_are_told_from_fibres_and_scattered_cells(random):
    missing = np.zeros(SHAPE, dtype=bool)
    for sample in range(10):
        for _ in range(2):
            row, column = random.integers(36), random.integers(45)
            missing[sample, row : row + 12, column : column + 15] = True
    assert most_asked(missing) == "blocks:1,2"


def test_bands_that_are_missing_in_every_sample_are_told_from_blocks_of_one():
    rows, columns = np.indices(SHAPE[1:])
    band = np.abs(columns - rows - 4) < 5
    found = asked(np.broadcast_to(band, SHAPE))
    assert found["slabs:1,2"] + found["fibres:0"] > 0.6


def test_rows_of_two_modes_that_never_met_are_told_from_fibres(random):
    """Two ligands that were not measured at the first time, at any dose and for any cell."""
    missing = np.zeros((12, 6, 10, 8), dtype=bool)
    for ligand, time in ((1, 0), (4, 0), (7, 2), (9, 5)):
        missing[ligand, time] = True
    assert most_asked(missing, (False,) * 4) == "fibres:2,3"


def test_scattered_gaps_of_many_modes_are_no_planes(random):
    """Of so few cells a plane is, most planes of two modes are empty by chance."""
    for shape in ((10, 10, 10, 10), (4,) * 6):
        patterns = asked(random.random(shape) > 0.1, (False,) * len(shape))
        assert not any("," in name for name in patterns)


def test_many_modes_have_few_planes(random):
    """A factorial design in which half of the pairs of the first two modes never met."""
    missing = np.zeros((6, 6, 3, 3, 3, 3), dtype=bool)
    missing[random.random((6, 6)) < 0.5] = True
    planes = [name for name in asked(missing, (False,) * 6) if "," in name]
    assert 0 < len(planes) <= 2


def test_a_full_tensor_of_many_modes_is_held_out_without_a_warning():
    asked(np.zeros((5, 5, 5, 5), dtype=bool), (False,) * 4)


def test_counts_that_are_all_alike_are_taken_for_the_last():
    """All points are equally near then."""
    assert shares_of(np.zeros((1_000, 3)), [np.zeros((400, 3))] * 3)[-1] > 0.9


def test_where_hardly_any_cell_is_observed_gaps_are_taken_for_scattered(random):
    """Whole fibres are observed, of which there are few."""
    missing = np.ones((80, 80, 80), dtype=bool)
    missing[random.integers(80, size=20), random.integers(80, size=20)] = False
    assert asked(missing)["scattered"] == 1.0


def test_a_fibre_that_is_most_of_the_tensor_is_not_held_out(random):
    patterns = asked(random.random((600, 6)) < 0.3, (False, False))
    assert set(patterns) == {"fibres:1", "scattered"}


def test_a_cell_that_is_measured_twice_leaves_gaps_what_they_are():
    rows, columns = np.indices(SHAPE[1:])
    missing = np.broadcast_to(np.abs(columns - rows - 4) < 5, SHAPE)
    once = Observations.from_array(np.ones(SHAPE), mask=~missing)
    twice = once.take(np.tile(np.arange(len(once)), 2))
    shares = [
        gaps_asked_for(each, ORDERED, (1_500, 2_000), np.random.default_rng(0))[1]
        for each in (once, twice)
    ]
    assert shares[1][-1] < 0.2
    assert shares[0][-1] < 0.2
