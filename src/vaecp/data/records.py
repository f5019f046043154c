"""Records of arrays and plain values <-> JSON and tensors; a file can never name a type by itself."""

from __future__ import annotations

import dataclasses
from typing import Any, cast, get_args, get_type_hints

import numpy as np

from vaecp.data.fields import has_type

Tensors = dict[str, np.ndarray]
PLAIN = bool | float | str | tuple[float, ...] | None


def pack_fields(record: Any, name: str, tensors: Tensors) -> dict[str, Any]:
    """Describe the fields of a record in JSON, moving its arrays into `tensors`."""
    return {
        field.name: pack(getattr(record, field.name), f"{name}.{field.name}", tensors)
        for field in dataclasses.fields(record)
    }


def record(kind: type, fields: dict[str, dict], tensors: Tensors) -> Any:
    """Make a record of a type that the code names, never the file."""
    hints = get_type_hints(kind)
    return kind(**{n: unpack(packed, tensors, hints[n]) for n, packed in fields.items()})


def pack(value: Any, name: str, tensors: Tensors) -> Any:
    """Describe a field in JSON, moving its arrays into `tensors`."""
    if isinstance(value, np.ndarray):
        tensors[name] = np.asarray(value, order="C")
        return {"tensor": name}
    if isinstance(value, tuple):
        return {"tuple": [pack(v, f"{name}.{i}", tensors) for i, v in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": {key: pack(v, f"{name}.{key}", tensors) for key, v in value.items()}}
    if dataclasses.is_dataclass(value):
        return {"record": pack_fields(value, name, tensors), "of": type(value).__name__}
    if isinstance(value, np.generic):
        value = value.item()
    return {"value": value}


def unpack(packed: dict, tensors: Tensors, hint: Any = None) -> Any:
    """Return what `pack` described, with records of the types that the hint allows."""
    if set(packed) == {"record", "of"}:
        return record(_type_named(packed["of"], hint), packed["record"], tensors)
    ((kind, content),) = packed.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "tuple":
        return tuple(unpack(item, tensors, hint) for item in content)
    if kind == "dict":
        return {key: unpack(item, tensors) for key, item in content.items()}
    if kind == "value" and has_type(content, PLAIN):
        return content
    raise ValueError(f"{kind!r:.60} is no kind of contents")


def _type_named(name: str, hint: Any) -> type:
    """Return the record type of this name among those that the code allows here."""
    allowed = [c for c in (hint, *get_args(hint)) if dataclasses.is_dataclass(c)]
    while allowed:
        kind = cast(type, allowed.pop())
        if kind.__name__ == name:
            return kind
        allowed += kind.__subclasses__()
    raise ValueError(f"{name!r:.60} is no record that belongs here")
