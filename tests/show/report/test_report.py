"""The page about a fitted model: what it says, what it leaves out, and what it must not run."""

from __future__ import annotations

import html
import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from command_line import run
from quick_models import each_method
from report_pages import figures_of, named, tensor, unpacked

import vaecp
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.outcomes.holdout import check_on_held_out
from vaecp.show.report import model_report
from vaecp.show.report.page import json_for_script

pytest.importorskip("plotly")
pytest.importorskip("jinja2")
# Fits are stopped early here: how good they are is not the question.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


EVIL = "</script><script>alert(1)</script>"


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


def test_too_few_entries_are_not_checked(model, tmp_path):
    few = named(tensor()).take(np.arange(12))
    with pytest.raises(ObservationError, match="12 observed entries are too few"):
        check_on_held_out(model, few)
    page = model_report(model, tmp_path / "r.html", few).read_text()
    assert "No entries were hidden" in page


def test_the_code_to_repeat_reads_the_file_as_it_was_read(source, tmp_path):
    outputs = ("-o", tmp_path / "out.csv", "--report", tmp_path / "r.html", "--no-check")
    options = ("--method", "CPALS", "--rank", 2, "--missing", "-999", "--encoding", "utf-8")
    assert run("complete", source, *outputs, *options).exit_code == 0
    page = html.unescape((tmp_path / "r.html").read_text())
    code = f"observations = vaecp.read({str(source)!r}, missing=['-999'], encoding='utf-8')"
    assert code in page


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


@pytest.fixture
def source(tmp_path, data):
    path = tmp_path / "in.csv"
    data.keys().assign(level=data.values).to_csv(path, index=False)
    return path


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
