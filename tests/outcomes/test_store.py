import numpy as np
import pandas as pd
import pytest
from fuzzing.model_files import contents, write
from safetensors.numpy import save_file
from sklearn.exceptions import NotFittedError

import vaecp
from vaecp.errors import ModelFileError


@pytest.fixture(scope="module")
def keys() -> pd.DataFrame:
    indices = np.argwhere(np.ones((5, 4, 6)))
    return pd.DataFrame(
        {
            "sample": np.array(["a", "b", "ü", "<d>", "e"])[indices[:, 0]],
            "wavelength": 250.5 + indices[:, 1],
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(indices[:, 2], unit="D"),
        }
    )


@pytest.fixture(scope="module")
def model(keys):
    values = np.random.default_rng(0).normal(size=len(keys))
    return vaecp.VAECP(rank=3, hidden=8, n_members=2, max_epochs=10, random_state=0).fit(
        keys, values
    )


@pytest.fixture
def saved(model, tmp_path):
    return vaecp.save(model, tmp_path / "model.vaecp")


def test_predictions_are_equal_to_the_bit_after_a_round_trip(model, saved, keys):
    loaded = vaecp.load(saved)
    for one, other in zip(
        model.predict(keys, return_std=True), loaded.predict(keys, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(
        model.sample(keys, 3, random_state=1), loaded.sample(keys, 3, random_state=1)
    )


def test_labels_names_settings_and_history_come_back(model, saved):
    loaded = vaecp.load(saved)
    assert loaded.mode_names_ == ("sample", "wavelength", "day")
    assert loaded.get_params() == model.get_params()
    for one, other in zip(model.labels_, loaded.labels_, strict=True):
        np.testing.assert_array_equal(one, other)
    pd.testing.assert_frame_equal(model.history_, loaded.history_)


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        vaecp.save(vaecp.VAECP(), tmp_path / "model.vaecp")
    assert not list(tmp_path.iterdir())


def test_labels_that_a_file_cannot_hold_are_refused_and_nothing_is_left(tmp_path):
    keys = [((1, 2), "a"), ((3, 4), "b"), ((1, 2), "b")]
    model = vaecp.VAECP(rank=3, hidden=8, n_members=2, max_epochs=10).fit(keys, [1.0, 2.0, 3.0])
    with pytest.raises(ModelFileError, match="labels of type tuple"):
        vaecp.save(model, tmp_path / "model.vaecp")
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"absent\.vaecp does not exist"):
        vaecp.load(tmp_path / "absent.vaecp")


@pytest.mark.parametrize("keep", [0, 5, 100, 0.5, 0.99])
def test_a_truncated_file_is_refused_by_name(saved, keep):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(keep * len(content)) if keep < 1 else keep])
    with pytest.raises(ModelFileError, match=r"model.vaecp is no vaecp model or is damaged"):
        vaecp.load(saved)


def test_a_foreign_file_is_refused_by_name(tmp_path):
    path = tmp_path / "other.safetensors"
    save_file({"weights": np.ones(3, dtype=np.float32)}, path)
    with pytest.raises(ModelFileError, match="safetensors file of another program"):
        vaecp.load(path)


def test_another_schema_is_refused_with_the_remedy(saved):
    content, tensors = contents(saved)
    write(saved, content | {"schema": 99}, tensors)
    with pytest.raises(ModelFileError, match=r"schema 99, but this version reads 6"):
        vaecp.load(saved)


def test_a_file_that_lacks_a_tensor_is_refused(saved):
    content, tensors = contents(saved)
    del tensors[next(name for name in tensors if name.startswith("fitted."))]
    write(saved, content, tensors)
    with pytest.raises(ModelFileError, match="damaged vaecp model"):
        vaecp.load(saved)


def test_a_text_that_no_encoding_has_is_a_label_like_others(tmp_path):
    """A lone surrogate, as file names with bytes of another encoding bring it."""
    keys = [(a, b) for a in ("\ud800", "b", "c") for b in range(4)]
    model = vaecp.CPALS(rank=1, random_state=0).fit(keys, np.arange(12.0) + 1)
    loaded = vaecp.load(vaecp.save(model, tmp_path / "m.vaecp"))
    np.testing.assert_array_equal(loaded.predict(keys), model.predict(keys))
    assert "\ud800" in loaded.labels_[0]


def test_files_of_the_same_fit_are_equal_byte_by_byte(tmp_path):
    model = vaecp.CPALS(rank=1, random_state=0).fit([(a, b) for a in "xyz" for b in "uv"], range(6))
    written = {vaecp.save(model, tmp_path / f"{n}.vaecp").read_bytes() for n in range(8)}
    assert len(written) == 1
