"""Parquet files that are encoded on disk: the entries of a table in memory, and what can go wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from vaecp.data.observations import Observations
from vaecp.errors import FormatError, ObservationError
from vaecp.formats import partitions, stored
from vaecp.formats.stored import scan


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    n = 5_000
    return pd.DataFrame(
        {
            "user": random.choice(["ann", "bob", "cid", "dee"], n),
            "day": random.choice(pd.date_range("2020-01-01", periods=9), n),
            "item": random.integers(100, 140, n),
            "stars": random.normal(size=n),
        }
    )


@pytest.fixture
def small(monkeypatch):
    """Several units."""
    monkeypatch.setattr(partitions, "ROWS_OF_UNIT", 1_500)


@pytest.fixture
def folder(frame, tmp_path, small):
    home = tmp_path / "data"
    home.mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[part].to_parquet(home / f"{number}.parquet", row_group_size=400, index=False)
    return home


def in_memory(frame):
    return Observations.from_table(frame, list(frame.columns[:-1]), "stars", duplicates="keep")


def everything(found):
    return found.read(np.arange(len(found.blocks)))


def test_a_folder_holds_what_the_same_table_in_memory_holds(frame, folder):
    found, known = scan(folder), in_memory(frame)
    assert len(found.parts) == 4
    assert (len(found), found.shape, found.mode_names) == (5_000, known.shape, known.mode_names)
    for own, other in zip(found.labels, known.labels, strict=True):
        np.testing.assert_array_equal(own, other)
    positions, indices, values = everything(found)
    np.testing.assert_array_equal(positions, np.arange(5_000))
    np.testing.assert_array_equal(indices, known.indices)
    np.testing.assert_array_equal(values, known.values)
    for mode, counts in enumerate(found.counts):
        np.testing.assert_array_equal(counts, np.bincount(known.indices[:, mode]))


def test_blocks_are_read_in_the_order_that_is_asked_for(frame, folder):
    found = scan(folder)
    positions, indices, values = found.read([9, 0, 4])
    assert positions[0] == found.blocks[9, 0]
    np.testing.assert_array_equal(values, frame["stars"].to_numpy()[positions])
    np.testing.assert_array_equal(indices, in_memory(frame).indices[positions])


def test_one_file_and_a_folder_hold_the_same(frame, folder, tmp_path):
    frame.to_parquet(tmp_path / "one.parquet", index=False)
    one, several = scan(tmp_path / "one.parquet"), scan(folder)
    for own, other in zip(everything(one), everything(several), strict=True):
        np.testing.assert_array_equal(own, other)
    assert (tmp_path / ".one.parquet.vaecp-cache" / "entries.json").exists()


def test_names_of_folders_are_a_column(frame, tmp_path, small):
    frame.to_parquet(tmp_path / "data", partition_cols=["user"], index=False)
    found = scan(tmp_path / "data")
    assert found.mode_names == ("user", "day", "item")
    assert found.value_name == "stars"
    known = in_memory(frame)
    _, indices, values = everything(found)
    assert set(zip(*indices.T, values, strict=True)) == set(
        zip(*known.indices.T, known.values, strict=True)
    )


def test_rows_without_a_value_are_gaps_whose_labels_are_kept(frame, folder):
    last = pd.DataFrame(
        {"user": "zoe", "day": frame["day"][0], "item": [100, 101], "stars": [np.nan, -999.0]}
    )
    last.to_parquet(folder / "9.parquet", index=False)
    found = scan(folder, missing=[-999])
    assert len(found) == 5_000
    assert found.labels[0][-1] == "zoe"
    assert found.counts[0][-1] == 0
    assert found.notes[0] == "2 rows without a value are gaps."


def test_a_sample_holds_the_extremes(frame, folder):
    positions, sample = scan(folder).sample(50, np.random.default_rng(0))
    assert 50 <= len(sample) <= 52
    assert (sample.values.min(), sample.values.max()) == (frame.stars.min(), frame.stars.max())
    np.testing.assert_array_equal(sample.values, frame["stars"].to_numpy()[positions])


def test_what_is_encoded_is_not_encoded_again(folder, monkeypatch):
    first = scan(folder)
    monkeypatch.setattr(stored._Encoder, "_encoded", None)
    monkeypatch.setattr(stored._Encoder, "_found_labels", None)
    assert scan(folder).fingerprint == first.fingerprint


def test_encoding_goes_on_where_it_was_interrupted(folder, monkeypatch):
    whole = scan(folder, cache=folder.parent / "whole").fingerprint
    part, asked = stored._Encoder._part, []

    def until_the_last(self, name, unit, find):
        if name == "000003":
            raise KeyboardInterrupt
        return part(self, name, unit, find)

    monkeypatch.setattr(stored._Encoder, "_part", until_the_last)
    with pytest.raises(KeyboardInterrupt):
        scan(folder)
    batches = partitions.Partitions.batches

    def watched(self, unit=None, columns=None):
        asked.append(unit)
        return batches(self, unit, columns)

    monkeypatch.setattr(stored._Encoder, "_part", part)
    monkeypatch.setattr(partitions.Partitions, "batches", watched)
    assert scan(folder).fingerprint == whole
    assert len(asked) == 2, "the columns, and the one unit that was left"


@pytest.mark.parametrize("change", ["values", "time", "type", "another file"])
def test_data_that_changed_are_encoded_anew(frame, folder, change):
    before = scan(folder)
    path = folder / "1.parquet"
    if change == "values":
        pd.read_parquet(path).assign(stars=7.5).to_parquet(path, index=False)
    elif change == "time":
        os.utime(path, ns=(0, 0))
    elif change == "type":
        for each in folder.glob("*.parquet"):
            pd.read_parquet(each).astype({"stars": "float32"}).to_parquet(each, index=False)
    else:
        frame.head(100).to_parquet(folder / "2b.parquet", index=False)
    after = scan(folder)
    assert (after.fingerprint == before.fingerprint) == (change == "time")


@pytest.mark.parametrize("damage", ["cut", "longer", "emptied", "other numbers", "removed"])
def test_a_damaged_cache_is_named(folder, damage):
    found = scan(folder)
    path = found.parts[1].paths(found.folder)[1]
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[:-100])
    elif damage == "longer":
        path.write_bytes(whole + bytes(8))
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "other numbers":
        np.save(path, np.load(path).astype(np.float32))
    else:
        path.unlink()
    with pytest.raises(FormatError, match=r"000001-values.npy: is damaged .*remove the folder"):
        everything(found)


def test_files_that_cannot_be_are_refused_by_name(frame, folder, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="empty: has no Parquet file"):
        scan(tmp_path / "empty")
    with pytest.raises(FormatError, match="has no column 'mood'"):
        scan(folder, modes=["user", "mood"])
    frame.assign(user=None).to_parquet(folder / "3.parquet", index=False)
    with pytest.raises(ObservationError, match=r"mode 'user' in row 0 of 3.parquet is missing"):
        scan(folder)
    (folder / "3.parquet").write_bytes(b"no such thing")
    with pytest.raises(FormatError, match="Parquet"):
        scan(folder)


def test_a_folder_that_holds_other_files_is_no_cache_and_stays_as_it_is(folder, tmp_path):
    home = tmp_path / "thesis"
    (home / "figures").mkdir(parents=True)
    (home / "figures" / "one.png").write_bytes(b"x")
    (home / "plan.json").write_text("{}")
    with pytest.raises(FormatError, match="thesis: holds 'figures', which is no file of encoded"):
        scan(folder, cache=home)
    assert sorted(path.name for path in home.rglob("*")) == ["figures", "one.png", "plan.json"]


def test_a_place_that_cannot_be_written_is_no_cache(folder, tmp_path):
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", tmp_path / "file" / "within", tmp_path / "none" / "within"):
        with pytest.raises(FormatError, match=r"cannot be written .*name another folder"):
            scan(folder, cache=place)


def test_two_processes_encode_the_same_files_once(folder):
    code = "import sys, vaecp; print(vaecp.scan(sys.argv[1]).fingerprint)"
    both = [
        subprocess.Popen([sys.executable, "-c", code, folder], stdout=subprocess.PIPE, text=True)
        for _ in "12"
    ]
    said = [process.communicate(timeout=120)[0].strip() for process in both]
    assert said == [scan(folder).fingerprint] * 2


FORGED = {
    "fields": ("entries.json", lambda path: path.write_text("{}"), r"damaged \('gaps'\)"),
    "nesting": ("entries.json", lambda path: path.write_text("[" * 100_000), None),
    "a way out": (
        "entries.json",
        lambda path: path.write_text(
            path.read_text().replace('"000000"', '"../../1"')  # where another array may lie
        ),
        "is no part",
    ),
    "extremes": (
        "entries.json",
        lambda path: path.write_text(
            path.read_text().replace('"gaps"', '"extremes": [0, 1e9], "gaps"')
        ),
        "positions of extremes",
    ),
    "labels": (
        "labels-0.parquet",
        lambda path: pd.DataFrame({"label": ["b", "a"]}).to_parquet(path),
        "does not list distinct labels in order",
    ),
    "counts": ("counts-1.npy", lambda path: np.save(path, np.arange(9.0)), "counts of rows"),
    "no counts": ("counts-1.npy", lambda path: path.unlink(), "counts-1.npy cannot be read"),
}


@pytest.mark.parametrize(("name", "forge", "match"), FORGED.values(), ids=FORGED)
def test_encoded_entries_that_contradict_each_other_are_refused(folder, name, forge, match):
    found = scan(folder)
    forge(found.folder / name)
    if match is None:  # what is no JSON at all is written anew
        assert scan(folder).fingerprint == found.fingerprint
        return
    with pytest.raises(FormatError, match=match) as caught:
        scan(folder)
    assert "remove this folder" in str(caught.value)


@pytest.mark.parametrize("code", [-1, 4, 2**31 - 1])
def test_encoded_entries_outside_of_the_tensor_are_refused(folder, code):
    found = scan(folder)
    path = found.parts[2].paths(found.folder)[0]
    indices = np.load(path)
    indices[7, 0] = code
    np.save(path, indices)
    with pytest.raises(FormatError, match="an entry lies outside of the tensor"):
        everything(found)


def test_an_encoded_value_that_is_not_finite_is_refused(folder):
    found = scan(folder)
    path = found.parts[0].paths(found.folder)[1]
    np.save(path, np.full(found.parts[0].n_entries, np.nan))
    with pytest.raises(FormatError, match="a value is not finite"):
        found.sample(50, np.random.default_rng(0))


def test_a_part_that_was_changed_before_the_end_is_encoded_again(folder):
    found = scan(folder)
    (found.folder / "entries.json").unlink()
    path = found.parts[1].paths(found.folder)[1]
    np.save(path, np.zeros(found.parts[1].n_entries))
    again = scan(folder)
    assert again.fingerprint == found.fingerprint
    assert everything(again)[2].any()
