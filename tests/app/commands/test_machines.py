"""`--devices`: where a fit runs, on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from command_line import run

TWO = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    random = np.random.default_rng(0)
    cells = np.argwhere(random.random((20, 15)) < 0.8)
    values = np.round(random.normal(size=len(cells)) + cells[:, 0], 3)
    pd.DataFrame(cells, columns=["row", "column"]).assign(value=values).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--devices", "abacus"], "--devices is 'abacus', but JAX sees only"),
        (["--devices", "0,99"], "--devices is 99, but JAX sees"),
        (
            ["--devices", "\N{SUPERSCRIPT TWO}"],
            "--devices is '\N{SUPERSCRIPT TWO}', but JAX sees only",
        ),
        (["--devices", "0 1"], "--devices is '0 1', but JAX sees only"),
        (["--devices", "9" * 5_000], "but JAX sees only"),
        (["--seed", str(2**32)], "Invalid value for '--seed'"),
        (["--devices", "cpu", "--method", "HOSVD"], "HOSVD does not choose: leave it out"),
        (
            ["--effort", "huge"],
            "--effort is 'huge': use 'quick', 'normal', 'thorough', or a number",
        ),
        (["--effort", "0"], "--effort is 0.0: use"),
        (["--effort", "5", "--method", "HOSVD"], "HOSVD does not choose: leave it out"),
    ],
)
def test_devices_that_cannot_be_are_refused_before_the_fit(table, tmp_path, options, said):
    outcome = run("fit", table, "-o", tmp_path / "m.vaecp", *options)
    assert outcome.exit_code == 2
    assert said in outcome.stderr
    assert not (tmp_path / "m.vaecp").exists()


NAMED = ("--processes", "2", "--process-id")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--coordinator", "node1", *NAMED, "0"], "--coordinator is 'node1': give HOST:PORT"),
        (["--coordinator", ":9876", *NAMED, "0"], "--coordinator is ':9876': give HOST:PORT"),
        (["--coordinator", "node1:x", *NAMED, "0"], "--coordinator is 'node1:x': give HOST:PORT"),
        (["--coordinator", "node1:70000", *NAMED, "0"], "give HOST:PORT of the first process"),
        (["--coordinator", "node1:9876", *NAMED, "2"], "--process-id is 2, but there are 2"),
        (["--coordinator", "node1:9876"], "go together: give all three"),
    ],
)
def test_processes_that_cannot_be_are_refused_before_they_are_waited_for(tmp_path, options, said):
    outcome = run("fit", tmp_path, "-o", tmp_path / "m.vaecp", *options)
    assert outcome.exit_code == 2
    assert said in outcome.stderr
    assert outcome.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_command_takes_all_devices(table, tmp_path):
    command = [sys.executable, "-m", "vaecp", "complete", str(table), "--rank", "1", "--seed", "1"]
    found = []
    for number, devices in enumerate(["all", "0,1", "0"]):
        output = tmp_path / f"{number}.csv"
        made = subprocess.run(
            [*command, "-o", output, "--devices", devices],
            env=os.environ | TWO,
            capture_output=True,
            text=True,
        )
        assert made.returncode == 0, made.stderr
        found.append(pd.read_csv(output))
    pd.testing.assert_frame_equal(found[0], found[1])
    pd.testing.assert_frame_equal(found[0], found[2], atol=1e-3)


@pytest.mark.slow
def test_a_folder_of_parquet_files_is_fitted_and_asked(table, tmp_path):
    (tmp_path / "data").mkdir()
    pd.read_csv(table).to_parquet(tmp_path / "data" / "0.parquet", index=False)
    model, kept = tmp_path / "m.vaecp", tmp_path / "kept"
    words = ["fit", tmp_path / "data", "-o", model, "--rank", "1", "--checkpoint", kept, "--json"]
    made = run(*words)
    assert made.exit_code == 0, made.stderr
    assert json.loads(made.stdout)["observed"] == len(pd.read_csv(table))
    assert (kept / "checkpoint.json").exists()
    asked = run("predict", model, table, "-o", tmp_path / "a.csv")
    assert asked.exit_code == 0, asked.stderr
    found = pd.read_csv(tmp_path / "a.csv")
    assert np.corrcoef(found["mean"], found["row"])[0, 1] > 0.9
