"""The arithmetic of the speed benchmarks; timings themselves never belong in a test."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in ("epochs", "reporting", "run_all", "throughput", "children"):
        sys.modules.pop(name, None)


def test_each_side_is_compared_at_its_own_best_batch():
    import throughput

    found = throughput.ratios({30: 100.0, 4096: 10.0}, {30: 900.0, 1024: 70.0})
    assert found == {"best_batch": 7.0, "batch_30": 9.0}


def test_a_small_tensor_is_filled_with_distinct_entries():
    import epochs

    observations = epochs.random_entries((3, 4, 5), 50)
    assert len({tuple(entry) for entry in observations.indices.tolist()}) == 50


def test_figures_are_set_beside_their_targets_and_gaps_are_named():
    import run_all

    prediction = {"models": {"published": {"entries_per_second": {"means": 4e6}}}}
    ratios = {"ratios": {"best_batch": 6.5}, "ratios_shared_draws": {}}
    figures = run_all.figures({"throughput": ratios, "fits": None, "prediction": prediction})
    assert figures == {"epoch": 6.5, "prediction": 4.0}
    verdicts = [line.split(" | ")[-1] for line in run_all.summary(figures).splitlines()[2:]]
    assert verdicts == ["yes |", *3 * ["not measured |"], "no |"]


@pytest.mark.slow
def test_streams_are_measured_within_their_limit_of_memory(tmp_path):
    words = ["--entries", "40000", "--in-memory", "20000", "--passes", "3", "--limit", "4"]
    command = [sys.executable, BENCHMARKS / "streaming.py", *words, "--folder", tmp_path]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    *told, last = made.stdout.splitlines()
    steps = {step.pop("step"): step for step in map(json.loads, told)}
    assert list(steps) == ["write", "encode", "stream", "memory"]
    assert steps["stream"]["entries"] == 40_000
    assert steps["stream"]["pieces"] == 3
    assert 0 < steps["stream"]["peak_gb"] < 4
    assert last.startswith("from disk / in memory: ")
    too_little = [*command[:-4], "--limit", "0.05", "--folder", tmp_path, "--measure", "stream"]
    refused = subprocess.run(too_little, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "memory" in refused.stderr.lower()


@pytest.mark.slow
def test_what_is_written_piece_by_piece_is_measured(tmp_path):
    words = ["--rows", "2000", "--complete", "30,20,10", "--folder", tmp_path]
    command = [sys.executable, BENCHMARKS / "serving.py", *words]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in made.stdout.splitlines()]
    assert [(each["what"], each["rows"]) for each in found] == [
        ("predict --batch", 2_000),
        ("complete", 6_000),
    ]


@pytest.mark.slow
def test_weak_scaling_is_measured_relative_to_one_device():
    command = [sys.executable, BENCHMARKS / "weak_scaling.py", "--up-to", "2", "--steps", "4"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    _, _, *rows = made.stdout.splitlines()
    devices, entries, seconds, relative = zip(
        *(row.strip("| ").split(" | ") for row in rows), strict=True
    )
    assert (devices, entries) == (("1", "2"), ("1,024", "2,048"))
    assert min(map(float, seconds)) > 0
    assert float(relative[0]) == 1
