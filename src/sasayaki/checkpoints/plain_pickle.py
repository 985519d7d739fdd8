"""A pickle reader that can build plain data only: it has no way to import, call or change anything else.

Pickles are programs. This interpreter knows the instructions that state dicts need and gives every global as
an inert name; the caller says which may be called. Anything else is an error that names what was asked for.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sasayaki.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class GlobalName:
    """A global that a pickle mentions, by its full name; nothing is imported."""

    name: str


_MARK = object()
_PUSHED = {"BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
_PUSHED |= {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
_CONSTANTS: dict[str, Any] = {
    "NONE": None,
    "NEWTRUE": True,
    "NEWFALSE": False,
    "EMPTY_TUPLE": (),
    "MARK": _MARK,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_IGNORED = {"PROTO", "FRAME"}
# What a damaged program can make the interpreter's own steps raise.
_FAULTS = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError,
)  # fmt: skip


def load_plain(
    data: bytes,
    source: str,
    *,
    constructors: Mapping[str, Callable[..., Any]],
    names: Collection[str],
    load_persistent: Callable[[Any], Any],
) -> Any:
    """Build the value that a pickle describes.

    Args:
        data: the pickle.
        source: where it comes from, for messages.
        constructors: global name to the function that stands in for it when the pickle calls it.
        names: further globals that may be mentioned, but not called; they appear as `GlobalName`.
        load_persistent: gives the value of a persistent id.

    Raises:
        CheckpointError: the pickle is damaged, or uses another global or an instruction of no use for data.
    """
    machine = _Machine(source, constructors, names, load_persistent)
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                return machine.stack.pop()
            machine.run(opcode.name, argument)
    except _FAULTS as error:
        raise CheckpointError(f"{source} holds a damaged pickle ({error!r:.200}); fetch it again") from error
    raise CheckpointError(f"{source} holds a pickle without an end; fetch it again")


class _Machine:
    """Stack and memo of a running pickle program."""

    def __init__(
        self,
        source: str,
        constructors: Mapping[str, Callable[..., Any]],
        names: Collection[str],
        load_persistent: Callable[[Any], Any],
    ) -> None:
        self.stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._source = source
        self._constructors = constructors
        self._names = names
        self._load_persistent = load_persistent

    def run(self, name: str, argument: Any) -> None:
        """Carry out one instruction."""
        if name in _PUSHED:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _TUPLES:
            items = [self.stack.pop() for _ in range(_TUPLES[name])]
            self.stack.append(tuple(reversed(items)))
        elif name not in _IGNORED:
            step = getattr(self, f"_{name.lower()}", None)
            if step is None:
                raise CheckpointError(
                    f"{self._source} uses the pickle instruction {name}, which weights never need: the file was refused"
                )
            step(argument)

    def _global(self, name: str) -> None:
        name = name.replace(" ", ".")
        if name not in self._constructors and name not in self._names:
            raise CheckpointError(
                f"{self._source} asks for the Python object {name:.100}, which weights never need: it could "
                "run any code, so the file was refused; save a plain state dict (tensors by name) instead"
            )
        self.stack.append(GlobalName(name))

    def _stack_global(self, _: None) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self._global(f"{module}.{name}")

    def _reduce(self, _: None) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if type(arguments) is not tuple:
            raise TypeError(f"arguments of type {type(arguments).__name__}")
        self.stack.append(self._constructors[function.name](*arguments))

    def _build(self, _: None) -> None:
        """State of an object: state dicts carry version numbers of modules there; of no use to us."""
        self.stack.pop()

    def _binpersid(self, _: None) -> None:
        self.stack.append(self._load_persistent(self.stack.pop()))

    def _empty_dict(self, _: None) -> None:
        self.stack.append({})

    def _empty_list(self, _: None) -> None:
        self.stack.append([])

    def _tuple(self, _: None) -> None:
        self.stack.append(tuple(self._pop_to_mark()))

    def _append(self, _: None) -> None:
        item = self.stack.pop()
        self._top(list).append(item)

    def _appends(self, _: None) -> None:
        items = self._pop_to_mark()
        self._top(list).extend(items)

    def _setitem(self, _: None) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set(key, value)

    def _setitems(self, _: None) -> None:
        items = self._pop_to_mark()
        for key, value in zip(items[::2], items[1::2], strict=True):
            self._set(key, value)

    def _memoize(self, _: None) -> None:
        self._memo[len(self._memo)] = self.stack[-1]

    def _binput(self, index: int) -> None:
        self._memo[index] = self.stack[-1]

    def _binget(self, index: int) -> None:
        self.stack.append(self._memo[index])

    _long_binput = _put = _binput
    _long_binget = _get = _binget

    def _set(self, key: object, value: object) -> None:
        # Simple keys only: hashing deeply nested tuples would overflow the stack of C.
        if not isinstance(key, (str, int)):
            raise TypeError(f"a key of type {type(key).__name__}")
        self._top(dict)[key] = value

    def _top(self, kind: type) -> Any:
        if type(self.stack[-1]) is not kind:
            raise TypeError(f"expected a {kind.__name__}, found a {type(self.stack[-1]).__name__}")
        return self.stack[-1]

    def _pop_to_mark(self) -> list[Any]:
        items = []
        while (item := self.stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]
