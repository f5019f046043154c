"""Fits to entries on disk: what is read, and that they find what fits in memory find."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from vaecp import CPALS, VAECP, Recipe, load, save, scan
from vaecp.data.standardising import Standardiser
from vaecp.errors import ObservationError, UnsupportedError
from vaecp.models.vaecp.gradients import streamed
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.loop import Loop
from vaecp.models.vaecp.gradients.streamed import FromDisk, Stored
from vaecp.runtime.placement import Placement

SHAPE, NOISE = (30, 25), 0.1
MODEL = VAECP(2, hidden=4, n_members=1, max_epochs=60, likelihood="gaussian", random_state=0)


def table(n: int = 4_000) -> pd.DataFrame:
    random = np.random.default_rng(0)
    rows, columns = (random.normal(size=(size, 2)) for size in SHAPE)
    frame = pd.DataFrame(
        {"row": random.integers(30, size=n), "column": random.integers(25, size=n)}
    )
    clean = np.sum(rows[frame["row"]] * columns[frame["column"]], axis=1)
    # Sorted, as files often are: entries that are read together must not be learned from together.
    frame = frame.assign(truth=clean, value=5 + clean + NOISE * random.normal(size=n))
    return frame.sort_values("row")


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for number, part in enumerate(np.array_split(np.arange(4_000), 3)):
        table().drop(columns="truth").iloc[part].to_parquet(folder / f"{number}.parquet")
    return scan(folder)


def source(entries, n_pieces: int, n_held_out: int = 30, batch_size: int = 256):
    random = np.random.default_rng(0)
    chosen, sample = entries.sample(200, random)
    held_out = sample.take(slice(n_held_out))
    stored = Stored(
        entries, Standardiser(0.0, 1.0), chosen[:n_held_out], -(-len(entries) // n_pieces)
    )
    assert stored.n_pieces == n_pieces
    loop = Loop(RowLayout.of(SHAPE), batch_size, block_size=8, epochs_per_chunk=1)
    return FromDisk.of(stored, held_out, np.ones((64, 2)), loop, random, Placement.on("cpu"))


@pytest.mark.parametrize("n_pieces", [1, 3])
def test_a_pass_takes_every_entry_once(entries, n_pieces):
    found = source(entries, n_pieces)
    _, indices, values = entries.read(np.arange(len(entries.blocks)))
    known = sorted(zip(*indices.T, values.astype(np.float32), strict=True))
    for n_pass in range(2):
        pieces = [found.read(n_pass * n_pieces + number) for number in range(n_pieces)]
        taken = []
        for cells, numbers, weights, held_out in pieces:
            there = (weights + held_out) > 0
            taken += zip(*cells[there].T, numbers[there], strict=True)
        assert sorted(taken) == known
        assert sum(int(piece[3].sum()) for piece in pieces) == 30


def test_pieces_are_others_in_every_pass_and_the_same_again(entries):
    found = source(entries, 2)
    first, again, later = found.read(0), source(entries, 2).read(0), found.read(2)
    for own, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(own, other)
    assert not np.array_equal(first[1], later[1])
    assert first[1].shape == later[1].shape == found.read(1)[1].shape


def test_entries_that_lie_together_are_not_learned_from_together(entries):
    indices, _, weights, _ = source(entries, 1).read(0)
    batch = np.concatenate(
        [part[known][:32] for part, known in zip(indices[..., 0], weights > 0, strict=True)]
    )
    assert len(np.unique(batch)) > 25, "of 30 rows, by which the files are sorted"


def test_all_pieces_stand_for_all_entries(entries):
    for n_pieces in (1, 3):
        found = source(entries, n_pieces)
        piece = next(found.pieces(0))
        assert float(piece.n_entries) == n_pieces * piece.training.values.size >= len(entries)


@pytest.mark.slow
def test_a_stream_finds_what_a_fit_in_memory_finds(entries, monkeypatch, tmp_path):
    monkeypatch.setattr(streamed, "PIECE", 1_500)
    known = table()
    keys = known[["row", "column"]].drop_duplicates()
    truth = 5 + known.loc[keys.index, "truth"]
    model = clone(MODEL).fit_tensor(entries)
    mean, std = model.predict(keys, return_std=True)
    in_memory = clone(MODEL).set_params(recipe=Recipe(sweeps=False, network=True))
    other = in_memory.fit(known[["row", "column"]], known["value"]).predict(keys)
    errors, others = (np.sqrt(np.mean((found - truth) ** 2)) for found in (mean, other))
    assert errors < 1.3 * others
    assert errors < NOISE
    assert 0.5 * NOISE < np.median(std) < 2 * NOISE
    save(model, tmp_path / "m.vaecp")
    np.testing.assert_array_equal(load(tmp_path / "m.vaecp").predict(keys), model.predict(keys))
    again = clone(MODEL).fit_tensor(entries)
    np.testing.assert_array_equal(again.predict(keys), mean)


def test_a_value_of_another_kind_is_refused(entries):
    found = source(entries, 1)
    counts = Stored(entries, _Counts(0.0, 1.0), found.stored.held_out)
    other = FromDisk(counts, found.held_out, found.problem, found.loop, 0, found.placement)
    with pytest.raises(ObservationError, match=r"the value .* is unlike those"):
        other.read(0)


class _Counts(Standardiser):
    def apply(self, values, indices=None):
        return np.where(values > 9, np.nan, values)


def test_methods_that_need_all_entries_in_memory_say_so(entries):
    with pytest.raises(UnsupportedError, match="CPALS needs all entries in memory"):
        CPALS(rank=1).fit_tensor(entries)
    with pytest.raises(ValueError, match=r"recipe.network is False, but entries on disk"):
        clone(MODEL).set_params(recipe=Recipe(network=False)).fit_tensor(entries)
