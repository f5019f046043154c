"""`vaecp predict --given`: what was measured of new labels counts."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import run

import vaecp


@pytest.fixture
def folder(tmp_path):
    """A model of price = size x weight, and queries about a size that it does not know."""
    sizes, weights = np.arange(1, 9), np.arange(2.0, 9.0)
    table = pd.DataFrame(
        [(f"s{size}", weight, size * weight) for size in sizes for weight in weights],
        columns=["size", "weight", "price"],
    )
    observations = vaecp.Observations.from_table(table, ["size", "weight"], "price")
    model = vaecp.CPALS(rank=1, random_state=0).fit_tensor(observations)
    vaecp.save(model, tmp_path / "m.vaecp")
    (tmp_path / "q.csv").write_text("size,weight\nnew,3\nnew,8\n")
    return tmp_path


def test_given_entries_are_folded_in_before_the_queries_are_answered(folder):
    (folder / "g.csv").write_text("price,weight,size\n10,2,new\n,5,new\n20,4,new\n")
    answers = folder / "a.csv"
    words = ("predict", folder / "m.vaecp", folder / "q.csv", "-o", answers)
    outcome = run(*words, "--given", folder / "g.csv", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    np.testing.assert_allclose(pd.read_csv(answers)["mean"], [15, 40], rtol=0.02)
    printed = json.loads(outcome.stdout)
    assert (printed["rows_folded_in"], printed["with_unseen_labels"]) == (1, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size,price\nnew,3\n", "has no column 'weight': it has"),
        ("size,weight\nnew,3\n", "has no column 'price': it has"),
        ("size,weight,price\n", "has a header but no rows"),
        ("size,weight,price\nnew,3,dear\n", "column 'price' has 'dear' in line 2"),
    ],
)
def test_given_entries_that_cannot_be_read_are_named_in_one_line(folder, text, message):
    (folder / "g.csv").write_text(text)
    words = ("predict", folder / "m.vaecp", folder / "q.csv", "-o", folder / "a.csv")
    outcome = run(*words, "--given", folder / "g.csv")
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert len(outcome.stderr.strip().splitlines()) == 1
    assert not (folder / "a.csv").exists()


def test_update_writes_a_model_that_learned_from_further_entries(folder):
    keys = [(f"s{size}", float(weight)) for size in range(1, 9) for weight in range(2, 9)]
    values = [0.1 * float(key[0][1:]) * key[1] for key in keys]
    table = pd.DataFrame(keys, columns=["size", "weight"])
    model = vaecp.VAECP(rank=1, effort="quick", n_members=1, random_state=0).fit(table, values)
    vaecp.save(model, folder / "v.vaecp")
    (folder / "more.csv").write_text(
        "size,weight,value\nnew,2,1.6\nnew,4,3.2\nnew,7,5.6\ns1,2,0.2\n"
    )
    outcome = run("update", folder / "v.vaecp", folder / "more.csv", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["new_rows"] == 1
    updated = vaecp.load(folder / "v.vaecp")
    assert "new" in updated.labels_[0]
    asked = pd.DataFrame({"size": ["new"], "weight": [5.0]})
    assert abs(updated.predict(asked)[0] - 4) < 0.5 * abs(model.predict(asked)[0] - 4)


def test_update_leaves_the_model_alone_where_another_file_is_named(folder):
    before = (folder / "m.vaecp").read_bytes()
    (folder / "more.csv").write_text("size,weight,price\nnew,2,10\n")
    words = ("update", folder / "m.vaecp", folder / "more.csv", "-o", folder / "n.vaecp")
    outcome = run(*words)
    assert outcome.exit_code == 2
    assert "is a CPALS model, which is not updated: use VAECP" in outcome.stderr
    assert (folder / "m.vaecp").read_bytes() == before
    assert not (folder / "n.vaecp").exists()


def dated(folder):
    """A model of days x stations, quick to fit."""
    days = [f"{day:02}.01.2024" for day in range(1, 9)]
    lines = [f"{s},{d},{n * (m + 1)}" for n, s in enumerate("abcd", 1) for m, d in enumerate(days)]
    (folder / "d.csv").write_text("station,day,flow\n" + "\n".join(lines) + "\n")
    words = ("fit", folder / "d.csv", "-o", folder / "d.vaecp", "--quiet")
    assert run(*words, "--rank", "1", "--effort", "quick").exit_code == 0
    return folder / "d.vaecp"


def test_a_date_format_that_queries_do_not_have_is_refused(folder):
    (folder / "q.csv").write_text("station,day\na,03.01.2024\n")
    words = ("predict", dated(folder), folder / "q.csv", "-o", folder / "a.csv")
    outcome = run(*words, "--date-format", "%m/%d/%Y")
    assert outcome.exit_code == 2
    assert "q.csv: column 'day' has '03.01.2024', which does not have the format" in outcome.stderr
    (folder / "q.csv").write_text("station,day\na,03.01.2024\nb,soon\n")
    outcome = run(*words)
    assert outcome.exit_code == 0, outcome.stderr
    assert "note: 'day' has 'soon' in line 3, which the model does not know" in outcome.stdout
    (folder / "q.csv").write_text("station,day\na,soon\nx,late\nb,soon\ny,03.01.2024\n")
    outcome = run(*words)
    assert "nor does it know others (labels: 2 of 'station', 2 of 'day')" in outcome.stdout


def test_limits_and_codes_for_missing_in_further_entries_are_not_dropped_in_silence(folder):
    model = dated(folder)
    (folder / "q.csv").write_text("station,day\nnew,03.01.2024\n")
    (folder / "g.csv").write_text(
        "station,day,flow\nnew,01.01.2024,<0.5\nnew,02.01.2024,4\nnew,05.01.2024,-999\n"
    )
    for words in (
        ("predict", model, folder / "q.csv", "-o", folder / "a.csv", "--given", folder / "g.csv"),
        ("update", model, folder / "g.csv", "-o", folder / "n.vaecp"),
    ):
        outcome = run(*words, "--missing", "-999", "--json")
        assert outcome.exit_code == 0, outcome.stderr
        printed = json.loads(outcome.stdout)
        assert any("1 value is known only by a limit, and left out" in n for n in printed["notes"])
        assert not any("VAECP learns from limits" in note for note in printed["notes"])
        assert printed.get("entries", 1) == 1


def test_features_of_a_mode_are_one_table(tmp_path):
    (tmp_path / "v.csv").write_text("shop,day,visits\na,1,2\na,2,3\nb,1,4\n")
    (tmp_path / "f.csv").write_text("shop,size\na,1\nb,2\n")
    twice = ("--features", f"shop={tmp_path / 'f.csv'}") * 2
    outcome = run("complete", tmp_path / "v.csv", "-o", tmp_path / "o.csv", *twice)
    assert outcome.exit_code == 2
    assert "--features names 'shop' twice: put its columns into one table" in outcome.stderr


@pytest.fixture
def shops(tmp_path):
    """Shops at stations have 20 visitors more; of "centre" nothing else is known."""
    random = np.random.default_rng(0)
    place = {f"s{number}": ("station", "street")[number % 2] for number in range(14)}
    with (tmp_path / "visits.csv").open("w") as file:
        file.write("shop,day,visitors\n")
        for shop, where in place.items():
            for day in range(8):
                level = 40 if where == "station" else 20
                file.write(f"{shop},{day},{level + day + random.normal():.2f}\n")
    listed = {**place, "centre": "station", "mill": "street"}
    lines = [f"{shop},{where},{shop}" for shop, where in listed.items()]
    (tmp_path / "shops.csv").write_text("name,place,sign\n" + "\n".join([*lines, "lost,,"]) + "\n")
    (tmp_path / "q.csv").write_text("shop,day\ncentre,3\nmill,3\n")
    return tmp_path


def test_labels_without_entries_are_predicted_from_a_table_of_features(shops):
    fit = run(
        *("fit", shops / "visits.csv", "-o", shops / "m.vaecp", "--json"),
        *("--features", f"shop={shops / 'shops.csv'}"),
    )
    assert fit.exit_code == 0, fit.stderr
    (note,) = (each for each in json.loads(fit.stdout)["notes"] if "features of shop" in each)
    assert "3 more labels have features and no entries" in note
    assert "all are equal: sign" in note
    asked = run("predict", shops / "m.vaecp", shops / "q.csv", "-o", shops / "a.csv", "--json")
    assert json.loads(asked.stdout)["with_unseen_labels"] == 0
    np.testing.assert_allclose(pd.read_csv(shops / "a.csv")["mean"], [43, 23], atol=3)


def test_complete_fills_its_own_labels_and_counts_features_of_others(shops):
    words = ("complete", shops / "visits.csv", "-o", shops / "f.csv", "--json")
    outcome = run(*words, "--features", f"shop={shops / 'shops.csv'}")
    assert outcome.exit_code == 0, outcome.stderr
    assert "features of 3 labels that the data lack are ignored" in outcome.stdout
    assert len(pd.read_csv(shops / "f.csv")) == 14 * 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--features", "shop"), "name a mode and a table, such as film=films.csv"),
        (("--features", "town=shops.csv"), "mode 'town', which does not exist: use 'shop', 'day'"),
        (("--features", "shop=none.csv"), "none.csv: no such file"),
        (("--features", "shop=shops.csv", "--method", "CPALS"), "CPALS does not use features"),
    ],
)
def test_features_that_cannot_be_used_are_named_in_one_line(shops, monkeypatch, words, message):
    monkeypatch.chdir(shops)
    outcome = run("fit", "visits.csv", "-o", "m.vaecp", *words)
    assert outcome.exit_code == 2
    assert message in " ".join(outcome.stderr.replace("│", " ").split())
