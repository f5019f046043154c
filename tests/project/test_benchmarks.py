"""The arithmetic of the speed benchmarks; timings themselves never belong in a test."""

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
