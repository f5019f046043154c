"""The page about a fitted model: what it says, what it leaves out, and what it must not run."""

from __future__ import annotations

import base64
import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from quick_models import QUICK_MODELS, each_method
from sklearn.base import clone
from typer.testing import CliRunner

import vaecp
from vaecp.app import cli
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.errors import ObservationError
from vaecp.outcomes.components import relevance
from vaecp.outcomes.holdout import MASKED_CP, MEAN, HeldOutCheck, check_on_held_out
from vaecp.show.report import grid as grids
from vaecp.show.report import model_report
from vaecp.show.report.components import component_figures
from vaecp.show.report.folded import folded_rows
from vaecp.show.report.notable import most_surprising, most_uncertain
from vaecp.show.report.numbers import label_texts, share_shown, shown, size_shown
from vaecp.show.report.page import json_for_script
from vaecp.show.report.settings import settings_shown
from vaecp.show.report.words import summary_sentences

pytest.importorskip("plotly")
pytest.importorskip("jinja2")
runner = CliRunner()
EVIL = "</script><script>alert(1)</script>"
# Fits are stopped early here: how good they are is not the question.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def tensor(shape=(6, 5, 4), missing=0.2, offset=0.0):
    random = np.random.default_rng(1)
    rows = [1 + random.random((size, 2)) for size in shape]
    array = offset + np.einsum("ir,jr,kr->ijk", *rows) + 0.01 * random.normal(size=shape)
    array[random.random(shape) < missing] = np.nan
    return array


def named(array):
    labels = (np.array(list("abcdef"), dtype=object), np.arange(5) * 10.0, np.arange(4))
    return Observations.from_array(
        array, mode_names=("who", "dose", "day"), labels=labels, value_name="level (mg)"
    )


@pytest.fixture(scope="module")
def data():
    return named(tensor())


@pytest.fixture(scope="module")
def model(data):
    return vaecp.CPALS(rank=2, n_starts=1, max_iter=50, random_state=0).fit_tensor(data)


def figures_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def unpacked(packed: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed), dtype="<f4")


