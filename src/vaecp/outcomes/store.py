"""Save and load any fitted model: one safetensors file, no code in it.

Arrays are stored as tensors, all else as JSON in the file's metadata, and a digest of both.
Loading builds the estimator from the registry of methods, so a file can never run anything, and
checks every part against the others before any of it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vaecp.data.fields import ARRAYS, has_type
from vaecp.data.records import PLAIN, Tensors, pack, pack_fields, record, unpack
from vaecp.data.standardising import Scaling
from vaecp.errors import MissingExtraError, ModelFileError
from vaecp.models.base import TensorEstimator
from vaecp.models.bounds import Bounds
from vaecp.models.fitted import Diagnostics
from vaecp.models.registry import methods
from vaecp.outcomes.stored_labels import pack_labels, unpack_labels
from vaecp.runtime.files import write_arrays

SCHEMA = 6
MAX_DESCRIPTION = 2**22
"""Characters of JSON; arrays and labels, which may be many, are tensors."""
SECTIONS = {
    "schema",
    "estimator",
    "parameters",
    "mode_names",
    "value_name",
    "feature_names",
    "scaling",
    "labels",
    "fitted",
    "diagnostics",
    "attributes",
}
ATTRIBUTE = re.compile(r"[a-z]\w*_")
DESCRIBED = {
    "n_features_in_",
    "feature_names_in_",
    "mode_names_",
    "value_name_",
    "labels_",
    "scaling_",
    "diagnostics_",
    "fitted_",
}
"""Attributes with a place of their own in the file; all others are plain results of the fit."""


def save(model: TensorEstimator, path: str | os.PathLike) -> Path:
    """Write a fitted model to one file; it appears whole or not at all."""
    check_is_fitted(model)
    tensors: Tensors = {}
    described = {
        "schema": SCHEMA,
        "estimator": type(model).__name__,
        "parameters": _parameters(model),
        "mode_names": list(model.mode_names_),
        "value_name": model.value_name_,
        "feature_names": [str(n) for n in getattr(model, "feature_names_in_", ())],
        "labels": [
            pack_labels(labels, f"labels.{mode}", tensors, name)
            for mode, (labels, name) in enumerate(
                zip(model.labels_, model.mode_names_, strict=True)
            )
        ],
        "scaling": pack(model.scaling_, "scaling", tensors),
        "fitted": pack_fields(model.fitted_, "fitted", tensors),
        "diagnostics": pack_fields(model.diagnostics_, "diagnostics", tensors),
        "attributes": {
            name: pack(value, f"attributes.{name}", tensors)
            for name, value in vars(model).items()
            if name.endswith("_") and name not in DESCRIBED
        },
    }
    text = json.dumps(described)
    return write_arrays(Path(path), tensors, {"vaecp": text, "sha256": _digest(text, tensors)})


def load(path: str | os.PathLike) -> TensorEstimator:
    """Read a model that `save` wrote; its predictions are equal to the bit.

    A file whose parts do not fit each other is refused with a `ModelFileError`.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"{path} does not exist: give the path of a saved model.")
    with _refusing(path, "is no vaecp model or is damaged", "give a file that vaecp.save wrote"):
        metadata, tensors = _read(path)
    if "vaecp" not in metadata:
        raise ModelFileError(
            f"{path} is a safetensors file of another program: give a file that vaecp.save wrote."
        )
    with _refusing(path, "is a damaged vaecp model", "save it again, or copy it anew"):
        described = _described(metadata["vaecp"])
        if described["schema"] != SCHEMA:
            raise ModelFileError(
                f"{path} has schema {described['schema']!r:.40}, but this version reads {SCHEMA}: "
                "save it again with this version of vaecp, or load it with the one that wrote it."
            )
        if metadata.get("sha256") != _digest(metadata["vaecp"], tensors):
            raise ValueError("its contents are not those that its checksum was made of")
        arrays = _Arrays(tensors)
        model = _built(described, arrays)
        arrays.validate()
        return model


class _Arrays(dict[str, np.ndarray]):
    """The arrays of a file, which remember which of them were asked for."""

    def __init__(self, tensors: Tensors) -> None:
        super().__init__(tensors)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> np.ndarray:
        self.asked.add(name)
        return super().__getitem__(name)

    def validate(self) -> None:
        """Refuse arrays that no part refers to, and floats that linear algebra does not take."""
        for name, array in self.items():
            if name not in self.asked:
                raise ValueError(f"it has an array {name!r:.60} that none of its parts is made of")
            short = array.dtype.kind == "f" and array.dtype.itemsize < 4
            if short and not name.startswith("labels."):
                raise ValueError(f"{name:.60} has numbers of type {array.dtype}")


