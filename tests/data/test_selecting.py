from dataclasses import replace

import numpy as np
import pytest

from vaecp.data.limits import Limits
from vaecp.data.observations import Observations
from vaecp.data.selecting import select, within
from vaecp.errors import ObservationError


@pytest.fixture
def spectra(random):
    array = random.normal(size=(3, 6))
    array[1, 4] = np.nan
    return Observations.from_array(
        array, mode_names=["sample", "nm"], labels=[["a", "b", "c"], [250, 260, 270, 280, 290, 300]]
    )


def test_selected_labels_are_those_of_the_array(spectra):
    part = select(spectra, 1, np.array([4, 0, 3]))
    np.testing.assert_array_equal(part.to_array(), spectra.to_array()[:, [4, 0, 3]])
    assert part.labels[1].tolist() == [290, 250, 280]


@pytest.mark.parametrize(
    ("ends", "kept"),
    [((260, 280), [260, 270, 280]), ((None, 255), [250]), ((285, None), [290, 300])],
)
def test_both_ends_of_a_range_are_kept_and_may_be_open(spectra, ends, kept):
    assert within(spectra, nm=ends).labels[1].tolist() == kept


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"time": (0, 1)}, "there is no mode 'time': use 'sample', 'nm'"),
        ({"nm": (400, 500)}, "has no label from 400 to 500: its labels run from 250 to 300"),
    ],
)
def test_a_range_that_holds_nothing_is_refused(spectra, ranges, message):
    with pytest.raises(ObservationError, match=message):
        within(spectra, **ranges)


def test_limits_and_weights_go_with_their_entries(spectra):
    limits = Limits(
        np.array([[1, 4], [0, 0], [2, 5]]), np.array([1.0, 2.0, 3.0]), np.full(3, np.inf)
    )
    weighted = replace(spectra, weights=np.arange(1.0, 18.0), limits=limits)
    part = select(weighted, 1, np.array([5, 4]))
    assert part.limits is not None
    np.testing.assert_array_equal(part.limits.indices, [[1, 1], [2, 0]])
    np.testing.assert_array_equal(part.limits.lower, [1.0, 3.0])
    of_cell = dict(zip(map(tuple, spectra.indices.tolist()), range(1, 18), strict=True))
    expected = [of_cell[sample, (5, 4)[nm]] for sample, nm in part.indices.tolist()]
    np.testing.assert_array_equal(part.weights, expected)
    assert select(weighted, 1, np.array([1, 2])).limits is None
