"""Conclusions: medians, quartiles, and who is better than whom, how surely."""

import numpy as np
import pandas as pd
from scipy import stats

from vaecp.study import experiments
from vaecp.study.experiments import BEST, Results
from vaecp.study.experiments.tables import medians, paired


def table_of(**errors):
    rows = [
        {
            "dataset": "toy",
            "comparison": BEST,
            "method": method,
            "repeat": repeat,
            "rmse": rmse,
            "error": "",
            "held_out": 0.2,
            "rank": 2,
        }
        for method, found in errors.items()
        for repeat, rmse in enumerate(found)
    ]
    frame = pd.DataFrame(rows, columns=list(Results().frame().columns))
    return frame.astype(Results().frame().dtypes.to_dict())


def test_a_method_that_is_better_on_every_split_wins_with_ratio_and_interval():
    random = np.random.default_rng(0)
    errors = random.uniform(1, 2, 10)
    ratios = 0.9 * np.exp(0.02 * random.normal(size=10))
    found = experiments.winner(table_of(B=errors, A=errors * ratios))
    assert (found.method, found.rival, found.n_lower, found.outcome) == ("A", "B", 10, "wins")
    logs = np.log(ratios)
    np.testing.assert_allclose(found.ratio, stats.gmean(ratios))
    # Nadeau and Bengio: the variance of the mean times 1 + 10 / 4 instead of 1.
    plain = stats.ttest_1samp(logs, 0)
    np.testing.assert_allclose(found.p, 2 * stats.t.sf(abs(plain.statistic) / np.sqrt(3.5), 9))
    low, high = np.log([found.low, found.high])
    expected = plain.confidence_interval(0.95)
    np.testing.assert_allclose(high - low, np.sqrt(3.5) * (expected.high - expected.low))


def test_the_loser_is_told_so():
    errors = np.linspace(1, 2, 10)
    frame = table_of(B=errors, A=errors * np.linspace(0.8, 0.82, 10))
    outcomes = experiments.verdicts(frame, "B")
    assert outcomes["outcome"].tolist() == ["loses"]
    assert outcomes["ratio"].iloc[0] > 1.2


def test_many_pairs_are_corrected_together():
    random = np.random.default_rng(1)
    errors = {name: 1 + 0.1 * random.random(10) for name in "ABCDE"}
    frame = table_of(**errors)
    alone = [paired(frame, "A", rival).p for rival in "BCDE"]
    together = experiments.verdicts(frame, "A")["p"]
    assert (together >= alone).all()
    np.testing.assert_allclose(together.min(), min(4 * min(alone), 1))
    assert experiments.winner(frame).p >= min(alone)


def test_few_repeats_or_equal_errors_decide_nothing():
    few = experiments.winner(table_of(A=[1.0, 1.1], B=[2.0, 2.1]))
    assert few.outcome == "undecided"
    assert "a test needs at least 5" in few.words
    same = experiments.winner(table_of(A=np.arange(10.0), B=np.arange(10.0)))
    assert (same.outcome, same.p, same.ratio) == ("undecided", 1.0, 1.0)


def test_methods_without_a_common_split_are_not_compared():
    frame = table_of(A=[1.0, np.nan], B=[np.nan, 1.0])
    assert paired(frame, "A", "B").n_repeats == 0


def test_medians_and_quartiles_are_those_of_the_repeats():
    table = experiments.summarise(table_of(A=[4.0, 1.0, 2.0, 3.0, 5.0])).iloc[0]
    assert (table["median"], table["lower_quartile"], table["upper_quartile"]) == (3, 2, 4)
    assert table["repeats"] == 5


def test_the_headline_has_rmse_nll_and_crps_with_the_lowest_in_bold():
    frame = table_of(VAECP=[1.0, 2.0, 3.0], CPALS=[3.0, 3.0, 3.0])
    frame["nll"] = frame["method"].map({"VAECP": -1.0, "CPALS": -2.0})
    found = medians(frame, BEST)
    assert found.index.tolist() == [("toy", "RMSE"), ("toy", "NLL"), ("toy", "CRPS")]
    assert found.loc[("toy", "RMSE")].tolist() == ["**2**", "3"]
    assert found.loc[("toy", "NLL")].tolist() == ["-1", "**-2**"]
    assert found.loc[("toy", "CRPS")].tolist() == ["", ""]
