"""Labels of a mode in a model file: they come back as they were, or the file is damaged."""

import numpy as np
import pytest

from vaecp.errors import ModelFileError
from vaecp.outcomes.stored_labels import pack_labels, unpack_labels

TEXTS = np.array(["a", "", "Zürich", "a\x00b"], dtype=object)
DAYS = np.array(["2024-02-29", "1969-12-31"], dtype="datetime64[D]")


@pytest.mark.parametrize("labels", [TEXTS, DAYS, np.arange(3), np.array([0.5, -0.0, 1e300])])
def test_labels_come_back_with_their_type(labels):
    tensors = {}
    back = unpack_labels(pack_labels(labels, "labels", tensors, "day"), tensors, "day")
    np.testing.assert_array_equal(back, labels)
    assert back.dtype == labels.dtype


def test_labels_of_another_type_are_refused_with_the_mode():
    labels = np.array([(1, 2), (3, 4)], dtype=[("a", int), ("b", int)])
    with pytest.raises(ModelFileError, match="mode 'day' has labels of type void"):
        pack_labels(labels, "labels", {}, "day")


@pytest.mark.parametrize(
    ("ends", "line"),
    [
        ([1, 0, 3], "the ends of texts are not in order"),
        ([1, 2, 2], "the ends of texts"),
        ([1, 2, 4], "the ends of texts"),
        ([1, 1, 3], None),
    ],
)
def test_ends_of_texts_that_do_not_fit_the_text_are_refused(ends, line):
    tensors = {"t": np.frombuffer(b"abc", np.uint8), "t.ends": np.array(ends, dtype=np.int64)}
    packed = {"kind": "text", "tensor": "t"}
    if line is None:
        assert unpack_labels(packed, tensors, "day").tolist() == ["a", "", "bc"]
        return
    with pytest.raises(ValueError, match=line):
        unpack_labels(packed, tensors, "day")


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        (np.array([1.0, np.nan]), "not all known"),
        (np.array([1.0, np.inf]), "not all known"),
        (np.array([1, 1]), "not distinct"),
        (np.array([[1, 2]]), "not a list"),
        (np.array([], dtype=int), "not a list"),
    ],
)
def test_numbers_that_cannot_be_labels_are_refused(labels, line):
    with pytest.raises(ValueError, match=f"labels of mode 'day' are {line}"):
        unpack_labels({"kind": "number", "tensor": "t"}, {"t": labels}, "day")
