"""The table of gaps: what is hidden, what is compared, and what the page says of it."""

import numpy as np
import pandas as pd
import pytest

from vaecp import datasets
from vaecp.data.observations import Observations
from vaecp.errors import DatasetError
from vaecp.outcomes.metrics import LEVELS
from vaecp.study import evaluation
from vaecp.study.evaluation import tables, tensors
from vaecp.study.evaluation.ablation import ablation_lines
from vaecp.study.evaluation.figures import by_kind_and_tensor, reliability_figure
from vaecp.study.evaluation.methods import METHODS, settings
from vaecp.study.evaluation.page import headline_table, page
from vaecp.study.evaluation.tables import at_best, failing, gaps_in_words
from vaecp.study.experiments import Results, Tensor
from vaecp.study.experiments.runs import Run, parts
from vaecp.study.rivals import find
from vaecp.study.rivals.published import FIGURES


@pytest.fixture
def small(monkeypatch, random):
    """One tensor with gaps and an ordered mode takes the place of all."""
    array = np.einsum("i,j,k->ijk", *(1 + random.random(size) for size in (8, 10, 6)))
    array[random.random(array.shape) < 0.3] = np.nan
    tensor = Tensor(Observations.from_array(array))
    split = Tensor(tensor.observations, tensor.observations.values > 2.5)
    published = {"published:a": (lambda: split,)}
    subject = tensors.Subject(lambda split: tensor, (1,), published)
    monkeypatch.setattr(tensors, "SUBJECTS", {"il2": subject})
    monkeypatch.setattr("vaecp.study.evaluation.methods.SUBJECTS", {"il2": subject})
    return tensor


def test_the_table_asks_for_every_kind_of_gaps_on_every_split(small):
    asked = list(tensors.tasks(n_splits=2))
    kinds = [f"{task.gaps} {task.held_out}" for task in asked if task.repeat == 0]
    scattered = [f"scattered {share}" for share in (0.2, 0.5, 0.8, 0.95)]
    fibres, slabs = ([f"{kind}:{mode} 0.2" for mode in range(3)] for kind in ("fibres", "slabs"))
    assert kinds[:-1] == [*scattered, *fibres, *slabs, "blocks:1 0.2", "moved:1 0.2"]
    assert kinds[-1].startswith("published:a")
    assert [task.repeat for task in asked[:4]] == [0, 1, 0, 1]


def test_a_part_of_the_table_can_be_asked_for(small):
    asked = {task.gaps for task in tensors.tasks(gaps=["fibres:2", "slabs"], n_splits=1)}
    assert asked == {"fibres:2", "slabs:0", "slabs:1", "slabs:2"}
    with pytest.raises(DatasetError, match="'moon' is not a tensor of the table: use il2"):
        list(tensors.tasks(["moon"]))


def test_scattered_gaps_of_one_share_can_be_asked_for(small):
    asked = {(task.gaps, task.held_out) for task in tensors.tasks(gaps=["scattered-80"])}
    assert asked == {("scattered", 0.8)}


def test_of_many_settings_the_first_are_taken(small):
    assert len(settings("CPALS", "il2")) == 18
    assert settings("CPALS", "il2", 3) == settings("CPALS", "il2")[:3]
    assert settings("VAECP", "il2", 1) == [()]


def test_tensors_kept_aside_are_in_the_table():
    for name, start in tensors.ASIDE:
        subject = tensors.SUBJECTS[name]
        assert not start or any(label.startswith(start) for label in subject.published)
    assert tensors.is_aside("beijing", "published:fold-2")
    assert not tensors.is_aside("beijing", "published:fold-1")


def test_every_run_has_what_it_needs(small):
    for task in tensors.tasks(n_splits=1):
        run = Run(task.dataset, "", "mean", (), "", 0, None, None, task.held_out, task.gaps)
        training, held_out = parts(run, task.tensor)
        assert len(training) + len(held_out) == len(small.observations)
        assert min(len(training), len(held_out)) > 0
    for method in METHODS:
        assert find(method).name == method
        assert settings(method, "il2")


def test_a_table_is_made_resumed_and_written(small, tmp_path):
    asked = {"gaps": ["scattered", "blocks"], "methods": ["row effects", "mean", "hosvd"]}
    written = evaluation.evaluate(tmp_path, n_splits=2, **asked)
    first = (tmp_path / "results.jsonl").read_bytes()
    text = written[0].read_text()
    assert "| il2 | scattered, 95 % | row effects | ridge" in text
    assert "blocks along time" in text
    assert len(first.splitlines()) == 5 * 2 * (3 + 1 + 1)
    evaluation.evaluate(tmp_path, n_splits=2, **asked)
    assert (tmp_path / "results.jsonl").read_bytes() == first


