"""The value of the option `grammar`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sasayaki.errors import OptionError
from sasayaki.grammar import Grammar
from sasayaki.options import DecodingOptions


@pytest.mark.parametrize(
    ("text", "kind", "source"),
    [
        ("regex:yes|no", "regex", "yes|no"),
        ("regex:a:@b", "regex", "a:@b"),
        ("lark:start: /a+/", "lark", "start: /a+/"),
        ('json_schema:{"type": "integer"}', "json_schema", '{"type": "integer"}'),
    ],
)
def test_a_grammar_is_written_with_its_kind(text: str, kind: str, source: str) -> None:
    assert Grammar.parse(text) == Grammar(kind, source) == Grammar.of(text)
    assert DecodingOptions(grammar=text).grammar == Grammar(kind, source)


def test_a_grammar_is_read_from_a_file_once(tmp_path: Path) -> None:
    file = tmp_path / "commands.lark"
    file.write_text('start: "ja" | "nö"\n', "utf-8")
    options = DecodingOptions(grammar=f"lark:@{file}")
    file.unlink()
    assert options.grammar == Grammar.lark('start: "ja" | "nö"\n')


def test_a_json_schema_is_a_mapping_or_json() -> None:
    schema: dict[str, Any] = {"type": "array", "items": {"type": "integer"}}
    assert Grammar.json_schema(schema) == Grammar.json_schema(json.dumps(schema))
    assert hash(Grammar.json_schema(schema)) == hash(Grammar.json_schema(schema))


@pytest.mark.parametrize(
    "wrong", ["yes|no", "", "regexp:a", "Regex:a", "lark:@/no/such/file", "json_schema:{", 5, b"a"]
)
def test_what_is_no_grammar_is_refused(wrong: Any) -> None:
    with pytest.raises(OptionError):
        Grammar.of(wrong)


@pytest.mark.parametrize(
    "make", [lambda: Grammar("sql", "a"), lambda: Grammar("regex", b"a"), lambda: Grammar.json_schema({"a": {1}})]
)  # type: ignore[arg-type]
def test_a_wrong_grammar_cannot_be_made(make: Any) -> None:
    with pytest.raises(OptionError):
        make()
