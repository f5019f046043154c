"""Records of arrays as JSON and tensors, and back; a file names no type that the code does not."""

from dataclasses import dataclass

import numpy as np
import pytest

from vaecp.data.records import pack, unpack


@dataclass(frozen=True, eq=False)
class Inner:
    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class Narrow(Inner):
    name: str


@dataclass(frozen=True, eq=False)
class Outer:
    inner: Inner | None
    sizes: tuple[float, ...]
    shares: dict


def test_records_come_back_with_the_types_that_their_fields_allow():
    tensors = {}
    given = Outer(Narrow(np.arange(3), "a"), (1.0, 2.5), {"x": np.ones(2)})
    packed = pack(given, "model", tensors)
    assert sorted(tensors) == ["model.inner.rows", "model.shares.x"]
    back = unpack(packed, tensors, Outer)
    assert type(back.inner) is Narrow
    assert (back.inner.name, back.sizes) == ("a", (1.0, 2.5))
    np.testing.assert_array_equal(back.inner.rows, np.arange(3))
    np.testing.assert_array_equal(back.shares["x"], np.ones(2))


@pytest.mark.parametrize(
    "packed",
    [
        {"record": {"rows": {"tensor": "t"}}, "of": "Other"},
        {"record": {}, "of": "object"},
        {"pickle": "os.system"},
        {"value": [1, 2]},
    ],
)
def test_what_the_code_does_not_allow_is_refused(packed):
    with pytest.raises(ValueError, match="is no"):
        unpack(packed, {"t": np.arange(2)}, Inner)
