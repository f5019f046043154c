from dataclasses import replace

import pandas as pd
import pytest

from vaecp.errors import DatasetError, VaecpError
from vaecp.study.experiments import BEST, CHOICE, fold_runs, settings_of
from vaecp.study.experiments.execution import describe
from vaecp.study.experiments.results import frame_of
from vaecp.study.reproduction import FULL, QUICK, reproduce
from vaecp.study.reproduction.choices import at_the_limit, not_converged, protocol
from vaecp.study.reproduction.readings import reading_runs, readings_table
from vaecp.study.reproduction.study import ALSO, NAMES, cases, curve_runs


def ranks_of(case, method):
    return [dict(settings).get("rank") for settings in case.candidates[method]]


@pytest.fixture(scope="module")
def synthetic():
    (case,) = cases(FULL, ["synthetic r=11"])
    return case


def test_the_true_rank_of_a_synthetic_tensor_is_among_those_to_choose_from(synthetic):
    for method in ("CPALS", "NCP", "HOSVD", "TuckerALS", "InfTucker"):
        assert set(ranks_of(synthetic, method)) == {*FULL.synthetic_ranks, 11}


def test_a_tensor_may_have_ranks_of_its_own_and_fewer_splits():
    study = replace(FULL, own_ranks={"fia": {"NCP": (2, 4)}}, most_repeats={"fia": 5})
    try:
        fia = cases(study, ["fia"])
    except DatasetError as error:
        pytest.skip(f"the data are not here: {error}")
    assert ranks_of(fia[0], "NCP") == [2, 4]
    assert ranks_of(fia[0], "HOSVD") == [*FULL.ranks, *FULL.ranks]  # without and with a ridge
    assert fia[0].splits(FULL.protocol) == range(5)


def test_vaecp_is_left_to_its_defaults_and_shown_at_several_ranks(synthetic):
    assert synthetic.candidates["VAECP"] == [()]
    runs = curve_runs(FULL, [synthetic])
    assert [run.rank for run in runs] == list(FULL.synthetic_curve)
    assert {(run.repeat, run.fold) for run in runs} == {(0, 0)}


@pytest.mark.parametrize("study", [FULL, QUICK])
def test_fbcp_has_few_ranks_to_start_from_because_it_prunes(study):
    for name in NAMES:
        assert len(study.ranks_on(name)["FBCP"]) <= 2


def test_methods_have_a_choice_beside_the_rank(synthetic):
    for method, others in ALSO.items():
        plain = set(synthetic.candidates[method])
        for other in others:
            assert any(other.items() <= dict(settings).items() for settings in plain)


def test_readings_change_one_thing_each(synthetic):
    (case,) = cases(FULL, ["synthetic r=10"], ["VAECP.paper"])
    runs = reading_runs(FULL, [case, synthetic])
    assert {run.dataset for run in runs} == {"synthetic r=10"}
    given = [dict(run.settings) for run in runs]
    published = given[0]
    assert (published["learning_rate"], published["rank"], published["hidden"]) == (1e-4, 10, 50)
    assert published["max_epochs"] == round(20_000 * 30 / 6400)
    changed = [
        {key for key in set(each) | set(published) if each.get(key) != published.get(key)}
        for each in given[1:]
    ]
    assert {frozenset(each - {"learning_rate"}) for each in changed} == {
        frozenset({"max_epochs"}),
        frozenset({"recipe__kl_weight"}),
        frozenset({"recipe__scale_from"}),
        frozenset(),
    }
    # A batch of 30 stands for 6,400 entries: unscaled, the KL counts that much more.
    assert {each.get("recipe__kl_weight") for each in given} == {None, 0.0, 213.3}


def test_the_table_of_readings_says_where_error_and_bound_went():
    record = {
        "dataset": "amino",
        "settings": {"learning_rate": 1e-3, "recipe__scale_from": 1.0},
        "rmse": 0.0281,
        "seconds": 12.3,
        "history": {"validation_rmse": [0.9, 0.5, 0.1], "elbo": [-5.0, 2.0, 7000.0]},
    }
    failed = record | {"rmse": float("nan")}
    (line,) = readings_table([record, failed]).to_dict("records")
    assert line["noise"] == "one level"
    assert line["KL"] == "once per row"
    assert line["validation RMSE, first, half-way, last"] == "0.9, 0.5, 0.1"
    assert line["bound, first, half-way, last"] == "-5, 2, 7,000"


