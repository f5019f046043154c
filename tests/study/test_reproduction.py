import pytest

from vaecp.errors import VaecpError
from vaecp.study.reproduction import FULL, QUICK, reproduce
from vaecp.study.reproduction.readings import reading_runs, readings_table
from vaecp.study.reproduction.study import ALSO, cases, curve_runs


def ranks_of(case, method):
    return [dict(settings).get("rank") for settings in case.candidates[method]]


@pytest.fixture(scope="module")
def synthetic():
    (case,) = cases(FULL, ["synthetic r=11"])
    return case


def test_no_method_is_tried_beyond_its_largest_rank(synthetic):
    limits = FULL.largest | FULL.largest_on["synthetic"]
    for method, largest in limits.items():
        assert max(ranks_of(synthetic, method)) <= largest
    assert max(ranks_of(synthetic, "CPALS")) == max(FULL.synthetic_ranks)


def test_vaecp_is_left_to_its_defaults_and_shown_at_every_rank(synthetic):
    assert synthetic.candidates["VAECP"] == [()]
    runs = curve_runs(FULL, [synthetic])
    assert [run.rank for run in runs] == list(FULL.synthetic_ranks)
    assert {(run.repeat, run.fold) for run in runs} == {(0, 0)}


def test_fbcp_prunes_from_one_rank_and_others_have_a_choice_beside_the_rank(synthetic):
    assert ranks_of(synthetic, "FBCP") == [max(FULL.synthetic_ranks)]
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
