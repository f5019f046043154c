"""Checkpoints: whole or not at all, of the same computation, and refused by name otherwise."""

from __future__ import annotations

import json

import numpy as np
import pytest
from jax.errors import JaxRuntimeError

from vaecp.errors import CheckpointError
from vaecp.runtime.checkpoints import HEADER, Checkpoint, checkpoint, kept_in

OF = {"version": "1", "data": "abc"}
ARRAYS = {"a": np.arange(6.0).reshape(2, 3).T, "b": np.array([], dtype=np.int32)}


def test_what_is_kept_comes_back(tmp_path):
    Checkpoint(tmp_path / "kept", OF).save("step", ARRAYS, {"n": 3})
    arrays, told = Checkpoint(tmp_path / "kept", OF).load("step") or ({}, {})
    assert told == {"n": 3}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
    assert Checkpoint(tmp_path / "kept", OF).load("another") is None


def test_there_is_a_checkpoint_only_inside_the_block(tmp_path):
    with kept_in(tmp_path / "kept", OF, interval=1e9):
        kept = checkpoint()
        assert kept is not None
        assert not kept.is_due()
    assert checkpoint() is None
    with kept_in(None, OF):
        assert checkpoint() is None


def test_a_value_is_what_it_was_the_first_time(tmp_path):
    assert Checkpoint(tmp_path, OF).once("seed", 5) == 5
    assert Checkpoint(tmp_path, OF).once("seed", 6) == 5


def test_the_checkpoint_of_another_fit_is_refused(tmp_path):
    Checkpoint(tmp_path, OF)
    with pytest.raises(CheckpointError, match=r"of another fit, whose data is 'abc' and not 'xyz'"):
        Checkpoint(tmp_path, OF | {"data": "xyz"})


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("my life")
    with pytest.raises(
        CheckpointError, match=r"holds files but no checkpoint: name an empty folder"
    ):
        Checkpoint(tmp_path, OF)
    with pytest.raises(CheckpointError, match=r"thesis.tex: cannot hold checkpoints"):
        Checkpoint(tmp_path / "thesis.tex", OF)


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied", "told"])
def test_a_damaged_checkpoint_is_refused_by_name(tmp_path, damage):
    Checkpoint(tmp_path, OF).save("step", ARRAYS, {"n": 3})
    path = tmp_path / "step.safetensors"
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[:-9]
    elif damage == "flipped":
        data[-3] ^= 1
    elif damage == "told":
        data = data.replace(b'\\"n\\": 3', b'\\"n\\": 4')
    else:
        data = bytearray()
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"step.safetensors: is damaged .*remove the folder"):
        Checkpoint(tmp_path, OF).load("step")


def test_a_damaged_header_is_refused_by_name(tmp_path):
    Checkpoint(tmp_path, OF)
    (tmp_path / HEADER).write_text(json.dumps(OF)[:-3])
    with pytest.raises(CheckpointError, match=rf"{HEADER}: is damaged"):
        Checkpoint(tmp_path, OF)


def test_a_header_nested_without_end_is_refused_by_name(tmp_path):
    Checkpoint(tmp_path, OF)
    (tmp_path / HEADER).write_text("[" * 100_000)
    with pytest.raises(CheckpointError, match=r"checkpoint.json: is damaged"):
        Checkpoint(tmp_path, OF)


def test_a_value_of_another_type_is_refused(tmp_path):
    Checkpoint(tmp_path, OF).save("seed", {}, {"value": "5"})
    with pytest.raises(CheckpointError, match=r"seed.safetensors: is damaged .*'5', and not 6"):
        Checkpoint(tmp_path, OF).once("seed", 6)


def test_a_step_that_does_not_fit_is_refused_by_name(tmp_path):
    kept = Checkpoint(tmp_path, OF)
    with (
        pytest.raises(CheckpointError, match=r"step.safetensors: is damaged \(.*'n'"),
        kept.reading("step"),
    ):
        raise KeyError("n")


def test_a_computation_that_fails_after_it_went_on_names_the_folder(tmp_path):
    def compute(kept):
        assert kept is not None
        kept.load("step")
        raise IndexError("of what was kept")

    Checkpoint(tmp_path, OF).save("step", ARRAYS, {})
    match = r"went on from what is kept here, and failed \(IndexError: of what was kept\)"
    with pytest.raises(CheckpointError, match=match), kept_in(tmp_path, OF):
        compute(checkpoint())


def test_a_connection_that_is_lost_is_not_laid_on_what_was_kept(tmp_path, monkeypatch):
    Checkpoint(tmp_path, OF).save("step", ARRAYS, {})
    lost = pytest.raises(JaxRuntimeError, match="reset by peer")
    with lost, kept_in(tmp_path, OF):
        kept = checkpoint()
        assert kept is not None
        kept.load("step")
        monkeypatch.setattr("vaecp.runtime.processes.n_processes", lambda: 2)
        raise JaxRuntimeError("Connection reset by peer")


def test_a_computation_that_fails_by_itself_is_not_said_to_go_on(tmp_path):
    with pytest.raises(IndexError, match="by itself"), kept_in(tmp_path, OF):
        raise IndexError("by itself")
