"""Model files whose parts contradict each other are refused before anything is computed."""

import dataclasses
import json

import numpy as np
import pytest
from fuzzing.model_files import SMALL, contents, save_all, write

import vaecp
from vaecp.errors import ModelFileError


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_all(tmp_path_factory.mktemp("models"))


@pytest.fixture
def lie(saved, tmp_path):
    """Return a file with changed contents, and a checksum that fits them."""

    def told(change, name="VAECP"):
        described, tensors = contents(saved[name])
        change(described, tensors)
        return write(tmp_path / "model.vaecp", described, tensors)

    return told


def refused(path, match):
    with pytest.raises(ModelFileError, match=match) as caught:
        vaecp.load(path)
    message = str(caught.value)
    assert "model.vaecp" in message
    assert "\n" not in message


@pytest.mark.parametrize("name", SMALL)
def test_every_kind_of_fitted_model_passes_its_own_checks(saved, name):
    model = vaecp.load(saved[name])
    model.fitted_.validate(model.shape_)
    assert np.isfinite(model.predict_at(np.array([[0, 0, 0], [-1, 2, -1]])).std).all()


def test_the_table_of_the_tests_has_neighbours_to_lie_about(saved):
    assert vaecp.load(saved["VAECP"]).fitted_.correction is not None


@pytest.mark.parametrize("name", SMALL)
def test_more_labels_than_rows_are_refused(lie, name):
    def change(described, tensors):
        tensors["labels.1"] = np.append(tensors["labels.1"], 1e6 + np.arange(5000))

    refused(lie(change, name), r"shape .* where the others need .*501\d")


def test_heads_shorter_than_the_hidden_layer_are_refused(lie):
    def change(described, tensors):
        heads = tensors["fitted.ensemble.network.heads"]
        tensors["fitted.ensemble.network.heads"] = heads[..., :1].copy()

    refused(lie(change, "VAECP.paper"), r"network\.heads has shape \(1, 2, 1\).*\(1, 2, 8\)")


@pytest.mark.parametrize("name", SMALL)
def test_every_array_of_numbers_must_be_finite(lie, saved, name):
    _, tensors = contents(saved[name])
    for array in [n for n, a in tensors.items() if a.dtype.kind == "f" and a.size]:
        if ".history." in array or array.startswith("fitted.features."):  # NaN where unknown
            continue

        def change(described, tensors, array=array):
            tensors[array] = np.full_like(tensors[array], np.nan)

        refused(lie(change, name), r"not finite|not all known|the limits at|not the values")


@pytest.mark.parametrize("name", SMALL)
def test_every_array_must_have_the_size_that_the_others_need(lie, saved, name):
    _, tensors = contents(saved[name])
    for array in [n for n, a in tensors.items() if a.ndim and a.size and n.startswith("fitted")]:
        if array == "fitted.support.indices":  # there may be any number of entries
            continue

        def change(described, tensors, array=array):
            longer = tensors[array]
            tensors[array] = np.concatenate([longer, longer[-1:]])

        refused(lie(change, name), "has shape|not one for each|not one line per row")


@pytest.mark.parametrize("name", SMALL)
def test_every_array_of_numbers_must_have_32_bits_or_more(lie, saved, name):
    _, tensors = contents(saved[name])
    for array in [n for n, a in tensors.items() if a.dtype.kind == "f" and n[:6] != "labels"]:

        def change(described, tensors, array=array):
            tensors[array] = np.nan_to_num(tensors[array]).clip(-1e4, 1e4).astype(np.float16)

        refused(lie(change, name), r"float16|has shape|holds|is not|are not|not the values")


def test_an_array_that_no_part_refers_to_is_refused(lie):
    refused(lie(lambda d, t: t.update(strange=np.zeros(3))), "an array 'strange' that none")


ATTRIBUTES = {
    "rows": (
        "CPALS with new rows",
        "attributes.folded_rows_.0",
        lambda a: a.astype(float),
        "folded_rows_",
    ),
    "no entries": (
        "InfTucker",
        "attributes.observed_rows_.1",
        lambda a: np.zeros_like(a),
        "a mode has no entries",
    ),
    "no stream": ("VAECP updated", "attributes.stream_values_", lambda a: a[:0], "stream_values_"),
    "short stream": ("VAECP updated", "attributes.stream_values_", lambda a: a[:9], "n_fitted_ is"),
    "features": (
        "VAECP that knows more",
        "fitted.features.0",
        lambda a: np.full_like(a, np.inf),
        "features holds infinite",
    ),
}


