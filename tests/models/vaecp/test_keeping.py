"""Fits that are interrupted: the result is that of a fit that never was, bit for bit."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from vaecp import VAECP, Recipe, scan
from vaecp.errors import CheckpointError
from vaecp.models.vaecp.gradients import schedule
from vaecp.models.vaecp.gradients.driver import Groups
from vaecp.runtime import checkpoints

KEYS = np.argwhere(np.ones((12, 10)))
VALUES = KEYS[:, 0] * np.sin(KEYS[:, 1]) + np.random.default_rng(0).normal(size=120)
NETWORK = VAECP(
    2,
    hidden=4,
    n_members=1,
    max_epochs=30,
    likelihood="gaussian",
    recipe=Recipe(sweeps=False, network=True, batch_size=32),
)
SWEEPS = VAECP(2, recipe=Recipe(network=False))


class Killed(BaseException):
    """Nothing that code catches on its way."""


@pytest.fixture
def killed_after(monkeypatch):
    """Keep a checkpoint whenever one can be kept, and stop right after some of them."""
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    save = checkpoints.Checkpoint.save

    def stop_after(n):
        left = [n]

        def saving(self, *arguments):
            save(self, *arguments)
            left[0] -= 1
            if left[0] == 0:
                raise Killed

        monkeypatch.setattr(checkpoints.Checkpoint, "save", saving)

    return stop_after


def interrupted(fit, killed_after, stops):
    """Fit, interrupted after so many checkpoints each time, until nothing interrupts any more."""
    for n in stops:
        killed_after(n)
        with pytest.raises(Killed):
            fit()
    killed_after(-1)
    return fit()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "stops"), [(NETWORK, [1, 3, 2]), (SWEEPS, [1, 2, 3])], ids=["network", "sweeps"]
)
def test_a_fit_that_was_interrupted_has_the_bits_of_one_that_was_not(
    model, stops, tmp_path, killed_after
):
    model = clone(model).set_params(random_state=0)
    whole = model.fit(KEYS, VALUES).predict(KEYS, return_std=True)

    def fit():
        return clone(model).fit(KEYS, VALUES, checkpoint=tmp_path / "kept")

    found = interrupted(fit, killed_after, stops)
    np.testing.assert_array_equal(found.predict(KEYS, return_std=True), whole)
    for term, values in model.diagnostics_.history.items():
        np.testing.assert_array_equal(found.diagnostics_.history[term], values)


@pytest.mark.slow
def test_fits_that_choose_the_kind_of_values_do_not_take_each_others_steps(tmp_path):
    counts = np.random.default_rng(0).poisson(np.exp(1 + 0.1 * KEYS[:, 0]))
    model = VAECP(1, recipe=Recipe(network=False), random_state=0)
    whole = clone(model).fit(KEYS, counts)
    kept = [clone(model).fit(KEYS, counts, checkpoint=tmp_path / "kept") for _ in range(2)]
    for found in kept:
        assert found.diagnostics_.found == whole.diagnostics_.found
        np.testing.assert_array_equal(found.predict(KEYS), whole.predict(KEYS))


@pytest.mark.slow
def test_a_stream_that_was_interrupted_has_the_bits_of_one_that_was_not(
    tmp_path, killed_after, monkeypatch
):
    monkeypatch.setattr("vaecp.models.vaecp.gradients.streamed.PIECE", 60)
    frame = pd.DataFrame(KEYS, columns=["a", "b"]).assign(v=VALUES)
    frame.to_parquet(tmp_path / "data.parquet", index=False)
    entries = scan(tmp_path / "data.parquet")
    model = clone(NETWORK).set_params(random_state=0, recipe=None, max_epochs=4)
    whole = clone(model).fit_tensor(entries).predict(frame[["a", "b"]])

    def fit():
        return clone(model).fit_tensor(entries, checkpoint=tmp_path / "kept")

    found = interrupted(fit, killed_after, [2, 3])
    np.testing.assert_array_equal(found.predict(frame[["a", "b"]]), whole)


@pytest.mark.slow
def test_no_more_than_an_interval_is_computed_again(tmp_path, monkeypatch):
    clock, computed = [0.0], []
    run = Groups.run

    def ticking(self, *arguments):
        clock[0] += 1
        computed.append(clock[0])
        if clock[0] == 18:
            raise Killed
        return run(self, *arguments)

    monkeypatch.setattr(Groups, "run", ticking)
    monkeypatch.setattr(schedule, "choose_epochs_per_chunk", lambda n_entries, batch_size: 1)
    monkeypatch.setattr(checkpoints, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(checkpoints, "INTERVAL", 5.0)
    model = clone(NETWORK).set_params(random_state=0, recipe=clone(NETWORK.recipe))
    model.recipe.held_out, model.recipe.calibrate = False, False
    with pytest.raises(Killed):
        clone(model).fit(KEYS, VALUES, checkpoint=tmp_path)
    computed.clear()
    clone(model).fit(KEYS, VALUES, checkpoint=tmp_path)
    assert len(computed) == NETWORK.max_epochs - 15, "of 17 epochs, the first 15 were kept"


def test_a_fit_without_a_seed_goes_on_with_the_one_that_it_drew(tmp_path, killed_after):
    model = clone(SWEEPS).set_params(random_state=None)
    killed_after(3)
    with pytest.raises(Killed):
        model.fit(KEYS, VALUES, checkpoint=tmp_path)
    killed_after(-1)
    first, second = (
        clone(model).fit(KEYS, VALUES, checkpoint=tmp_path).predict(KEYS) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_other_data_and_other_settings_are_refused(tmp_path):
    model = clone(SWEEPS).set_params(rank=1, random_state=0)
    model.fit(KEYS, VALUES, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match=r"of another fit, whose data is"):
        model.fit(KEYS, VALUES + 1, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match=r"of another fit, whose settings is"):
        clone(model).set_params(rank=2).fit(KEYS, VALUES, checkpoint=tmp_path)
