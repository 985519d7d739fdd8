"""Frozen dataclasses as plain values, such as JSON holds, and back."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from sasayaki.errors import OptionError, OutputError

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Dicts, lists, strings, booleans and numbers; what is not finite becomes None.

    Fields of dataclasses that are arrays or objects (`is_array`, `is_object` in their metadata) are left out.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hidden = ("is_array", "is_object")
        kept = (f for f in dataclasses.fields(value) if not any(f.metadata.get(name) for name in hidden))
        return {f.name: to_plain(getattr(value, f.name)) for f in kept}
    if isinstance(value, Mapping):
        return {key: to_plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(entry) for entry in value]
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) else None
    return value


def from_plain(kind: type[T], plain: object, place: str = "") -> T:
    """A dataclass from a mapping of its fields; unknown fields are left out, missing ones have their defaults.

    Args:
        kind: the dataclass; its fields may be numbers, text, None, other dataclasses, tuples and mappings of these.
        plain: what JSON holds of it.
        place: where that stands, for error messages.

    Raises:
        OutputError: when a value is of another kind than its field, or a field without default is missing.
    """
    if not isinstance(plain, Mapping):
        raise OutputError(f"{place or kind.__name__} must be an object, got {plain!r}")
    values = {}
    for field, hint in _fields(kind):
        inside = f"{place}.{field.name}" if place else field.name
        if field.name in plain:
            values[field.name] = _value(hint, plain[field.name], inside)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise OutputError(f"{inside} is missing; is this the JSON of a {kind.__name__}?")
    try:
        return kind(**values)
    except OptionError as error:
        raise OutputError(f"{place or kind.__name__} holds an option that cannot be used: {error}") from error


def _find_fields(kind: Any) -> list[tuple[dataclasses.Field[Any], Any]]:
    hints = get_type_hints(kind)
    return [
        (field, hints[field.name])
        for field in dataclasses.fields(kind)
        if not (field.metadata.get("is_array") or field.metadata.get("is_object"))
    ]


_fields: Callable[[Any], list[tuple[dataclasses.Field[Any], Any]]] = cache(_find_fields)


def _value(hint: Any, plain: Any, place: str) -> Any:
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if plain is None and float in members and type(None) not in members:
        return math.nan
    for member in members:
        if _fits(member, plain):
            return _convert(member, plain, place)
    raise OutputError(f"{place} must be {hint}, got {plain!r}")


def _fits(member: Any, plain: Any) -> bool:
    if dataclasses.is_dataclass(member) or get_origin(member) is Mapping:
        return isinstance(plain, Mapping)
    if get_origin(member) in (tuple, Sequence):
        return isinstance(plain, list)
    if member is float:
        return isinstance(plain, (int, float)) and not isinstance(plain, bool)
    if member is int:
        return isinstance(plain, int) and not isinstance(plain, bool)
    return member in (Any, object) or isinstance(plain, member)


def _convert(member: Any, plain: Any, place: str) -> Any:
    if isinstance(member, type) and dataclasses.is_dataclass(member):
        return from_plain(member, plain, place)
    if get_origin(member) is Mapping:
        (_, hint) = get_args(member)
        return {key: _value(hint, value, f"{place}.{key}") for key, value in plain.items()}
    if get_origin(member) in (tuple, Sequence):
        hint = get_args(member)[0]
        return tuple(_value(hint, value, f"{place}[{index}]") for index, value in enumerate(plain))
    return float(plain) if member is float else plain