@pytest.mark.parametrize(("name", "array", "made", "match"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_what_a_model_learns_further_from_is_checked(lie, name, array, made, match):
    def change(described, tensors):
        tensors[array] = made(tensors[array])

    refused(lie(change, name), match)


@pytest.mark.parametrize("name", SMALL)
def test_every_field_must_have_its_type(lie, saved, name):
    for field in dataclasses.fields(vaecp.load(saved[name]).fitted_):

        def change(described, tensors, field=field):
            described["fitted"][field.name] = {"dict": {"strange": {"value": "text"}}}

        refused(lie(change, name), field.name)


def scaling(scale):
    fields = {"location": {"value": 0.0}, "scale": {"value": scale}}
    return {"scaling": {"record": fields, "of": "Standardiser"}}


LIES = {
    "negative scale": (scaling(-1.0), "scale holds -1"),
    "endless scale": (scaling(float("inf")), "not finite"),
    "text for a scale": (scaling("1"), "scale is text"),
    "mode names that repeat": ({"mode_names": ["a", "a", "b"]}, "mode_names"),
    "mode names that are numbers": ({"mode_names": [1, 2, 3]}, "mode_names"),
    "too few mode names": ({"mode_names": ["a", "b"]}, "2 mode_names and 3 labels"),
    "other feature names": ({"feature_names": ["a", "b", "c"]}, "feature_names are not its"),
    "a name that is no text": ({"value_name": ["x"]}, "value_name"),
    "a method that there is not": ({"estimator": "os.system"}, "no method 'os.system'"),
    "a method that is a function": ({"estimator": "VAECP.paper"}, "no method"),
    "a method that is no text": ({"estimator": ["VAECP"]}, "no method"),
    "a setting that there is not": ({"parameters": {"strange": 1}}, "strange"),
    "a setting of another type": ({"parameters": {"rank": "x"}}, "setting 'rank' of VAECP is 'x'"),
    "a setting that is an object": ({"parameters": {"devices": {"a": 1}}}, "setting 'devices'"),
    "a recipe of another type": ({"parameters": {"recipe": {"recipe": {"prior": 5}}}}, "'prior'"),
    "a recipe within a recipe": (
        {"parameters": {"recipe": {"recipe": {"prior": {"recipe": {}}}}}},
        "'prior'",
    ),
    "an attribute that is a method": ({"attributes": {"predict": {"value": 1}}}, "'predict' is no"),
    "a private attribute": ({"attributes": {"_x_": {"value": 1}}}, "'_x_' is no"),
    "a computed attribute": ({"attributes": {"factors_": {"value": 1}}}, "'factors_' is no"),
    "no observed rows": ({"attributes": {}}, "observed_rows_"),
    "a tensor that there is not": ({"attributes": {"x_": {"tensor": "no"}}}, "no"),
    "contents of no kind": ({"attributes": {"x_": {"code": "1"}}}, "'code' is no kind"),
    "nothing of a fit": ({"fitted": {}}, "missing"),
    "a list for a fit": ({"fitted": []}, "list"),
    "a section that is not known": ({"code": "print(1)"}, "does not consist of"),
}


@pytest.mark.parametrize(("changes", "match"), LIES.values(), ids=LIES)
def test_a_description_that_lies_is_refused(lie, changes, match):
    refused(lie(lambda described, tensors: described.update(changes)), match)


LABELS = {
    "repeated": (lambda t: t.update({"labels.1": np.zeros(10)}), "not distinct"),
    "of two axes": (lambda t: t.update({"labels.1": np.eye(10)}), "not a list"),
    "none": (lambda t: t.update({"labels.1": np.zeros(0)}), "not a list"),
    "text without order": (lambda t: t["labels.0.ends"].sort(), None),
    "text that ends early": (lambda t: t["labels.0.ends"].__isub__(1), "ends of texts"),
    "text that ends before 0": (lambda t: t["labels.0.ends"].__isub__(99), "ends of texts"),
    "text that is no text": (lambda t: t["labels.0"].fill(255), "decode"),
    "dates that are not known": (lambda t: t["labels.2"].fill(-(2**63)), "not all known"),
}


@pytest.mark.parametrize(("change", "match"), LABELS.values(), ids=LABELS)
def test_labels_that_are_none_are_refused(lie, change, match):
    path = lie(lambda described, tensors: change(tensors))
    if match is None:
        vaecp.load(path)
    else:
        refused(path, match)


@pytest.mark.parametrize("unit", ["", "generic", "fs", "x", 3, "3D"])
def test_a_unit_of_dates_that_is_unknown_is_refused(lie, unit):
    refused(lie(lambda d, t: d["labels"][2].update(unit=unit)), "does not describe labels")


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000])
def test_a_description_nested_without_end_is_refused(saved, tmp_path, deep):
    _, tensors = contents(saved["HOSVD"])
    refused(write(tmp_path / "model.vaecp", deep, tensors), "nested too deeply|Expecting")


def test_a_deep_value_is_refused(lie):
    def change(described, tensors):
        deep = {"value": 1}
        for _ in range(300):
            deep = {"tuple": [deep]}
        described["attributes"]["observed_rows_"] = deep

    refused(lie(change), "observed_rows_")


def test_a_description_of_many_megabytes_is_refused(saved, tmp_path):
    _, tensors = contents(saved["HOSVD"])
    text = json.dumps([[]] * 2_000_000)
    refused(write(tmp_path / "model.vaecp", text, tensors), "characters")


def test_coordinates_of_neighbours_beyond_the_tensor_are_refused(lie):
    for name in ("support", "correction.neighbourhood"):
        change = lambda d, t, name=name: t[f"fitted.{name}.indices"].fill(10**6)  # noqa: E731
        refused(lie(change), f"{name}.indices has coordinates")


def test_a_row_that_depends_on_the_one_after_the_last_is_refused(lie):
    def change(described, tensors):
        name = "fitted.ensemble.correlation.1"
        tensors[name] = np.full_like(tensors[name], 0.5)

    refused(lie(change), "correlation has a row after the last")


def test_coordinates_of_entries_beyond_the_tensor_are_refused(lie):
    change = lambda d, t: t["fitted.entries"].fill(-1)  # noqa: E731
    refused(lie(change, "InfTucker by entries"), "entries has coordinates")


def test_a_flipped_bit_anywhere_is_noticed(saved, tmp_path):
    content = bytearray(saved["CPALS"].read_bytes())
    for place in range(9, len(content), 97):
        content[place] ^= 4
        (tmp_path / "model.vaecp").write_bytes(content)
        refused(tmp_path / "model.vaecp", "damaged|another program|schema")
        content[place] ^= 4