@pytest.mark.parametrize("method", ["CPALS", "NCP"])
def test_methods_that_do_not_centre_by_themselves_are_told_to(synthetic, method):
    assert {dict(settings)["center"] for settings in synthetic.candidates[method]} == {"values"}


def test_the_published_recipe_is_told_the_rank_of_synthetic_tensors(synthetic):
    assert ranks_of(synthetic, "VAECP.paper") == [11]


def test_a_part_of_the_methods_can_be_asked_for():
    chosen = cases(QUICK, ["synthetic r=9", "synthetic r=10"], ["CPALS", "HOSVD"])
    assert [set(case.candidates) for case in chosen] == [{"CPALS", "HOSVD"}] * 2
    assert not reading_runs(QUICK, chosen)


@pytest.mark.parametrize("wrong", [{"only": ["nowhere"]}, {"methods": ["NOPE"]}])
def test_a_name_that_there_is_not_leaves_nothing_behind(tmp_path, wrong):
    with pytest.raises(VaecpError, match="use"):
        reproduce(tmp_path / "results", QUICK, **wrong)
    assert not list(tmp_path.iterdir())


def rows_of(*lines):
    """A table of runs at ranks: (method, fold or None, repeat, rank, rank found)."""
    (case,) = cases(QUICK, ["synthetic r=9"], ["HOSVD"])
    (run, *_) = fold_runs(case, QUICK.protocol)
    records = []
    for method, fold, repeat, rank, found in lines:
        own = replace(
            run,
            method=method,
            settings=settings_of(rank=rank),
            comparison=BEST if fold is None else CHOICE,
            repeat=repeat,
            fold=fold,
            n_folds=None if fold is None else 5,
        )
        records.append(describe(own) | {"rmse": 1.0, "rank_found": found})
    return frame_of(records)


def test_methods_that_took_the_last_or_the_first_rank_there_was_are_named():
    grid = [("HOSVD", 0, repeat, rank, None) for repeat in (0, 1) for rank in (3, 5, 9)]
    first, last = at_the_limit(
        rows_of(*grid, ("HOSVD", None, 0, 9, None), ("HOSVD", None, 1, 5, None))
    )
    assert "HOSVD on synthetic r=9 (1 of 2 splits)" in first
    assert last.endswith("smallest rank that they had: none.\n")
    first, last = at_the_limit(rows_of(*grid, ("HOSVD", None, 0, 3, None)))
    assert first.endswith("largest rank that they had: none.\n")
    assert "HOSVD on synthetic r=9 (1 of 1 splits)" in last


def test_a_method_that_prunes_is_named_where_it_kept_all_that_it_was_given():
    (first, _) = at_the_limit(rows_of(("FBCP", None, 0, 30, 30), ("FBCP", None, 1, 30, 12)))
    assert "FBCP on synthetic r=9 (1 of 2 splits)" in first
    tried = [("FBCP", 0, 0, rank, 12) for rank in (15, 30)]
    (first, last) = at_the_limit(rows_of(*tried, ("FBCP", None, 0, 15, 15)))
    assert first.endswith("none.\n")
    assert last.endswith("none.\n")


def test_the_page_says_how_many_splits_there_are_and_where_there_are_fewer():
    frame = rows_of(*[("HOSVD", None, repeat, 3, None) for repeat in range(4)])
    other = frame[frame["repeat"] < 2].assign(dataset="sugar")
    text = protocol(pd.concat([frame, other]), FULL)
    assert "20% to test, 4 times (2 on sugar), with seeds derived from 0." in text


def test_the_page_states_the_rule_by_which_ladders_end_where_splits_choose():
    folds = [("HOSVD", 0, repeat, rank, None) for repeat in (0, 1) for rank in (3, 5)]
    frame = rows_of(*folds, ("HOSVD", None, 0, 3, None), ("HOSVD", None, 1, 3, None))
    assert "after 2 in a row without a lower error" in protocol(frame, FULL)
    assert "in a row" not in protocol(frame, QUICK)


def test_fits_that_had_not_converged_are_counted_whether_they_warned_or_not():
    frame = rows_of(*[("HOSVD", None, repeat, 3, None) for repeat in range(4)])
    frame["converged"] = pd.array([True, False, None, None], dtype="boolean")
    frame["warning"] = ["", "", "stopped after max_iter=9 fillings", ""]
    assert not_converged(frame) == [
        "Fits that stopped before they converged: HOSVD on synthetic r=9 (2 fits).\n"
    ]
