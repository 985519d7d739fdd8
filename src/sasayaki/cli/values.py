"""Values on the command line: the types of option fields read from strings, None and booleans in any case."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, Union, get_args, get_origin

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

_BOOLEANS = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
_NONE = ("none", "")


def make_registry() -> ConstructorRegistry:
    """Rules for tyro, by which every option takes exactly one value.

    `None`, `none` and an empty value mean None where None is allowed; `True`, `true`, `1`, `yes` and `on` are
    true; numbers of a list are separated by commas. What can be text is handed on as it is.
    """
    registry = ConstructorRegistry()
    registry.primitive_rule(_rule)
    return registry


def parse_value(text: str, members: Sequence[Any]) -> Any:
    """A value of one of the types in `members`: None, bool, int, float, str, or a sequence of numbers.

    Raises:
        ValueError: when no type takes the text; the message says what was expected.
    """
    plain = text.strip().lower()
    if types.NoneType in members and plain in _NONE:
        return None
    if str in members:
        return text
    if bool in members and plain in _BOOLEANS:
        return _BOOLEANS[plain]
    for member in members:
        try:
            if member in (int, float):
                return member(plain)
            if get_origin(member) is Sequence and "," in plain:
                (number,) = get_args(member)
                return tuple(number(entry) for entry in plain.split(",") if entry.strip())
        except ValueError:
            continue
    raise ValueError(f"expected {_expected(members)}, got {text!r}")


def _rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    is_union = info.type_origin in (Union, types.UnionType)
    members = get_args(info.type) if is_union else (info.type,)
    if str not in members and not all(_is_known(member) for member in members):
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=_metavar(members),
        instance_from_str=_parser(members),
        is_instance=lambda value: True,
        str_from_instance=lambda value: [_show(value)],
    )


def _is_known(member: Any) -> bool:
    return member in (bool, int, float, str, types.NoneType) or (
        get_origin(member) is Sequence and get_args(member)[0] in (int, float)
    )


def _parser(members: Sequence[Any]) -> Callable[[list[str]], Any]:
    return lambda values: parse_value(values[0], members)


def _metavar(members: Sequence[Any]) -> str:
    names = {bool: "True|False", int: "INT", float: "FLOAT", str: "TEXT", types.NoneType: "None"}
    if str in members:
        members = [member for member in members if member in (str, types.NoneType)]
    return "|".join(names.get(member, "FLOAT,…") for member in members)


def _show(value: Any) -> str:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return ",".join(str(entry) for entry in value) if is_list else str(value)


def _expected(members: Sequence[Any]) -> str:
    names = {bool: "True or False", int: "a whole number", float: "a number", types.NoneType: "None"}
    return " or ".join(names.get(member, "numbers separated by commas") for member in members)
