"""`vaecp diagnose` on a file: table, pictures, verdict, concentrations, and what it refuses."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from vaecp.app.cli import app
from vaecp.data.observations import Observations
from vaecp.formats import write

pytest.importorskip("matplotlib", reason="pictures need matplotlib")
EXCITATION, EMISSION = np.arange(240, 300, 10), np.arange(250, 390, 10)
QUICK = ["--ranks", "1-3", "--starts", "3"]


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)), prog_name="vaecp")


@pytest.fixture(scope="module")
def known():
    return np.random.default_rng(1).random(size=(12, 2))


@pytest.fixture(scope="module")
def source(tmp_path_factory, known):
    """Two fluorophores in twelve samples, with the scatter of a cuvette."""
    random = np.random.default_rng(0)
    excitation = np.exp(-(((EXCITATION[:, None] - [255, 280]) / 15) ** 2))
    emission = np.exp(-(((EMISSION[:, None] - [310, 350]) / 25) ** 2))
    array = np.einsum("ir,jr,kr->ijk", known * [3.0, 5.0], excitation, emission)
    array += 0.005 * random.normal(size=array.shape)
    array += 20 * (np.abs(EMISSION - EXCITATION[:, None]) <= 10) * random.random(size=(12, 1, 1))
    observations = Observations.from_array(
        array,
        mode_names=["sample", "excitation", "emission"],
        labels=[[f"s{i:02}" for i in range(12)], EXCITATION, EMISSION],
        value_name="light",
    )
    path = tmp_path_factory.mktemp("diagnose") / "eem.csv"
    write(observations, path)
    return path


@pytest.fixture(scope="module")
def table(source, known):
    """The order of the samples is another one, and one concentration is asked for."""
    frame = pd.DataFrame(
        {"name": [f"s{i:02}" for i in range(12)], "a": known[:, 0], "b": known[:, 1]}
    )
    frame.loc[3, "a"] = np.nan
    path = source.parent / "known.csv"
    frame.iloc[::-1].to_csv(path, index=False)
    return path


def test_scatter_is_removed_and_two_components_are_found_with_their_concentrations(
    source, table, known, tmp_path
):
    folder, page = tmp_path / "out", tmp_path / "page.html"
    clean = ["--scatter", "rayleigh:1=10", "--below-diagonal", "missing"]
    outcome = run(
        "diagnose",
        source,
        *QUICK,
        *clean,
        "--concentrations",
        table,
        "-o",
        folder,
        "--report",
        page,
        "--json",
    )
    assert outcome.exit_code == 0, outcome.output
    account = json.loads(outcome.stdout)
    assert account["components"] == account["shown"] == 2
    assert account["verdict"].startswith("Two components: they explain")
    assert [row["rank"] for row in account["table"]] == [1, 2, 3]
    assert all(merit["rmsecv_percent"] < 3 for merit in account["merits"])
    assert {path.name for path in folder.iterdir()} == {
        *(f"{name}.csv" for name in ("components", "merits", "concentrations")),
        *(
            f"{name}.png"
            for name in (
                "components",
                "loadings",
                "influence",
                "residuals",
                "landscapes",
                "concentrations",
            )
        ),
    }
    samples = pd.read_csv(folder / "concentrations.csv").query("analyte == 'a' and sample == 's03'")
    np.testing.assert_allclose(samples["predicted"], known[3, 0], rtol=0.05)
    assert "Two components: they explain" in page.read_text()


def test_people_see_a_table_and_the_verdict(source, tmp_path):
    outcome = run("diagnose", source, "--scatter", "rayleigh:1=10", *QUICK, "-o", tmp_path)
    assert outcome.exit_code == 0, outcome.output
    assert "Two components: they explain" in outcome.stdout
    assert "halves of sample" in outcome.stdout
    assert f"Written: {tmp_path / 'components.csv'}" in outcome.stdout


def test_a_number_of_components_can_be_asked_for_and_loadings_kept_positive(source, tmp_path):
    words = ["--ranks", "1", "--components", "2", "--non-negative", "--starts", "1", "--json"]
    outcome = run("diagnose", source, "--scatter", "rayleigh:1=10", *words, "-o", tmp_path)
    assert outcome.exit_code == 0, outcome.output
    account = json.loads(outcome.stdout)
    assert account["shown"] == 2
    assert [row["rank"] for row in account["table"]] == [1, 2]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--ranks", "0-2"], "--ranks is '0-2': give integers from 1, such as 5,10,20 or 1-8"),
        (["--ranks", "4-2"], "--ranks is '4-2'"),
        (["--scatter", "rain=3"], "the band of scatter 'rain=3' is not understood"),
        (["--split", "time"], "there is no mode 'time': use 'sample'"),
        (["--report", "page.txt"], "a report is a web page"),
        (["-o", "{source}"], "is a file, but a diagnosis is a folder"),
        (["--concentrations", "{folder}/none.csv"], "none.csv: no such file"),
        (["--concentrations", "{source}"], "the concentrations have 1008 rows for 12 samples"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(source, words, line, tmp_path):
    words = [word.format(source=source, folder=tmp_path) for word in words]
    outcome = run("diagnose", source, *words)
    assert outcome.exit_code == 2, outcome.output
    assert line in " ".join(outcome.stderr.split())
    assert len(outcome.stderr.strip().splitlines()) == 1


def test_scatter_is_removed_wherever_a_file_is_read(source, tmp_path):
    filled = tmp_path / "filled.csv"
    outcome = run(
        "complete",
        source,
        "-o",
        filled,
        "--method",
        "CPALS",
        "--rank",
        "2",
        "--scatter",
        "rayleigh:1=10",
        "--json",
    )
    assert outcome.exit_code == 0, outcome.output
    n_scattered = int((np.abs(EMISSION - EXCITATION[:, None]) <= 10).sum())
    assert json.loads(outcome.stdout)["gaps_filled"] == 12 * n_scattered