def test_parts_are_left_out_on_the_same_splits_and_compared(small, tmp_path, monkeypatch):
    few = {name: evaluation.ABLATION[name] for name in ("as it is", "one member")}
    monkeypatch.setattr(evaluation, "ABLATION", few)
    written = evaluation.evaluate(tmp_path, gaps=["scattered-50"], n_splits=2, ablation=True)
    assert [path.name for path in written] == ["README.md", "results.jsonl"]
    text = written[0].read_text()
    assert "## il2, scattered, 50 %" in text
    assert "| as it is |" in text
    assert "| one member |" in text


def test_a_part_is_worth_the_geometric_mean_of_its_ratios():
    rows = [
        row | {"crps": 1.0, "coverage_90": 0.9}
        for settings, errors in (
            ("{}", [1.0] * 5),
            ('{"smooth": false}', [2.0, 8.0, 4.0, 2.0, 8.0]),
        )
        for row in runs_of("VAECP", settings, errors)
    ]
    lines = ablation_lines(frame_of(rows)).set_index("VAECP")
    assert lines.loc["without smooth rows", "ratio"] == pytest.approx(4.0)
    # Logs to base 2 are 1, 3, 2, 1, 3: mean 2, variance 1; times 1/5 + 1/4; t of 4 degrees is 2.776.
    half = 2.776 * np.sqrt(1 / 5 + 1 / 4)
    low, _, high = lines.loc["without smooth rows", "interval"].split()
    assert (float(low), float(high)) == pytest.approx((2 ** (2 - half), 2 ** (2 + half)), rel=0.01)


def test_reliability_takes_the_median_over_splits_by_kind_of_gaps():
    record = {"method": "VAECP", "settings": {}, "dataset": "amino", "gaps": "fibres:1"}
    low, high = [0.1] * len(LEVELS), [0.3] * len(LEVELS)
    records = [record | {"calibration": shares} for shares in (low, high, high)]
    records += [record | {"method": "FBCP", "calibration": low}, record | {"calibration": []}]
    (kind, lines), *others = by_kind_and_tensor(records).items()
    assert (kind, list(lines), others) == ("fibres", ["amino"], [])
    np.testing.assert_allclose(lines["amino"], 0.3)
    assert reliability_figure([record]) is None


def test_the_short_table_has_the_lowest_in_bold_and_folds_where_there_is_nothing_else():
    rows = runs_of("VAECP", "{}", [0.5], crps=0.1) + runs_of("CPALS", "{}", [0.4], crps=0.2)
    rows += runs_of("VAECP", "{}", [0.9], dataset="ems", gaps="published", held_out=0.1)
    table = headline_table(at_best(frame_of(rows)))
    assert table[["tensor", "measure", "VAECP", "CPALS"]].to_numpy().tolist() == [
        ["amino", "RMSE", "0.5", "**0.4**"],
        ["amino", "CRPS", "**0.1**", "0.2"],
        ["ems", "RMSE", "**0.9**", ""],
    ]


def test_the_short_table_leaves_out_what_vaecp_was_not_run_on_and_rivals_with_fewer_splits():
    rows = runs_of("VAECP", "{}", [0.5, 0.6, 0.7]) + runs_of("CPALS", "{}", [0.4, 0.4, 0.4])
    rows += runs_of("SMURFF", "{}", [0.3, 0.3]) + runs_of("CPALS", "{}", [0.1], dataset="kinetic")
    table = headline_table(at_best(frame_of(rows)))
    assert list(table.columns) == ["tensor", "measure", "VAECP", "CPALS"]
    assert table.to_numpy().tolist() == [["amino", "RMSE", "0.6", "**0.4**"]]


def frame_of(rows):
    columns = Results().frame().columns
    frame = pd.DataFrame(
        [
            {"dataset": "amino", "gaps": "scattered", "held_out": 0.2, "scale": 10.0} | row
            for row in rows
        ]
    )
    return frame.reindex(columns=columns).assign(
        error="", device="here", commit="abc", code="", settings=frame["settings"]
    )


def runs_of(method, settings, errors, **more):
    return [
        {"method": method, "settings": settings, "repeat": repeat, "rmse": rmse, "seconds": 1.0}
        | more
        for repeat, rmse in enumerate(errors)
    ]


def test_a_rival_has_its_best_settings_of_those_tried_on_all_splits():
    frame = frame_of(
        runs_of("VAECP", "{}", [2.0, 4.0, 3.0])
        + runs_of("CPALS", '{"rank": 2}', [5.0, 5.0, 5.0])
        + runs_of("CPALS", '{"rank": 3}', [4.0, 4.0, 90.0])
        + runs_of("CPALS", '{"rank": 9}', [0.1, 0.1])
        + runs_of("VAECP.paper", "{}", [0.5, 0.5, 0.5])
    )
    best = at_best(frame).set_index("method")
    assert best.loc["CPALS", "settings"] == '{"rank": 3}'
    assert best.loc["VAECP", ["rmse", "rival", "ratio"]].tolist() == [3.0, "CPALS", 0.75]
    assert best.loc["VAECP", "rmse_in_units"] == 30.0
    assert best.loc["VAECP.paper", "ratio"] == 0.125


