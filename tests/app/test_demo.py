"""`vaecp demo`: real gaps filled, and checked on hidden entries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from command_line import assert_refused, run


@pytest.mark.slow
def test_demo_writes_a_table_and_a_picture_of_real_gaps(asked, tmp_path):
    pytest.importorskip("matplotlib")
    outcome = run("demo", "--output", tmp_path / "demo")
    assert outcome.exit_code == 0, outcome.output
    table = pd.read_csv(tmp_path / "demo" / "interleukin.csv")
    assert len(table) == 13 * 4 * 12 * 8
    gaps = table[~table["observed"]]
    assert len(gaps) == 192
    assert set(gaps["times"]) == {0.5}
    hidden = table[table["hidden"]]
    assert len(hidden) == 480
    assert hidden["observed"].all()
    errors = hidden["response"] - hidden["mean"]
    assert f"{np.sqrt(np.mean(errors**2)):.4f}" in outcome.stdout
    assert (tmp_path / "demo" / "interleukin.png").read_bytes().startswith(b"\x89PNG")
    assert "RMSE there: the mean" in outcome.stdout


def test_demo_refuses_a_file_as_folder_before_fitting(asked, tmp_path):
    (tmp_path / "demo").touch()
    assert_refused(run("demo", "--output", tmp_path / "demo"), "is a file")
    assert asked == []
