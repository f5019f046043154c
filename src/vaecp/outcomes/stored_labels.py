"""Labels of a mode as tensors of a model file: numbers, dates, or text as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from vaecp.data.labels import index_of
from vaecp.errors import ModelFileError

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")


def pack_labels(
    labels: np.ndarray, name: str, tensors: dict[str, np.ndarray], mode_name: str
) -> dict[str, str]:
    """Describe labels in JSON, moving them into `tensors`."""
    if labels.dtype.kind in "iufb":
        tensors[name] = np.ascontiguousarray(labels)
        return {"kind": "number", "tensor": name}
    if labels.dtype.kind == "M":
        tensors[name] = labels.astype("datetime64[ns]").view(np.int64)
        return {"kind": "date", "tensor": name, "unit": np.datetime_data(labels.dtype)[0]}
    if all(isinstance(label, str) for label in labels):
        encoded = [label.encode("utf-8", "surrogatepass") for label in labels.tolist()]
        tensors[name] = np.array(bytearray(b"".join(encoded)), dtype=np.uint8)
        tensors[f"{name}.ends"] = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return {"kind": "text", "tensor": name}
    raise ModelFileError(
        f"mode {mode_name!r} has labels of type {type(labels[0]).__name__}, which a model file "
        "cannot hold: use numbers, texts or dates as labels."
    )


def unpack_labels(packed: dict, tensors: dict[str, np.ndarray], mode_name: str) -> np.ndarray:
    """Return one distinct label per row, or raise a ValueError that says what is wrong."""
    labels = _unpacked(packed, tensors)
    if labels.ndim != 1 or not len(labels):
        raise ValueError(f"the labels of mode {mode_name!r} are not a list")
    if pd.isna(labels).any() or (labels.dtype.kind == "f" and np.isinf(labels).any()):
        raise ValueError(f"the labels of mode {mode_name!r} are not all known")
    if not index_of(labels).is_unique:
        raise ValueError(f"the labels of mode {mode_name!r} are not distinct")
    return labels


def _unpacked(packed: dict[str, Any], tensors: dict[str, np.ndarray]) -> np.ndarray:
    stored = tensors[packed["tensor"]]
    if packed["kind"] == "number" and stored.dtype.kind in "iufb":
        return stored
    if packed["kind"] == "date" and packed["unit"] in UNITS and stored.dtype == np.int64:
        return stored.view("datetime64[ns]").astype(f"datetime64[{packed['unit']}]")
    if packed["kind"] == "text" and stored.dtype == np.uint8:
        return _texts(stored.tobytes(), tensors[f"{packed['tensor']}.ends"])
    raise ValueError(f"{packed!r:.100} does not describe labels of {stored.dtype}")


def _texts(content: bytes, ends: np.ndarray) -> np.ndarray:
    starts = np.concatenate([[0], ends[:-1]])
    if ends.dtype != np.int64 or ends.ndim != 1 or (ends < starts).any() or (starts < 0).any():
        raise ValueError("the ends of texts are not in order")
    if not len(ends) or ends[-1] != len(content):
        raise ValueError("the ends of texts do not reach the end of these")
    texts = np.empty(len(ends), dtype=object)
    for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        texts[row] = content[start:end].decode("utf-8", "surrogatepass")
    return texts
