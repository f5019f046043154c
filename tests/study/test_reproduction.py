import pytest

from vaecp.errors import VaecpError
from vaecp.study.reproduction import FULL, QUICK, reproduce
from vaecp.study.reproduction.study import cases, collapse_runs


def ranks_of(case, method):
    return [dict(settings)["rank"] for settings in case.candidates[method]]


@pytest.fixture(scope="module")
def synthetic():
    (case,) = cases(FULL, ["synthetic r=11"])
    return case


def test_no_method_is_tried_beyond_its_largest_rank(synthetic):
    limits = FULL.largest | FULL.largest_on["synthetic"]
    for method, largest in limits.items():
        assert max(ranks_of(synthetic, method)) <= largest
    assert max(ranks_of(synthetic, "VAECP")) == max(FULL.synthetic_ranks)


def test_fbcp_prunes_from_one_rank_and_masked_cp_has_a_choice_of_ridges(synthetic):
    assert ranks_of(synthetic, "FBCP") == [50]
    ridges = {dict(settings).get("ridge") for settings in synthetic.candidates["CPALS"]}
    assert ridges == {None, *FULL.ridges}


@pytest.mark.parametrize("method", ["CPALS", "NCP"])
def test_methods_that_do_not_centre_by_themselves_are_told_to(synthetic, method):
    assert {dict(settings)["center"] for settings in synthetic.candidates[method]} == {"values"}


def test_the_published_recipe_is_told_the_rank_of_synthetic_tensors(synthetic):
    assert ranks_of(synthetic, "VAECP.paper") == [11]


def test_a_part_of_the_methods_can_be_asked_for():
    chosen = cases(QUICK, ["synthetic r=9", "synthetic r=10"], ["CPALS", "HOSVD"])
    assert [set(case.candidates) for case in chosen] == [{"CPALS", "HOSVD"}] * 2
    assert not collapse_runs(QUICK, chosen)


@pytest.mark.parametrize("wrong", [{"only": ["nowhere"]}, {"methods": ["NOPE"]}])
def test_a_name_that_there_is_not_leaves_nothing_behind(tmp_path, wrong):
    with pytest.raises(VaecpError, match="use"):
        reproduce(tmp_path / "results", QUICK, **wrong)
    assert not list(tmp_path.iterdir())