def test_a_rival_with_fewer_splits_is_compared_on_these():
    """On its one split, the hardest, the Gaussian process is behind."""
    frame = frame_of(
        runs_of("VAECP", "{}", [8.0, 2.0, 1.0])
        + runs_of("Gaussian process", "{}", [10.0])
        + runs_of("CPALS", "{}", [9.0, 4.0, 2.5])
    )
    best = at_best(frame).set_index("method")
    assert best.loc["VAECP", ["rival", "ratio"]].tolist() == ["Gaussian process", 0.8]
    assert best.loc["CPALS", "ratio"] == 0.9


def test_a_rival_without_a_common_split_hides_no_other():
    frame = frame_of(
        runs_of("VAECP", "{}", [2.0])
        + [run | {"repeat": 2} for run in runs_of("CPALS", "{}", [1.0])]
        + runs_of("FBCP", "{}", [1.0])
    )
    best = at_best(frame).set_index("method")
    assert best.loc["VAECP", ["rival", "ratio"]].tolist() == ["FBCP", 2.0]


def test_published_folds_are_averaged_as_others_do():
    rows = runs_of("VAECP", "{}", [1.0, 1.0, 4.0], gaps="published", dataset="alog")
    assert at_best(frame_of(rows))["rmse"].item() == 2.0


def test_cells_that_miss_a_target_are_named_with_their_numbers():
    good = {"coverage_50": 0.5, "coverage_90": 0.9}
    bad = {"coverage_50": 0.3, "coverage_90": 0.96, "gaps": "fibres:2"}
    frame = frame_of(
        runs_of("VAECP", "{}", [1.0], **good)
        + runs_of("mean", "{}", [1.0])
        + runs_of("VAECP", "{}", [1.05], **bad)
        + runs_of("mean", "{}", [1.0], gaps="fibres:2")
    )
    found = failing(at_best(frame))
    assert {column: len(cells) for column, cells in found.items()} == {
        "ratio": 1,
        "coverage_50": 1,
        "coverage_90": 1,
    }
    text = page(frame, "vaecp evaluate")
    assert "2 cells; the median ratio of RMSE is 1.025, the highest 1.050" in text
    assert (
        "1 have an RMSE above 1.02 times the best rival's: amino, fibres along emission (1.05)"
        in text
    )
    assert "with commit abc" in text


def test_published_figures_stand_beside_our_own_in_their_units():
    rows = runs_of("VAECP", "{}", [0.07], gaps="published", dataset="alog")
    text = page(frame_of(rows), "vaecp evaluate")
    order = [text.index(part) for part in ("| VAECP | 0.7 |", "| CEP-CP, rank 10 | 0.82 |")]
    assert order == sorted(order)
    assert "LATC" not in text


def test_every_published_figure_belongs_to_a_cell_of_the_table():
    for figure in FIGURES:
        assert figure.gaps in tensors.SUBJECTS[figure.dataset].published
        assert figure.source


def test_variants_are_named_by_the_modes_of_their_tensor():
    assert gaps_in_words("synthetic-9", "slabs:1", 0.2) == "slabs of column"
    assert gaps_in_words("alog", "scattered", 0.95) == "scattered, 95 %"
    assert tables._base("movielens-week") == "movielens"


@pytest.fixture
def hangzhou():
    try:
        return datasets.load("hangzhou")
    except DatasetError as error:
        pytest.skip(f"hangzhou is not here: {error}")


def test_the_gaps_of_hangzhou_are_those_of_the_transdim_notebooks(hangzhou):
    # As the notebooks write it, on the array transposed to station x time x day.
    dense = np.transpose(np.nan_to_num(hangzhou.to_array()), (0, 2, 1))
    random = np.random.RandomState(1000)
    masks = {"random": np.round(random.rand(80, 108, 25) + 0.5 - 0.3)}
    random, masks["days"] = np.random.RandomState(1000), np.zeros(dense.shape)
    drawn = random.rand(80, 25)
    for station in range(80):
        for day in range(25):
            masks["days"][station, :, day] = np.round(drawn[station, day] + 0.5 - 0.3)
    random = np.random.RandomState(1000)
    vector = np.array([random.rand(450)] * 6).reshape([108 * 25], order="F")
    unfolded = np.reshape(dense, (80, -1), order="F") * np.round(vector + 0.5 - 0.3)[None, :]
    masks["blocks"] = np.reshape(unfolded, dense.shape, order="F") != 0
    for kind, mask in masks.items():
        tensor = tensors.hangzhou_gaps(kind, 0.3)()
        expected = (dense != 0) & (mask == 0)
        hidden = np.zeros(dense.shape, dtype=bool)
        station, day, time = tensor.observations.indices[tensor.test].T
        hidden[station, time, day] = True
        np.testing.assert_array_equal(hidden, expected)
