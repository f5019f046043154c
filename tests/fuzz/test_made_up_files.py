"""Files that were never good: contents that contradict each other, chosen by Hypothesis."""

import pytest
from fuzzing import lies, made_up, model_files
from fuzzing.campaign import judge
from fuzzing.effort import cases
from fuzzing.kinds import OTHERWISE
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize("suffix", made_up.KINDS)
def test_a_made_up_data_file_is_read_or_refused(suffix, reader, tmp_path):
    path = tmp_path / f"made-up{suffix}"

    @cases(15)
    @given(data=st.data())
    def check(data):
        made_up.KINDS[suffix](data.draw, path)
        judge(reader, "data", path)

    check()


@pytest.mark.parametrize("task", OTHERWISE)
def test_a_made_up_table_is_read_with_options_or_refused(task, reader, tmp_path):
    path = tmp_path / "made-up.csv"

    @cases(15)
    @given(data=st.data())
    def check(data):
        made_up.text(data.draw, path)
        judge(reader, task, path)

    check()


@pytest.mark.parametrize("kind", model_files.SMALL)
def test_a_model_file_that_lies_is_used_or_refused(kind, models, loader, tmp_path):
    described, tensors = model_files.contents(models[kind])

    @cases(20)
    @given(data=st.data(), task=st.sampled_from(["model", "model", "grow"]))
    def check(data, task):
        lie = lies.told(data, described, tensors)
        judge(loader, task, model_files.write(tmp_path / "model.vaecp", *lie))

    check()
