"""Save and load any fitted model: one safetensors file, no code in it.

Arrays are stored as tensors, all else as JSON in the file's metadata. Loading builds the
estimator from a fixed list of classes, so a file can never run anything.
"""

from __future__ import annotations

import dataclasses
import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vaecp.errors import ModelFileError
from vaecp.files import whole_file
from vaecp.models.base import TensorEstimator
from vaecp.observations import Standardiser

SCHEMA = 2
ESTIMATORS = {
    "VAECP": "vaecp.models.vaecp",
    "CPALS": "vaecp.models.cp",
    "NCP": "vaecp.models.cp",
    "HOSVD": "vaecp.models.tucker",
    "TuckerALS": "vaecp.models.tucker",
    "FBCP": "vaecp.models.fbcp",
    "InfTucker": "vaecp.models.inftucker",
}

DESCRIBED = {
    "n_features_in_",
    "feature_names_in_",
    "mode_names_",
    "value_name_",
    "labels_",
    "standardiser_",
    "fitted_",
}
"""Attributes with a place of their own in the file; all others are how the fit went."""


def save(model: TensorEstimator, path: str | os.PathLike) -> Path:
    """Write a fitted model to one file; it appears whole or not at all."""
    from safetensors.numpy import save_file

    check_is_fitted(model)
    path = Path(path)
    tensors: dict[str, np.ndarray] = {}
    described = {
        "schema": SCHEMA,
        "estimator": type(model).__name__,
        "parameters": _parameters(model),
        "mode_names": list(model.mode_names_),
        "value_name": model.value_name_,
        "feature_names": [str(n) for n in getattr(model, "feature_names_in_", ())],
        "standardiser": dataclasses.asdict(model.standardiser_),
        "labels": [
            _pack_labels(labels, f"labels.{mode}", tensors, name)
            for mode, (labels, name) in enumerate(
                zip(model.labels_, model.mode_names_, strict=True)
            )
        ],
        "fitted": {
            field.name: _pack(getattr(model.fitted_, field.name), f"fitted.{field.name}", tensors)
            for field in dataclasses.fields(model.fitted_)
        },
        "attributes": {
            name: _pack(value, f"attributes.{name}", tensors)
            for name, value in vars(model).items()
            if name.endswith("_") and name not in DESCRIBED
        },
    }
    with whole_file(path) as temporary:
        save_file(tensors, temporary, metadata={"vaecp": json.dumps(described)})
    return path


def load(path: str | os.PathLike) -> TensorEstimator:
    """Read a model that `save` wrote; its predictions are equal to the bit."""
    path = Path(path)
    described, tensors = _read(path)
    try:
        estimator = getattr(
            import_module(ESTIMATORS[described["estimator"]]), described["estimator"]
        )
        parameters = described["parameters"].items()
        model = estimator(**{k: tuple(v) if isinstance(v, list) else v for k, v in parameters})
        model.mode_names_ = tuple(described["mode_names"])
        model.n_features_in_ = len(model.mode_names_)
        model.value_name_ = described["value_name"]
        if described["feature_names"]:
            model.feature_names_in_ = np.array(described["feature_names"], dtype=object)
        model.standardiser_ = Standardiser(**described["standardiser"])
        model.labels_ = tuple(_unpack_labels(packed, tensors) for packed in described["labels"])
        fields = {name: _unpack(packed, tensors) for name, packed in described["fitted"].items()}
        model.fitted_ = estimator.fitted_type(**fields)
        for name, packed in described["attributes"].items():
            setattr(model, name, _unpack(packed, tensors))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{path} is a damaged vaecp model ({type(error).__name__}: {error}): save it again."
        ) from None
    return model


def _read(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise ModelFileError(f"{path} does not exist: give the path of a saved model.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ModelFileError(
            f"{path} is no vaecp model or is damaged ({error}): give a file that vaecp.save wrote."
        ) from None
    if "vaecp" not in metadata:
        raise ModelFileError(
            f"{path} is a safetensors file of another program: give a file that vaecp.save wrote."
        )
    try:
        described = json.loads(metadata["vaecp"])
        schema = described["schema"]
    except (ValueError, KeyError, TypeError):
        raise ModelFileError(f"{path} is a damaged vaecp model: save it again.") from None
    if schema != SCHEMA:
        raise ModelFileError(
            f"{path} has schema {schema}, but this version reads {SCHEMA}: save it again with this "
            "version of vaecp, or load it with the one that wrote it."
        )
    return described, tensors


def _parameters(model: TensorEstimator) -> dict[str, Any]:
    """Constructor arguments as JSON; a random generator or a device object is not kept."""
    plain = {}
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float, str)):
            plain[name] = value
        elif isinstance(value, (tuple, list)) and all(isinstance(v, (int, float)) for v in value):
            plain[name] = list(value)
    return plain


def _pack(value: Any, name: str, tensors: dict[str, np.ndarray]) -> Any:
    """Describe a field in JSON, moving its arrays into `tensors`."""
    if isinstance(value, np.ndarray):
        tensors[name] = np.ascontiguousarray(value)
        return {"tensor": name}
    if isinstance(value, tuple):
        return {"tuple": [_pack(v, f"{name}.{i}", tensors) for i, v in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": {key: _pack(v, f"{name}.{key}", tensors) for key, v in value.items()}}
    if isinstance(value, np.generic):
        value = value.item()
    return {"value": value}


def _unpack(packed: dict, tensors: dict[str, np.ndarray]) -> Any:
    ((kind, content),) = packed.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "tuple":
        return tuple(_unpack(item, tensors) for item in content)
    if kind == "dict":
        return {key: _unpack(item, tensors) for key, item in content.items()}
    return content


def _pack_labels(labels: np.ndarray, name: str, tensors: dict, mode_name: str) -> dict:
    """Numbers and dates are tensors; texts are JSON in a tensor of bytes."""
    if labels.dtype.kind in "iufb":
        tensors[name] = np.ascontiguousarray(labels)
        return {"kind": "number", "tensor": name}
    if labels.dtype.kind == "M":
        tensors[name] = labels.astype("datetime64[ns]").view(np.int64)
        return {"kind": "date", "tensor": name, "unit": np.datetime_data(labels.dtype)[0]}
    if all(isinstance(label, str) for label in labels):
        text = json.dumps([str(label) for label in labels])
        tensors[name] = np.frombuffer(text.encode(), dtype=np.uint8)
        return {"kind": "text", "tensor": name}
    raise ModelFileError(
        f"mode {mode_name!r} has labels of type {type(labels[0]).__name__}, which a model file "
        "cannot hold: use numbers, texts or dates as labels."
    )


def _unpack_labels(packed: dict, tensors: dict[str, np.ndarray]) -> np.ndarray:
    stored = tensors[packed["tensor"]]
    if packed["kind"] == "date":
        return stored.view("datetime64[ns]").astype(f"datetime64[{packed['unit']}]")
    if packed["kind"] == "text":
        return np.array(json.loads(stored.tobytes().decode()), dtype=object)
    return stored