class Scripts(HTMLParser):
    """Collects script elements and what they would fetch, as a browser would find them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts, self.fetched = 0, []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.fetched += [v for k, v in attrs if k in ("src", "href") and not v.startswith("#")]


def test_the_page_holds_every_mean_and_std_and_marks_the_gaps(model, data, tmp_path):
    page = model_report(model, tmp_path / "r.html", data, check=False).read_text()
    figures = figures_of(page)
    packed = figures["grid"]
    unit, zero = packed["scale"], packed["location"]
    result = vaecp.outcomes.completion.fill(model, data)
    np.testing.assert_allclose(
        zero + unit * unpacked(packed["mean"]), np.ravel(result.mean), rtol=1e-5
    )
    np.testing.assert_allclose(unit * unpacked(packed["std"]), np.ravel(result.std), rtol=1e-5)
    given = zero + unit * unpacked(packed["given"])
    np.testing.assert_allclose(given, np.ravel(data.to_array()), rtol=1e-5)
    low, _ = result.interval(0.9)
    reach = figures["interval_factor"] * np.ravel(result.std)
    np.testing.assert_allclose(np.ravel(result.mean) - reach, np.ravel(low))
    assert figures["modes"][1]["labels"]["2"] == "20"


@each_method
def test_every_method_has_a_page_with_and_without_data(method, data, tmp_path):
    fitted = method.fit_tensor(data)
    page = model_report(fitted, tmp_path / "r.html", data, check=False).read_text()
    assert "No entries were hidden to check the fit" in page
    assert figures_of(page)["overview"]["missing"]
    alone = model_report(fitted, tmp_path / "alone.html").read_text()
    assert "The data are not part of a model file" in alone
    assert figures_of(alone)["grid"]["given"] is None
    assert "Most surprising" not in alone


def test_labels_that_look_like_code_stay_text(tmp_path):
    labels = (np.array([EVIL, "b", "<b>c</b>", "d & e", "%{x}", "f"], dtype=object), range(5))
    data = Observations.from_array(
        tensor()[:, :, 0], mode_names=(f"who {EVIL}", "dose"), labels=labels, value_name=EVIL
    )
    model = vaecp.CPALS(rank=1, n_starts=1, max_iter=5, random_state=0).fit_tensor(data)
    page = model_report(model, tmp_path / "r.html", data, title=EVIL, check=False).read_text()
    assert EVIL not in page
    assert figures_of(page)["modes"][0]["labels"]["0"] == EVIL
    found = Scripts(page.replace(_plotly(), ""))
    assert found.scripts == 3
    assert not found.fetched


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def test_json_in_a_script_cannot_end_it():
    text = json_for_script([EVIL, "&", "\u2028"])
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == [EVIL, "&", "\u2028"]


def test_nothing_is_written_when_the_page_fails(model, data, tmp_path, monkeypatch):
    monkeypatch.setattr("vaecp.show.report.render", lambda contents: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model_report(model, tmp_path / "r.html", data, check=False)
    assert not list(tmp_path.iterdir())


# ---- the check on hidden entries -------------------------------------------------------


def test_the_check_hides_entries_from_every_method_and_leaves_the_model_alone(model, data):
    before = model.predict_at(data.indices).mean
    check = check_on_held_out(model, data, 0.25)
    np.testing.assert_array_equal(model.predict_at(data.indices).mean, before)
    assert check.n_training + len(check.held_out) == len(data)
    assert list(check.predictions) == ["CPALS", MEAN]
    training = data.take(~(data.indices[:, None] == check.held_out.indices[None]).all(2).any(1))
    np.testing.assert_allclose(check.predictions[MEAN].mean, training.values.mean())
    errors = check.held_out.values - training.values.mean()
    assert check.measures[MEAN]["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    copy = clone(model).fit_tensor(training)
    np.testing.assert_array_equal(
        check.predictions["CPALS"].mean, copy.predict_at(check.held_out.indices).mean
    )


def test_other_methods_are_checked_against_masked_cp_too(data):
    fitted = vaecp.HOSVD(rank=2, max_iter=5).fit_tensor(data)
    assert list(check_on_held_out(fitted, data).predictions) == ["HOSVD", MASKED_CP, MEAN]


def test_repeated_measurements_are_hidden_together(model):
    once = named(tensor())
    twice = Observations(
        np.concatenate([once.indices, once.indices]),
        np.concatenate([once.values, once.values]),
        once.shape,
    )
    held_out = check_on_held_out(model, twice, 0.3).held_out
    _, counts = np.unique(held_out.indices, axis=0, return_counts=True)
    assert set(counts) == {2}


def test_too_few_entries_are_not_checked(model, tmp_path):
    few = named(tensor()).take(np.arange(12))
    with pytest.raises(ObservationError, match="12 observed entries are too few"):
        check_on_held_out(model, few)
    page = model_report(model, tmp_path / "r.html", few).read_text()
    assert "No entries were hidden" in page


def test_the_summary_compares_with_the_mean(model, data, tmp_path):
    check = check_on_held_out(model, data)
    page = model_report(model, tmp_path / "r.html", data, check=check).read_text()
    own, guess = check.measures["CPALS"]["rmse"], check.measures[MEAN]["rmse"]
    assert f"{guess / own:.1f} times smaller than with the mean of all values" in page
    assert f"With only {len(check.held_out)} hidden entries" in page
    assert "level (mg)" in page


@pytest.mark.parametrize(
    ("spread", "outliers", "verdict"),
    [
        (1.0, 0, "are reliable there"),
        (0.5, 0, "so its standard deviations are too small"),
        (2.0, 0, "somewhat too large"),
        (
            9.0,
            200,
            "but its 50 % intervals contained 90 %: its errors are mostly smaller than it says",
        ),
    ],
)
def test_the_intervals_are_judged_by_how_many_hidden_values_they_hold(
    model, data, spread, outliers, verdict
):
    random, n = np.random.default_rng(0), 2_000
    errors = random.normal(size=n)
    errors[:outliers] = 100
    held_out = Observations(random.integers(0, 4, (n, 3)), errors, data.shape)
    prediction = Prediction(np.zeros(n), np.full(n, spread), np.zeros(n))
    check = HeldOutCheck(held_out, 10, {"CPALS": prediction, MEAN: prediction}, {})
    assert verdict in " ".join(
        summary_sentences(model, None, check, grids.predict_grid(model, None))
    )


def test_gaps_that_are_harder_than_the_check_are_said_to_be(data):
    array = data.to_array()
    array[3] = np.nan
    block = named(array)
    fitted = vaecp.FBCP(rank=2, n_starts=1, max_iter=50, random_state=0).fit_tensor(block)
    check = check_on_held_out(fitted, block)
    words = " ".join(summary_sentences(fitted, block, check, grids.predict_grid(fitted, block)))
    assert "the gaps are harder than the check" in words
    assert "1 of who had no observed entry at all (d)" in words


def test_gaps_beside_the_largest_values_are_said_to_be():
    grid = np.linspace(-3, 3, 20)
    array = np.exp(-(grid[:, None, None] ** 2) - grid[:, None] ** 2) * np.array([1.0, 1.1, 1.2])
    array[array > np.quantile(array, 0.9)] = np.nan
    labels = (grid, 10 * grid, np.array(["a", "b", "c"]))
    cut = Observations.from_array(array, labels=labels)
    fitted = vaecp.CPALS(rank=1, n_starts=1, random_state=0).fit_tensor(cut)
    words = " ".join(summary_sentences(fitted, cut, None, grids.predict_grid(fitted, cut)))
    assert "of the values beside a gap are among the largest tenth" in words


def test_only_components_that_matter_are_shown(data):
    fitted = vaecp.CPALS(rank=5, n_starts=1, max_iter=200, random_state=0).fit_tensor(data)
    weights = relevance(fitted)
    matter = weights["relevance"] >= 0.05 * weights.groupby("mode")["relevance"].transform("max")
    figures = component_figures(fitted)
    assert figures["n"] == matter.groupby(weights["mode"]).sum().max() < 5
    assert figures["n_all"] == 5
    assert len(figures["relevance"]["groups"][0]["values"]) == figures["n"]


def test_the_code_to_repeat_reads_the_file_as_it_was_read(source, tmp_path):
    outputs = ("-o", tmp_path / "out.csv", "--report", tmp_path / "r.html", "--no-check")
    options = ("--method", "CPALS", "--rank", 2, "--missing", "-999", "--encoding", "utf-8")
    assert run("complete", source, *outputs, *options).exit_code == 0
    page = html.unescape((tmp_path / "r.html").read_text())
    code = f"observations = vaecp.read({str(source)!r}, missing=['-999'], encoding='utf-8')"
    assert code in page


# ---- large, constant, odd --------------------------------------------------------------


def test_a_large_tensor_is_thinned_out_and_the_page_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(grids.thinned, "__defaults__", (50, 400))
    data = named(tensor())
    model = vaecp.CPALS(rank=1, n_starts=1, max_iter=5, random_state=0).fit_tensor(data)
    page = model_report(model, tmp_path / "r.html", data, check=False).read_text()
    figures = figures_of(page)
    assert [len(rows) for rows in figures["kept"]] == [4, 4, 3]
    assert "48 of 120 entries are in it" in page
    kept = np.ix_(*figures["kept"])
    packed = figures["grid"]
    given = packed["location"] + packed["scale"] * unpacked(packed["given"])
    np.testing.assert_allclose(given, data.to_array()[kept].ravel(), rtol=1e-5)


def test_thinning_keeps_small_modes_whole_and_both_ends():
    kept = grids.thinned((3, 100_000, 500), max_cells=30_000, max_rows=400)
    assert [len(rows) for rows in kept] == [3, 100, 100]
    assert all(rows[0] == 0 for rows in kept)
    assert [rows[-1] for rows in kept] == [2, 99_999, 499]


def test_settings_name_what_the_method_chose(data):
    model = clone(QUICK_MODELS[0]).fit_tensor(data)
    given = dict(settings_shown(model))
    assert given["rank"] == "2"
    model = clone(QUICK_MODELS[0]).set_params(rank=None, n_members=None).fit_tensor(data)
    chosen = dict(settings_shown(model))
    rank, n_members = model.factors_[0].shape[1], len(model.fitted_.ensemble)
    assert chosen["rank"] == f"{rank}, chosen by the method"
    assert chosen["n_members"] == f"{n_members}, chosen by the method"


def test_a_tensor_too_vast_to_list_has_a_page(tmp_path):
    random = np.random.default_rng(0)
    indices = random.integers(0, 5_000, (300, 3))
    data = Observations(indices, random.normal(size=300), (5_000, 5_000, 5_000))
    model = vaecp.CPALS(rank=1, n_starts=1, max_iter=2, random_state=0).fit_tensor(data)
    page = model_report(model, tmp_path / "r.html", data, check=False)
    assert page.stat().st_size < 12e6
    assert "125,000,000,000 entries" in page.read_text()


def test_constant_values_and_a_tensor_without_gaps_have_a_page(tmp_path):
    for array, words in ((np.full((4, 4, 3), 7.0), "there are no gaps"), (tensor(missing=0), "")):
        model = vaecp.CPALS(rank=1, n_starts=1, max_iter=5, random_state=0)
        data = Observations.from_array(array)
        page = model_report(model.fit_tensor(data), tmp_path / "r.html", data).read_text()
        assert words in page


def test_data_of_other_labels_are_refused(model, tmp_path):
    other = Observations(np.array([[0, 0, 0]]), np.ones(1), (1, 1, 1), labels=(["zoe"], [0.0], [0]))
    with pytest.raises(ObservationError, match="label zoe in mode 'who'"):
        model_report(model, tmp_path / "r.html", other)
    with pytest.raises(ObservationError, match="the data have 2 modes"):
        model_report(model, tmp_path / "r.html", np.eye(3))


def test_a_completion_is_not_predicted_again(model, data, tmp_path, monkeypatch):
    result = vaecp.outcomes.completion.fill(model, data)
    predict, asked = type(model).predict_at, []

    def counting(self, indices):
        asked.append(len(indices))
        return predict(self, indices)

    monkeypatch.setattr(type(model), "predict_at", counting)
    written = [
        model_report(model, tmp_path / f"{n}.html", given, check=False)
        for n, given in enumerate((result, data))
    ]
    assert asked == [data.n_cells]  # by the page of the data alone
    first, second = (figures_of(path.read_text())["grid"] for path in written)
    assert first == second


# ---- notable entries -------------------------------------------------------------------


def test_a_typing_error_is_the_most_surprising_entry(data):
    slip = int(np.flatnonzero((data.indices == data.indices[17]).all(1))[0])
    values = np.array(data.values)
    values[slip] *= 3
    wrong = data.with_values(values)
    fitted = vaecp.FBCP(rank=2, n_starts=1, max_iter=50, random_state=0).fit_tensor(data)
    found = most_surprising(wrong, grids.predict_grid(fitted, wrong))
    np.testing.assert_array_equal(found.indices[0], data.indices[slip])
    assert found.values[0] == values[slip]


def test_the_most_uncertain_entries_are_gaps_of_the_widest_std(model, data):
    grid = grids.predict_grid(model, data)
    found = most_uncertain(grid)
    result = vaecp.outcomes.completion.fill(model, data)
    widest = np.sort(result.std[~result.observed])[::-1][: len(found)]
    np.testing.assert_allclose(found.prediction.std, widest)
    assert np.isnan(data.to_array()[tuple(found.indices.T)]).all()


# ---- numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (shown(-1234.5678, 2), "\N{MINUS SIGN}1,234.57"),
        (shown(float("nan"), 2), "not known"),
        (shown(1.5e300, None), "1.5e+300"),
        (size_shown(0.012345), "0.0123"),
        (size_shown(1234.5), "1,234"),
        (size_shown(0.0), "0"),
        (size_shown(float("inf")), "unbounded"),
        (share_shown(0.00001), "less than 0.1 %"),
        (share_shown(1.0), "100 %"),
        (share_shown(0.99999), "more than 99.9 %"),
    ],
)
def test_numbers_are_short_and_do_not_mislead(text, expected):
    assert text == expected


def test_labels_stay_distinct_when_shortened():
    assert label_texts(np.array([250.0, 260.0])) == ["250", "260"]
    assert label_texts(np.array([1.00000001, 1.00000002])) == ["1.00000001", "1.00000002"]
    days = pd.to_datetime(["2024-01-01", "2024-01-02"]).to_numpy()
    assert label_texts(days) == ["2024-01-01", "2024-01-02"]


# ---- the command line ------------------------------------------------------------------


@pytest.fixture
def source(tmp_path, data):
    path = tmp_path / "in.csv"
    data.keys().assign(level=data.values).to_csv(path, index=False)
    return path


def run(*arguments):
    return runner.invoke(cli.app, [str(argument) for argument in arguments])


def test_complete_and_report_write_pages(source, tmp_path):
    outputs = (
        "-o",
        tmp_path / "out.csv",
        "--save",
        tmp_path / "m",
        "--report",
        tmp_path / "r.html",
    )
    outcome = run("complete", source, *outputs, "--method", "CPALS", "--rank", 2)
    assert outcome.exit_code == 0, outcome.stderr
    assert figures_of((tmp_path / "r.html").read_text())["quality"]
    again = tmp_path / "again.html"
    outcome = run("report", tmp_path / "m", "--data", source, "-o", again, "--no-check", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["output"] == str(again)
    figures = figures_of(again.read_text())
    assert figures["quality"] is None
    assert figures["overview"] is not None
    outcome = run("report", tmp_path / "m", "-o", tmp_path / "alone.html", "--quiet")
    assert (outcome.exit_code, outcome.output) == (0, "")
    assert figures_of((tmp_path / "alone.html").read_text())["overview"] is None


@pytest.mark.parametrize(
    ("name", "line"),
    [("r.txt", "a report is a web page"), ("no/r.html", "does not exist"), ("m.html", "name two")],
)
def test_a_page_that_cannot_be_written_is_refused_before_any_work(source, tmp_path, name, line):
    saved = ("--save", tmp_path / "m.html")
    outcome = run("complete", source, "-o", tmp_path / "o.csv", *saved, "--report", tmp_path / name)
    assert outcome.exit_code == 2
    assert line in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert not (tmp_path / "o.csv").exists()


def test_rows_that_were_folded_in_are_listed_apart(tmp_path):
    keys = [(f"s{i}", j) for i in range(6) for j in range(5)]
    model = vaecp.CPALS(rank=1, random_state=0).fit(
        keys, [(1 + i // 5) * (1 + i % 5) for i in range(30)]
    )
    assert folded_rows(model) == []
    grown = model.fold_in([("later", 0), ("later", 3)], [2.0, 8.0])
    ((mode, label, own, usual),) = folded_rows(grown)
    assert (mode, label) == (model.mode_names_[0], "later")
    assert float(own) > 0
    assert float(usual) > 0
    page = model_report(grown, tmp_path / "page.html").read_text()
    assert "Rows that were folded in" in page
    assert "Rows that were folded in" not in model_report(model, tmp_path / "p.html").read_text()


def test_a_report_checks_a_model_with_features_of_rows_by_a_copy_that_has_them(tmp_path):
    random = np.random.default_rng(0)
    films = pd.DataFrame({"film": range(30), "year": random.normal(size=30)})
    keys = pd.DataFrame(np.argwhere(np.ones((12, 25))), columns=["user", "film"])
    values = films["year"].to_numpy()[keys["film"]] + 0.1 * random.normal(size=300)
    model = vaecp.VAECP(effort="quick", random_state=0).fit(keys, values, {"film": films})
    data = vaecp.Observations.from_keys(keys, values, ["user", "film"])
    page = model_report(model, tmp_path / "page.html", data).read_text()
    assert "features of rows" in page
    assert "components above the noise" in page
