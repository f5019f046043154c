"""Tables that are read and written batch by batch: what they hold is what whole ones hold."""

from __future__ import annotations

import tracemalloc

import command_line
import numpy as np
import pandas as pd
import pytest

from vaecp import VAECP, Recipe, save
from vaecp.data import observations as home
from vaecp.formats import partitions
from vaecp.outcomes import cells_in_turn


def table() -> pd.DataFrame:
    cells = np.argwhere(np.random.default_rng(0).random((12, 10)) < 0.7)
    return pd.DataFrame(cells, columns=["row", "column"]).assign(value=cells.prod(axis=1) + 0.5)


def run(*words):
    outcome = command_line.run(*words, "--quiet")
    assert outcome.exit_code == 0, outcome.stderr


@pytest.fixture
def model(tmp_path):
    known = table()
    fitted = VAECP(1, recipe=Recipe(network=False), random_state=0)
    save(fitted.fit(known[["row", "column"]], known["value"]), tmp_path / "m.vaecp")
    return tmp_path / "m.vaecp"


def test_a_folder_is_answered_by_a_folder(model, tmp_path, monkeypatch):
    monkeypatch.setattr(partitions, "ROWS_OF_BATCH", 30)
    asked = pd.DataFrame(np.argwhere(np.ones((13, 10))), columns=["row", "column"])
    asked["day"] = asked["row"] % 2
    asked.to_parquet(tmp_path / "asked", partition_cols=["day"], index=False)
    run("predict", model, tmp_path / "asked", "--batch", "-o", tmp_path / "answers")
    asked.to_csv(tmp_path / "asked.csv", index=False)
    run("predict", model, tmp_path / "asked.csv", "-o", tmp_path / "answers.parquet")
    found, known = (pd.read_parquet(tmp_path / name) for name in ("answers", "answers.parquet"))
    names = ["row", "column", "mean", "std", "low", "high"]
    found, known = (
        each[names].sort_values(["row", "column"], ignore_index=True) for each in (found, known)
    )
    pd.testing.assert_frame_equal(found, known, check_dtype=False, rtol=1e-5)
    assert sorted(path.name for path in (tmp_path / "answers").iterdir()) == ["day=0", "day=1"]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows_that_are_asked_for(model, tmp_path, monkeypatch):
    monkeypatch.setattr(partitions, "ROWS_OF_BATCH", 2_000)
    peaks = []
    for n in (10_000, 10_000, 80_000):  # the first loads and compiles
        asked = pd.DataFrame(np.random.default_rng(0).integers(10, size=(n, 2)))
        path = tmp_path / f"asked-{len(peaks)}.parquet"
        asked.set_axis(["row", "column"], axis=1).to_parquet(path, index=False)
        tracemalloc.start()
        run("predict", model, path, "--batch", "-o", tmp_path / f"answers-{len(peaks)}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert pd.read_parquet(tmp_path / "answers-2").shape[0] == 80_000
    assert peaks[2] < 1.3 * peaks[1]


def test_what_cannot_be_is_refused_in_one_line(model, tmp_path):
    table()[["row", "column"]].to_parquet(tmp_path / "asked.parquet", index=False)
    for target, said in ((tmp_path / "out.csv", "is no folder"), (tmp_path, "is the input")):
        words = ["predict", model, tmp_path / "asked.parquet", "--batch", "-o", target]
        outcome = command_line.run(*words)
        assert outcome.exit_code == 2
        assert said in outcome.stderr


def test_a_tensor_too_large_to_hold_is_completed_piece_by_piece(tmp_path, monkeypatch):
    table().to_csv(tmp_path / "in.csv", index=False)
    words = ("complete", tmp_path / "in.csv", "--method", "CPALS", "--rank", 1, "--cells", "all")
    run(*words, "--layout", "long", "-o", tmp_path / "whole.parquet")
    monkeypatch.setattr(home, "MAX_DENSE_ENTRIES", 50)
    monkeypatch.setattr(cells_in_turn, "CHUNK", 32)
    run(*words, "-o", tmp_path / "in-turn.parquet")
    whole, in_turn = (
        pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("whole", "in-turn")
    )
    pd.testing.assert_frame_equal(in_turn, whole)
    outcome = command_line.run(*words, "-o", tmp_path / "out.csv")
    assert outcome.exit_code == 2
