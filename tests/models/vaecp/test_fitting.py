"""Which members a fit trains in full."""

import numpy as np
import pytest

import vaecp
from vaecp.models.vaecp import fitting
from vaecp.models.vaecp.gradients import fits
from vaecp.models.vaecp.judgement import Judgement


@pytest.fixture
def tensor(random):
    array = np.einsum("ir,jr,kr->ijk", *(random.normal(size=(n, 2)) for n in (16, 14, 12)))
    array += 0.3 * random.normal(size=array.shape)
    return vaecp.Observations.from_array(array)


@pytest.fixture
def trained(monkeypatch):
    """Lists which trainings of networks a fit asks for; each comes to what the sweeps found, moved."""
    asked = []

    def listed(name, function):
        def train(*given):
            asked.append(name)
            return function(*given)

        monkeypatch.setattr(fits, name, train)

    monkeypatch.setattr(fitting, "ROOM", -1.0)  # averaging need not gain anything
    listed("glimpsed_members", fits.glimpsed_members)
    listed("network_members", fits.network_members)
    return asked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gain", "expected"),
    [(0.0, ["glimpsed_members"]), (0.1, ["glimpsed_members", "network_members"])],
)
def test_networks_are_trained_in_full_only_where_a_short_training_gains(
    tensor, trained, monkeypatch, gain, expected
):
    monkeypatch.setattr(Judgement, "gain_of_last", lambda self, n_members: gain)
    vaecp.VAECP(max_epochs=4, random_state=0).fit_tensor(tensor)
    assert trained == expected


@pytest.mark.slow
def test_a_network_that_was_left_out_leaves_the_fit_as_it_was(tensor, trained):
    """Of a sum of products nothing is left for a network."""
    usual = vaecp.VAECP(max_epochs=4, random_state=0).fit_tensor(tensor)
    assert trained == ["glimpsed_members"]
    without = vaecp.VAECP(recipe=vaecp.Recipe(network=False), random_state=0).fit_tensor(tensor)
    cells = tensor.indices[:50]
    np.testing.assert_array_equal(usual.predict_at(cells).mean, without.predict_at(cells).mean)
