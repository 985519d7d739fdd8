"""The value of the option `grammar`: what the text of a window must look like, in one of three notations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sasayaki.errors import OptionError

KINDS = ("regex", "lark", "json_schema")


@dataclass(frozen=True, slots=True)
class Grammar:
    """A set of texts. Make one with `regex`, `lark`, `json_schema` or `parse`.

    Attributes:
        kind: `regex`, `lark` or `json_schema`.
        source: the grammar in that notation.
    """

    kind: str
    source: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise OptionError(f"the kind of a grammar must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if not isinstance(self.source, str):
            raise OptionError(f"a grammar of kind {self.kind} must be text, got {self.source!r}")

    @classmethod
    def regex(cls, pattern: str) -> Grammar:
        """All texts that a regular expression matches as a whole; `(?i)` at its start ignores case."""
        return cls("regex", pattern)

    @classmethod
    def lark(cls, rules: str) -> Grammar:
        """All texts that the rule `start` of a context-free grammar in Lark's notation derives."""
        return cls("lark", rules)

    @classmethod
    def json_schema(cls, schema: Mapping[str, Any] | str) -> Grammar:
        """All JSON texts that a JSON schema allows.

        Raises:
            OptionError: the schema is not JSON.
        """
        try:
            content = json.loads(schema) if isinstance(schema, str) else schema
            return cls("json_schema", json.dumps(content))
        except (TypeError, ValueError) as error:
            raise OptionError(f"a JSON schema must be a mapping or JSON, got {schema!r}: {error}") from None

    @classmethod
    def of(cls, value: Grammar | str) -> Grammar:
        """A grammar as it is, or as people write it.

        Raises:
            OptionError: it is neither.
        """
        if isinstance(value, Grammar):
            return value
        if not isinstance(value, str):
            raise OptionError(f"grammar must be a Grammar, or text such as 'regex:yes|no', got {value!r}")
        return cls.parse(value)

    @classmethod
    def parse(cls, text: str) -> Grammar:
        """A grammar as people write it: `regex:yes|no`, or `lark:@commands.lark` for the content of a file.

        Raises:
            OptionError: the kind is missing or unknown, or the file cannot be read.
        """
        kind, colon, source = text.partition(":")
        if not colon or kind not in KINDS:
            known = ", ".join(f"{known}:…" for known in KINDS)
            raise OptionError(f"grammar must begin with its kind, {known}, got {text!r}")
        content = _read(source[1:]) if source.startswith("@") else source
        return cls.json_schema(content) if kind == "json_schema" else cls(kind, content)


def _read(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise OptionError(f"the grammar cannot be read from {file!r}: {error}") from None
