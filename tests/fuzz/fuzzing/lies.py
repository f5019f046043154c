"""Lies about a saved model, whose checksum is right: what Hypothesis chooses from."""

import copy
from typing import Any

import numpy as np
from hypothesis import strategies as st

NUMBERS = (0.0, -1.0, 1e-300, 1e30, -1e30, 3e38, 1e300, np.nan, np.inf, -np.inf)
TYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint64", "bool")


def _scattered(array: np.ndarray, seed: int) -> np.ndarray:
    """Flip bits of the numbers."""
    draw = np.random.default_rng(seed)
    content = np.frombuffer(array.tobytes(), dtype=np.uint8).copy()
    if content.size:
        content[draw.integers(content.size, size=3)] ^= np.uint8(1 << int(draw.integers(8)))
    return content.view(array.dtype).reshape(array.shape)


def _cast(array: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def _filled(array: np.ndarray, number: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.full(array.shape, number).astype(array.dtype)


CHANGES = st.one_of(
    st.sampled_from(NUMBERS).map(lambda number: lambda a: _filled(a, number)),
    st.sampled_from(TYPES).map(lambda dtype: lambda a: _cast(a, dtype)),
    st.integers(0, 2**20).map(lambda seed: lambda a: _scattered(a, seed)),
    st.sampled_from(
        [
            lambda a: a.ravel(),
            lambda a: a.T,
            lambda a: a[None],
            lambda a: a[:0] if a.ndim else a,
            lambda a: a[:1] if a.ndim else a,
            lambda a: a[:-1] if a.ndim else a,
            lambda a: a[..., :-1] if a.ndim else a,
            lambda a: a[::-1] if a.ndim else a,
            lambda a: np.concatenate([a, a]) if a.ndim else a,
            lambda a: np.concatenate([a, a], axis=-1) if a.ndim else a,
            lambda a: -a if a.dtype.kind in "if" else a,
        ]
    ),
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["tensor", "tuple", "dict", "value", "labels.0", "VAECP", "HOSVD"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tensor", "tuple", "dict", "value", "kind", "unit", "x_"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=4,
)


def places(described: Any, path: tuple = ()) -> list[tuple]:
    """Return the way to every part of a description."""
    found = [path] if path else []
    items: Any = ()
    if isinstance(described, dict):
        items = described.items()
    elif isinstance(described, list):
        items = enumerate(described)
    for key, item in items:
        found += places(item, (*path, key))
    return found


def told(data: Any, described: dict, tensors: dict[str, np.ndarray]) -> tuple[dict, dict]:
    """Return a description and tensors with one to three lies."""
    described, tensors = copy.deepcopy(described), dict(tensors)
    for _ in range(data.draw(st.integers(1, 3))):
        if data.draw(st.booleans()):
            name = data.draw(st.sampled_from(sorted(tensors)))
            change = data.draw(CHANGES)
            tensors[name] = np.array(change(tensors[name]), order="C")
        else:
            *way, last = data.draw(st.sampled_from(places(described)))
            inner: Any = described
            for key in way:
                inner = inner[key]
            if data.draw(st.integers(0, 4)) == 0:
                del inner[last]
            else:
                inner[last] = data.draw(JSON)
    return described, tensors