@contextmanager
def _refusing(path: Path, what: str, remedy: str) -> Iterator[None]:
    """Turn whatever a file of wrong contents leads to into one line that names the file."""
    try:
        yield
    except (ModelFileError, MissingExtraError, OSError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ModelFileError(f"{path} {what} ({reason}): {remedy}.") from error


def _read(path: Path) -> tuple[dict[str, str], Tensors]:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata() or {}
        return metadata, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def _described(text: str) -> dict[str, Any]:
    if len(text) > MAX_DESCRIPTION:
        raise ValueError(f"its description has {len(text):,} characters")
    try:
        described = json.loads(text)
    except RecursionError:
        raise ValueError("its description is nested too deeply") from None
    if not isinstance(described, dict) or set(described) != SECTIONS:
        raise ValueError(f"its description does not consist of {', '.join(sorted(SECTIONS))}")
    return described


def _digest(text: str, tensors: Tensors) -> str:
    """Find damage on the way; whoever means harm can make a digest too."""
    digest = hashlib.sha256(text.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(np.ascontiguousarray(tensor).data)
    return digest.hexdigest()


def _built(described: dict[str, Any], tensors: Tensors) -> TensorEstimator:
    """Make the model, or raise a ValueError that says which part is wrong."""
    model = _unfitted(described["estimator"], described["parameters"])
    model.mode_names_ = _names("mode_names", described["mode_names"])
    n_modes = len(model.mode_names_)
    if n_modes < 2 or len(described["labels"]) != n_modes:
        raise ValueError(f"it has {n_modes} mode_names and {len(described['labels'])} labels")
    model.n_features_in_ = n_modes
    (model.value_name_,) = _names("value_name", [described["value_name"]])
    if names := _names("feature_names", described["feature_names"]):
        if names != model.mode_names_:
            raise ValueError("its feature_names are not its mode_names")
        model.feature_names_in_ = np.array(names, dtype=object)
    model.labels_ = tuple(
        unpack_labels(packed, tensors, name)
        for packed, name in zip(described["labels"], model.mode_names_, strict=True)
    )
    shape = tuple(map(len, model.labels_))
    model.scaling_ = unpack(described["scaling"], tensors, Scaling)
    if not isinstance(model.scaling_, Scaling):
        raise ValueError("its scaling is no record of one")
    model.scaling_.validate(shape)
    model.fitted_ = record(type(model).fitted_type, described["fitted"], tensors)
    model.fitted_.validate(shape)
    model.diagnostics_ = record(Diagnostics, described["diagnostics"], tensors)
    model.diagnostics_.validate()
    for name, packed in described["attributes"].items():
        if not ATTRIBUTE.fullmatch(name) or name in DESCRIBED or hasattr(type(model), name):
            raise ValueError(f"{name!r} is no attribute that a fit sets")
        setattr(model, name, unpack(packed, tensors))
    rows: Any = getattr(model, "observed_rows_", None)
    _check_rows("observed_rows_", rows, shape)
    if not all(observed.any() for observed in rows):
        raise ValueError("observed_rows_ says that a mode has no entries")
    further = vars(model)
    if "folded_rows_" in further:
        _check_rows("folded_rows_", further["folded_rows_"], shape)
    if "stream_values_" in further:
        _check_stream(further["stream_values_"], further.get("n_fitted_"))
    Bounds(*getattr(model, "bounds_", ())).validate()
    return model


def _unfitted(name: Any, parameters: dict[str, Any]) -> TensorEstimator:
    method = methods().get(name) if isinstance(name, str) else None
    estimator = method.load() if method else None
    if not isinstance(estimator, type):
        raise ValueError(f"there is no method {name!r:.60}")
    return _with_settings(estimator, parameters, getattr(estimator, "recipe_type", None))


def _with_settings(kind: Any, settings: dict[str, Any], recipe: Any = None) -> Any:
    """Build an estimator, or its recipe, from settings of the types that it is written for."""
    hints = get_type_hints(kind.__init__)
    given = {}
    for name, value in settings.items():
        if recipe is not None and isinstance(value, dict) and set(value) == {"recipe"}:
            given[name] = _with_settings(recipe, value["recipe"])
            continue
        given[name] = tuple(value) if isinstance(value, list) else value
        if not has_type(given[name], PLAIN) or not has_type(given[name], hints.get(name, Any)):
            raise ValueError(f"the setting {name!r:.60} of {kind.__name__} is {value!r:.60}")
    return kind(**given)


def _names(what: str, names: Any) -> tuple[str, ...]:
    if not has_type(tuple(names), tuple[str, ...]) or len(set(names)) < len(names):
        raise ValueError(f"{what} is {names!r:.100}, not one name each")
    return tuple(names)


def _check_rows(name: str, rows: Any, shape: tuple[int, ...]) -> None:
    kinds = [(a.dtype.kind, a.shape) for a in rows] if has_type(rows, ARRAYS) else []
    if kinds != [("b", (size,)) for size in shape]:
        raise ValueError(f"{name} is not true or false for each of the rows of {shape}")


def _check_stream(values: Any, n_fitted: Any) -> None:
    """Refuse entries to go on from that are none."""
    plain = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1
    if not plain or not np.isfinite(values).all() or len(values) < 2:
        raise ValueError("stream_values_ are not the values of entries")
    if not has_type(n_fitted, int) or not 0 < n_fitted <= len(values):
        raise ValueError(f"n_fitted_ is {n_fitted!r:.60} of {len(values)} entries")


def _parameters(model: Any) -> dict[str, Any]:
    """Constructor arguments as JSON; a random generator or a device object is not kept."""
    plain = {}
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, np.generic):
            value = value.item()
        value = tuple(value) if isinstance(value, list) else value
        if has_type(value, PLAIN):
            plain[name] = value
        elif isinstance(value, getattr(type(model), "recipe_type", ())):
            plain[name] = {"recipe": _parameters(value)}
    return plain
