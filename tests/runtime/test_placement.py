import jax
import numpy as np
import pytest

from vaecp.runtime.placement import N_SHARDS, Placement


def test_one_device_is_taken_unless_more_are_asked_for():
    first = jax.devices()[0]
    assert Placement.on().devices == (first,)
    assert Placement.on(first).devices == (first,)
    assert Placement.on("cpu").is_cpu
    assert Placement.on("cpu").is_one


class Device:
    platform = "none"


@pytest.mark.parametrize(("n_given", "n_used"), [(1, 1), (2, 2), (3, 2), (6, 4), (8, 8), (9, 8)])
def test_as_many_devices_are_used_as_share_the_parts_evenly(n_given, n_used):
    devices = [Device() for _ in range(n_given)]
    assert Placement.on(devices).devices == tuple(devices[:n_used])
    assert N_SHARDS % n_used == 0


def test_a_kind_of_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"devices is 'abacus', but JAX sees only .*: use one"):
        Placement.on("abacus")


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        ([], "devices is empty: give at least one"),
        ((), "devices is empty: give at least one"),
        (1.5, "devices has 1.5, which is no device"),
        ([0, None], "devices has None, which is no device"),
        ([0, 0], "more than once: list every device once"),
    ],
)
def test_what_are_no_devices_is_refused(devices, said):
    with pytest.raises(ValueError, match=said):
        Placement.on(devices)


def test_arrays_live_where_they_are_placed():
    placement = Placement.on("cpu")
    entries = placement.of_entries(np.zeros((N_SHARDS, 4)))
    everywhere = placement.of_all({"rows": np.ones(3)})["rows"]
    assert set(entries.devices()) == set(everywhere.devices()) == set(placement.devices)
    with placement.as_default():
        assert set(jax.numpy.zeros(1).devices()) == {placement.devices[0]}


def test_devices_can_be_named_by_their_places():
    assert Placement.on([0]).devices == (jax.devices()[0],)
    with pytest.raises(ValueError, match=r"devices is 99, but JAX sees \d+: use 0 to"):
        Placement.on([0, 99])
