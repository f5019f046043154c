"""Files that were never good: contents that contradict each other, chosen by Hypothesis."""

import pytest
from fuzzing import data_files, lies, made_up, model_files
from fuzzing.campaign import judge
from fuzzing.children import Child
from fuzzing.effort import cases
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    seeds = data_files.save_all(tmp_path_factory.mktemp("data"))
    child = Child([("data", path) for path in seeds.values()])
    yield child
    child.close()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return model_files.save_all(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def loader(models):
    child = Child([("model", path) for path in models.values()])
    yield child
    child.close()


@pytest.mark.parametrize("suffix", made_up.KINDS)
def test_a_made_up_data_file_is_read_or_refused(suffix, reader, tmp_path):
    path = tmp_path / f"made-up{suffix}"

    @cases(15)
    @given(data=st.data())
    def check(data):
        made_up.KINDS[suffix](data.draw, path)
        judge(reader, "data", path)

    check()


@pytest.mark.parametrize("kind", model_files.SMALL)
def test_a_model_file_that_lies_is_used_or_refused(kind, models, loader, tmp_path):
    described, tensors = model_files.contents(models[kind])

    @cases(20)
    @given(data=st.data())
    def check(data):
        lie = lies.told(data, described, tensors)
        judge(loader, "model", model_files.write(tmp_path / "model.vaecp", *lie))

    check()
