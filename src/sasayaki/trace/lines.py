"""Events as lines of JSON and back, driven by the types of their fields."""

from __future__ import annotations

import base64
import json
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from sasayaki.trace import events
from sasayaki.trace.events import Event

_KINDS: dict[str, type] = {kind.__name__: kind for kind in get_args(Event)}
_NO_NUMBER = {math.inf: "inf", -math.inf: "-inf"}

Reader = Callable[[Any], Any]


def to_line(event: Event) -> str:
    """One line of strict JSON: the fields of the event and its `kind`."""
    return json.dumps({"kind": type(event).__name__, **_plain(event)}, ensure_ascii=False, allow_nan=False)


def from_line(line: str) -> Event:
    """The event of a line.

    Raises:
        ValueError: the line is not JSON, of no known kind, or has not the fields of its kind.
    """
    values = json.loads(line)
    if not isinstance(values, dict) or values.get("kind") not in _KINDS:
        raise ValueError(f"expected an event of a kind among {', '.join(_KINDS)}")
    kind = _KINDS[values.pop("kind")]
    try:
        event: Event = _reader(kind)(values)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"the fields do not fit {kind.__name__}: {error}") from error
    return event


def _plain(value: Any) -> Any:
    """Dicts, lists, strings and numbers; what is not finite becomes "inf", "-inf" or "nan", bytes become base64."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float) and not math.isfinite(value):
        return _NO_NUMBER.get(value, "nan")
    return value


@cache
def _reader(kind: Any) -> Reader:
    """What turns a plain value into one of type `kind`, the inverse of `_plain`."""
    if is_dataclass(kind):
        return _record_reader(kind)
    arguments = get_args(kind)
    if get_origin(kind) is tuple:
        if arguments[1:] == (...,):
            entry = _reader(arguments[0])
            return lambda value: tuple(entry(each) for each in value)
        readers = [_reader(argument) for argument in arguments]
        return lambda value: tuple(read(each) for read, each in zip(readers, value, strict=True))
    if get_origin(kind) in (Union, types.UnionType):
        (member,) = (argument for argument in arguments if argument is not types.NoneType)
        inner = _reader(member)
        return lambda value: None if value is None else inner(value)
    plain: dict[Any, Reader] = {float: float, bytes: base64.b64decode}
    return plain.get(kind, lambda value: value)


def _record_reader(kind: Any) -> Reader:
    hints = get_type_hints(kind, vars(events))
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}
    return lambda value: kind(**{name: readers[name](entry) for name, entry in value.items()})
