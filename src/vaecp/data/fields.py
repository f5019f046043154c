"""What the fields of a fitted model must be, checked before anything is computed from them.

A field's annotation says its type, a `Rule` the sizes of its axes and the range of its numbers.
Sizes have names, so that arrays are checked against each other as well as against the labels.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

Place = tuple[str, str, int | None]
"""How an array is called in errors, the name of its rule, and its mode, where it has one."""


@dataclass(frozen=True)
class Rule:
    """What an array, or a number, keeps to.

    Attributes
    ----------
    axes : the size of every axis: a number; "rows" (the labels of its mode, and one row for
        those not seen), "modes", "modes + 1"; or any other name, which is then one size in the
        whole record, or within a mode if it begins with "own". None takes any shape.
    least, most : the range of its numbers, ends included.
    kinds : NumPy's kinds of numbers.
    finite : whether NaN and infinities are refused.
    optional : whether the item of a dictionary may be absent.
    """

    axes: tuple[str | int, ...] | None = None
    least: float = -np.inf
    most: float = np.inf
    kinds: str = "f"
    finite: bool = True
    optional: bool = False


ARRAYS = tuple[np.ndarray, ...]
NUMBER = Rule((), kinds="iuf")
NOT_NEGATIVE = Rule((), least=0, kinds="iuf")


def check_fields(record: Any, shape: tuple[int, ...], rules: Mapping[str, Rule]) -> None:
    """Raise a ValueError that names the first field which breaks its type or its rule.

    A rule is called as its field; one of an inner record, or of an item of a dictionary, as the
    way to it with points, such as "decoder.bias". A rule of a whole dictionary holds for all its
    items. Fields without a rule must have their type, and finite numbers.
    """
    sizes = {"modes": len(shape), "modes + 1": len(shape) + 1}
    _check_record("", record, shape, sizes, rules)


def _check_record(
    prefix: str, record: Any, shape: tuple[int, ...], sizes: dict, rules: Mapping[str, Rule]
) -> None:
    hints = get_type_hints(type(record))
    for field in fields(record):
        name, value, hint = prefix + field.name, getattr(record, field.name), hints[field.name]
        if not has_type(value, hint):
            raise ValueError(f"{name} is {_described(value)}, not {_words(hint)}")
        if is_dataclass(value):
            _check_record(f"{name}.", value, shape, sizes, rules)
            continue
        if hint == ARRAYS and len(value) != len(shape):
            raise ValueError(f"{name} has {len(value)} arrays for {len(shape)} modes")
        if isinstance(value, dict):
            _check_keys(name, value, rules)
        for place, item in _items(name, value):
            rule = rules.get(place[1]) or rules.get(name) or Rule(kinds="iufb")
            _check(place, np.asarray(item), shape, sizes, rule)


def check_indices(name: str, indices: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise a ValueError unless (n, modes) coordinates lie within the tensor."""
    if len(indices) and (indices.min() < 0 or (indices >= np.array(shape)).any()):
        raise ValueError(f"{name} has coordinates outside of a tensor of {shape}")


def check_modes(name: str, modes: Sequence[int], n_modes: int) -> None:
    """Raise a ValueError unless these are distinct numbers of modes."""
    if len(set(modes)) < len(modes) or not set(modes) <= set(range(n_modes)):
        raise ValueError(f"{name} is {tuple(modes)}, but there are {n_modes} modes")


def has_type(value: Any, hint: Any) -> bool:
    """Whether a value has the type that an annotation says; unknown annotations take all.

    >>> has_type((1, 2), tuple[int, ...]), has_type(True, int), has_type(3, float | None)
    (True, False, True)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(has_type(value, each) for each in arguments)
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in arguments)
    if origin in (tuple, Sequence):
        return isinstance(value, tuple) and all(has_type(item, arguments[0]) for item in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(
            has_type(key, arguments[0]) and has_type(item, arguments[1])
            for key, item in value.items()
        )
    if hint in (int, float):
        numbers = (int, float) if hint is float else int
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, hint) if isinstance(hint, type) else True


def _items(name: str, value: Any) -> Iterator[tuple[Place, Any]]:
    """Give every array and number of a field, with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _items(f"{name}.{key}", item)
    elif isinstance(value, tuple):
        for mode, item in enumerate(value):
            yield (f"{name}[{mode}]", name, mode), item
    elif isinstance(value, (np.ndarray, int, float)):
        yield (name, name, None), value


def _check_keys(name: str, value: dict, rules: Mapping[str, Rule]) -> None:
    known = {key: rule for key, rule in rules.items() if key.startswith(f"{name}.")}
    found = {f"{name}.{key}" for key in value}
    if known and (strange := found - known.keys()):
        raise ValueError(f"{min(strange)} is unknown")
    if absent := {key for key, rule in known.items() if not rule.optional} - found:
        raise ValueError(f"{min(absent)} is missing")


def _check(
    place: Place, array: np.ndarray, shape: tuple[int, ...], sizes: dict, rule: Rule
) -> None:
    name = place[0]
    if array.dtype.kind not in rule.kinds:
        raise ValueError(f"{name} holds {array.dtype}, not {_words(rule.kinds)}")
    if array.dtype.kind == "f" and rule.finite and not np.isfinite(array).all():
        raise ValueError(f"{name} holds numbers that are not finite")
    if rule.axes is not None:
        axes = enumerate(rule.axes)
        wanted = tuple(_size(axis, place, shape, sizes, array, at) for at, axis in axes)
        if array.shape != wanted:
            raise ValueError(f"{name} has shape {array.shape}, where the others need {wanted}")
    if array.size and rule.finite and not rule.least <= array.min() <= array.max() <= rule.most:
        worst = array.min() if array.min() < rule.least else array.max()
        raise ValueError(f"{name} holds {worst}, beyond {rule.least:g} to {rule.most:g}")


def _size(axis: str | int, place: Place, shape: tuple, sizes: dict, array: np.ndarray, at: int):
    """Return the size that an axis must have; the first array with a named one decides."""
    mode = place[2]
    if isinstance(axis, int):
        return axis
    if axis == "rows":
        return shape[mode or 0] + 1
    key = (axis, mode) if axis.startswith("own") else axis
    found = array.shape[at] if at < array.ndim else 0
    return sizes.setdefault(key, max(found, 1))  # none is empty


def _described(value: Any) -> str:
    return "text" if isinstance(value, str) else f"a {type(value).__name__}"


def _words(wanted: Any) -> str:
    if isinstance(wanted, str):
        names = {"i": "integers", "u": "integers", "f": "floats", "b": "true or false"}
        return " or ".join(dict.fromkeys(names[kind] for kind in wanted))
    return getattr(wanted, "__name__", str(wanted)).replace("numpy.", "")
