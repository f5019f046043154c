"""Experiments: what is run, what is not run again, what is chosen, and what is concluded."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from vaecp import experiments
from vaecp.errors import FormatError, ObservationError
from vaecp.experiments import (
    BEST,
    CHOICE,
    PAPER,
    Case,
    Protocol,
    Results,
    candidates,
    carry_out,
    choose,
    compare,
    fold_runs,
    rank_finder,
    repeat_runs,
    runner,
    runs,
)
from vaecp.experiments.methods import METHODS, Method, MethodError
from vaecp.models.base import Fitted, TensorEstimator
from vaecp.observations import Observations
from vaecp.prediction import Prediction


@dataclass(frozen=True, eq=False)
class Level(Fitted):
    level: float

    @property
    def factors(self):
        return ()

    def predict(self, indices):
        n = len(indices)
        return Prediction(np.full(n, self.level), np.ones(n), np.zeros(n))


class Shifted(TensorEstimator):
    """Predicts the training mean plus (rank - 2) standard deviations: rank 2 is the best."""

    fitted_type = Level
    fits: list[int] = []  # noqa: RUF012
    interrupt_at: int | None = None

    def __init__(self, rank=1, random_state=None):
        self.rank = rank
        self.random_state = random_state

    def _fit_standardised(self, observations, random):
        if len(Shifted.fits) == Shifted.interrupt_at:
            raise KeyboardInterrupt
        if self.rank == 13:
            raise ValueError("rank 13\nbrings bad luck")
        Shifted.fits.append(self.random_state)
        self.rank_ = 2
        return Level(float(self.rank - 2))


@pytest.fixture
def fits(monkeypatch):
    monkeypatch.setitem(METHODS, "Shifted", Method(Shifted))
    monkeypatch.setitem(METHODS, "FBCP", Method(Shifted))
    monkeypatch.setattr(Shifted, "fits", [])
    monkeypatch.setattr(Shifted, "interrupt_at", None)
    return Shifted.fits


@pytest.fixture
def tensor(random):
    return Observations.from_array(5 + 3 * random.normal(size=(6, 5, 4)))


PROTOCOL = Protocol(repeats=3, folds=2)


def case_of(tensor, ranks=(1, 2, 3), methods=("Shifted",)):
    return Case("toy", tensor, candidates(methods, ranks))


# ---- going on --------------------------------------------------------------------------


def test_a_finished_run_is_not_run_again(fits, tensor, tmp_path):
    compare([case_of(tensor)], PROTOCOL, Results(tmp_path))
    assert len(fits) == 3 * 2 + 3
    compare([case_of(tensor)], PROTOCOL, Results(tmp_path))
    assert len(fits) == 3 * 2 + 3


def test_an_interrupted_comparison_goes_on_where_it_stopped(fits, tensor, tmp_path, monkeypatch):
    monkeypatch.setattr(Shifted, "interrupt_at", 4)
    with pytest.raises(KeyboardInterrupt):
        compare([case_of(tensor)], PROTOCOL, Results(tmp_path))
    kept = Results(tmp_path)
    assert len(kept) == 4
    monkeypatch.setattr(Shifted, "interrupt_at", None)
    compare([case_of(tensor)], PROTOCOL, kept)
    assert len(fits) == 3 * 2 + 3
    assert len(kept) == 3 * 2 + 3


def test_changed_data_are_other_runs(fits, tensor, tmp_path):
    compare([case_of(tensor, ranks=[2])], PROTOCOL, Results(tmp_path))
    changed = tensor.with_values(tensor.values + 1)
    compare([case_of(changed, ranks=[2])], PROTOCOL, Results(tmp_path))
    assert len(fits) == 6


def test_what_two_comparisons_share_is_computed_once_and_has_a_row_in_both(fits, tensor):
    results = Results()
    case = case_of(tensor, [2], ["Shifted", "FBCP"])
    made = compare([case], PROTOCOL, results, comparisons=(PAPER, BEST))
    assert len(fits) == 2 * 3
    counts = results.frame(made.runs)["comparison"].value_counts()
    assert counts.to_dict() == {PAPER: 6, BEST: 6}


def test_a_comparison_alone_has_no_rows_of_the_other(fits, tensor):
    results = Results()
    made = compare([case_of(tensor, [1, 9], ["Shifted", "FBCP"])], PROTOCOL, results)
    frame = results.frame(made.runs)
    assert set(frame["comparison"]) == {CHOICE, BEST}
    assert (experiments.summarise(frame)["repeats"] == PROTOCOL.repeats).all()


def test_runs_over_processes_measure_what_runs_in_one_do(random):
    tensor = Observations.from_array(random.normal(size=(5, 4, 3)))
    case = Case("toy", tensor, candidates(["HOSVD"], [1, 2]))
    one, two = Results(), Results()
    listed = fold_runs(case, PROTOCOL)
    for results, jobs in ((one, 1), (two, 2)):
        carry_out(listed, {case.data: tensor}, results, jobs=jobs)
    np.testing.assert_array_equal(
        [record["rmse"] for record in one.of(listed)],
        [record["rmse"] for record in two.of(listed)],
    )


def test_a_folder_that_another_process_writes_to_is_refused(fits, tensor, tmp_path):
    with (
        Results(tmp_path).locked(),
        pytest.raises(FormatError, match="another process is adding results"),
    ):
        compare([case_of(tensor)], PROTOCOL, Results(tmp_path))


# ---- choosing --------------------------------------------------------------------------


def test_the_rank_with_the_lowest_error_over_the_folds_is_chosen(fits, tensor):
    made = compare([case_of(tensor)], PROTOCOL, Results())
    assert made.choices["toy"][BEST]["Shifted"] == (("rank", 2),)


def test_the_choice_does_not_see_the_test_entries(random):
    tensor = Observations.from_array(
        np.einsum("ir,jr,kr->ijk", *(random.normal(size=(n, 2)) for n in (8, 7, 6)))
    )
    case = Case("toy", tensor, candidates(["HOSVD", "FBCP"], [1, 2, 3]))
    repeat = repeat_runs(case, PROTOCOL, {BEST: {"HOSVD": (("rank", 1),)}})[0]
    _, test = runs.parts(repeat, tensor)
    flat = [np.ravel_multi_index(part.indices.T, tensor.shape) for part in (tensor, test)]
    values = np.where(np.isin(*flat), 1e6, tensor.values)
    poisoned = replace(case, observations=tensor.with_values(values))

    def outcome(case):
        results = Results()
        listed = [*fold_runs(case, PROTOCOL), rank_finder(case, PROTOCOL)]
        carry_out(listed, {case.data: case.observations}, results)
        folds = [run for run in listed if run.comparison == CHOICE]
        errors = [record["rmse"] for record in results.of(folds)]
        return choose(case, PROTOCOL, results), errors

    clean, dirty = outcome(case), outcome(poisoned)
    assert clean[0] == dirty[0]
    np.testing.assert_array_equal(clean[1], dirty[1])


def test_baselines_share_the_rank_that_fbcp_finds_as_in_the_paper(fits, tensor):
    case = case_of(tensor, [1, 9], ["Shifted", "FBCP"])
    made = compare([case], PROTOCOL, Results(), comparisons=(PAPER, BEST))
    chosen = made.choices["toy"]
    assert dict(chosen[PAPER]["Shifted"])["rank"] == 2
    assert dict(chosen[PAPER]["FBCP"])["rank"] == 9
    assert dict(chosen[BEST]["Shifted"])["rank"] == 1


def test_a_failed_run_is_recorded_and_its_candidate_is_out(fits, tensor):
    results = Results()
    made = compare([case_of(tensor, [3, 13])], PROTOCOL, results)
    frame = results.frame(made.runs)
    failed = frame[frame["error"] != ""]
    assert set(failed["error"]) == {"ValueError: rank 13 brings bad luck"}
    assert failed["rmse"].isna().all()
    assert dict(made.choices["toy"][BEST]["Shifted"])["rank"] == 3
    assert "2 of 7 runs failed" in experiments.failures(frame)[0]


def test_failed_runs_are_made_again_only_when_asked(fits, tensor, monkeypatch):
    results = Results()
    case = case_of(tensor, [13])
    for retry, expected in ((False, 0), (False, 0), (True, 3)):
        if retry:
            monkeypatch.setitem(METHODS, "Shifted", Method(lambda **s: Shifted(rank=2)))
        compare([case], PROTOCOL, results, retry_failed=retry)
        assert len(fits) == expected


@pytest.mark.parametrize(
    ("methods", "ranks", "error", "line"),
    [
        (["Magic"], [1], MethodError, "no method 'Magic': use one of VAECP"),
        (["HOSVD"], [], ObservationError, "give integers from 1"),
        (["HOSVD"], [0, 2], ObservationError, "give integers from 1"),
    ],
)
def test_what_cannot_be_tried_is_refused(methods, ranks, error, line):
    with pytest.raises(error, match=line):
        candidates(methods, ranks)


def test_too_few_folds_are_refused():
    with pytest.raises(ObservationError, match="folds is 1: use an integer from 2"):
        Protocol(folds=1)


# ---- splits and seeds ------------------------------------------------------------------


def test_seeds_are_derived_reproducibly_and_differ_by_purpose_repeat_and_fold():
    places = [("split", 0), ("split", 1), ("folds", 0), ("model", 0), ("model", 0, 0), ("model", 1)]
    first = [runs.derived_seed(7, *place) for place in places]
    assert first == [runs.derived_seed(7, *place) for place in places]
    assert len(set(first)) == len(places)
    assert first != [runs.derived_seed(8, *place) for place in places]


def test_methods_share_splits_and_folds_partition_the_training_entries(tensor):
    case = case_of(tensor, methods=("HOSVD", "CPALS"))
    listed = fold_runs(case, PROTOCOL)
    parts = [runs.parts(run, tensor) for run in listed if run.rank == 1]
    by_method = np.split(np.array([held_out.indices for _, held_out in parts]), 2)
    np.testing.assert_array_equal(*by_method)
    repeat = replace(listed[0], fold=None, n_folds=None)
    training, test = runs.parts(repeat, tensor)
    held_out = np.concatenate(by_method[0])
    assert {tuple(i) for i in held_out} == {tuple(i) for i in training.indices}
    assert not {tuple(i) for i in held_out} & {tuple(i) for i in test.indices}


def test_a_fit_gets_the_same_seed_whichever_settings_it_has(fits, tensor):
    carry_out(fold_runs(case_of(tensor), PROTOCOL), {case_of(tensor).data: tensor}, Results())
    assert len(set(fits)) == PROTOCOL.folds


# ---- records ---------------------------------------------------------------------------


def test_scores_are_in_standard_deviations_of_the_training_entries(fits, tensor):
    run = repeat_runs(case_of(tensor), PROTOCOL, {BEST: {"Shifted": (("rank", 3),)}})[0]
    (record,) = runs.execute([run], tensor)
    training, test = runs.parts(run, tensor)
    scaled = (test.values - training.values.mean()) / training.values.std()
    np.testing.assert_allclose(record["rmse"], np.sqrt(np.mean((scaled - 1) ** 2)))
    nll = np.mean(0.5 * (scaled - 1) ** 2 + 0.5 * np.log(2 * np.pi))
    np.testing.assert_allclose(record["nll"], nll)
    np.testing.assert_allclose(record["coverage_50"], np.mean(np.abs(scaled - 1) < 0.67449))


def test_the_tidy_table_has_one_row_per_run_and_outlives_the_process(fits, tensor, tmp_path):
    pytest.importorskip("pyarrow")
    results = Results(tmp_path)
    compare([case_of(tensor)], PROTOCOL, results)
    stored = pd.read_parquet(tmp_path / "results.parquet")
    assert len(stored) == len(results) == 9
    assert stored["key"].is_unique
    assert json.loads(stored["settings"].iloc[0]) == {"rank": stored["rank"].iloc[0]}
    pd.testing.assert_frame_equal(Results(tmp_path).frame(), results.frame())
    assert {"fold", "mae", "crps", "seconds", "versions", "device"} <= set(stored)


def test_infinite_and_missing_scores_survive_strict_json(fits, tensor, tmp_path):
    results = Results(tmp_path)
    record = runs.describe(fold_runs(case_of(tensor), PROTOCOL)[0]) | {"nll": np.inf}
    results.add([record])
    json.loads(results.path.read_text(), parse_constant=pytest.fail)
    back = Results(tmp_path).records[0]
    assert back["nll"] == np.inf
    assert np.isnan(back["rmse"])


@pytest.mark.parametrize("text", ["[{", "{}", '[{"a": 1}]'])
def test_a_damaged_table_is_named_and_left_alone(tmp_path, text):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(FormatError, match="is not a table of results"):
        Results(tmp_path)
    assert (tmp_path / "results.json").read_text() == text


# ---- conclusions -----------------------------------------------------------------------


def table_of(**errors):
    rows = [
        {
            "dataset": "toy",
            "comparison": BEST,
            "method": method,
            "repeat": repeat,
            "rmse": rmse,
            "error": "",
            "rank": 2,
        }
        for method, found in errors.items()
        for repeat, rmse in enumerate(found)
    ]
    frame = pd.DataFrame(rows, columns=list(Results().frame().columns))
    return frame.astype(Results().frame().dtypes.to_dict())


def test_a_method_that_is_better_on_every_split_wins_with_the_exact_probability():
    errors = np.linspace(1, 2, 10)
    frame = table_of(B=errors, A=errors - np.linspace(0.1, 0.2, 10))
    found = experiments.winner(frame)
    assert (found.method, found.rival, found.n_lower) == ("A", "B", 10)
    np.testing.assert_allclose(found.p, 2 / 2**10)
    assert found.outcome == "wins"
    outcomes = experiments.verdicts(frame, "B")
    assert outcomes["outcome"].tolist() == ["loses"]


def test_few_repeats_or_equal_errors_decide_nothing():
    few = experiments.winner(table_of(A=[1.0, 1.1], B=[2.0, 2.1]))
    assert few.outcome == "undecided"
    assert "a test needs at least 6" in few.words
    same = experiments.winner(table_of(A=np.arange(10.0), B=np.arange(10.0)))
    assert (same.outcome, same.p) == ("undecided", 1.0)


def test_medians_and_quartiles_are_those_of_the_repeats():
    table = experiments.summarise(table_of(A=[4.0, 1.0, 2.0, 3.0, 5.0])).iloc[0]
    assert (table["median"], table["lower_quartile"], table["upper_quartile"]) == (3, 2, 4)
    assert table["repeats"] == 5


def test_folds_of_vaecp_are_fitted_side_by_side_and_measured_apart(monkeypatch, tensor):
    """Each record must be that of its own fold, though one call fits them all."""
    from vaecp.models import vaecp_together

    sizes = []
    together = vaecp_together.fit_together
    monkeypatch.setattr(
        vaecp_together,
        "fit_together",
        lambda models, parts, pool: sizes.append(len(models)) or together(models, parts, pool),
    )
    small = {"hidden": 4, "n_members": 1, "max_epochs": 5, "cp_start": 0.0}
    case = Case("t", tensor, candidates(["VAECP"], [2], {"VAECP": small}))
    results = Results()
    made = fold_runs(case, PROTOCOL, always=True)
    carry_out(made, {case.data: tensor}, results)
    assert sizes == [PROTOCOL.folds]
    records = results.of(made)
    assert [record["fold"] for record in records] == list(range(PROTOCOL.folds))
    assert len({record["rmse"] for record in records}) == PROTOCOL.folds
    assert not any(record["error"] for record in records)


def test_repeated_entries_are_fitted_one_fold_after_the_other(monkeypatch, tensor):
    """Side by side, repeats of a cell would overwrite each other."""
    from vaecp.models import vaecp_together

    monkeypatch.setattr(vaecp_together, "fit_together", lambda *_: pytest.fail("side by side"))
    repeated = tensor.take(np.append(np.arange(len(tensor)), np.arange(5)))
    small = {"hidden": 4, "n_members": 1, "max_epochs": 5, "cp_start": 0.0}
    case = Case("t", repeated, candidates(["VAECP"], [2], {"VAECP": small}))
    results = Results()
    made = fold_runs(case, PROTOCOL, always=True)
    carry_out(made, {case.data: repeated}, results)
    assert not any(record["error"] for record in results.of(made))


# ---- progress --------------------------------------------------------------------------


def test_the_bar_leaves_room_for_every_method_on_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"Method{number}" for number in range(8)]
    with runner._progress("Folds", len(names), 1.0, show=True) as report:
        for name in names:
            report({"method": name, "rmse": 0.123, "dataset": "my [own].csv"}, 0.1)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    assert "8/8 runs" in shown
    assert "my [own].csv" in shown
    assert all(f"{name} 0.123" in " ".join(shown.split()) for name in names)
