"""Regular expressions over text, and the scripts of Simplified and Traditional Chinese."""

from __future__ import annotations

import pytest

from sasayaki.errors import OptionError
from sasayaki.text.patterns import compile_pattern

SIMPLIFIED = "发展中国家的经济体系与网络机会，啰嗦的镕说：后面里面干什么？二〇二四年"
TRADITIONAL = "發展中國家的經濟體系與網絡機會，囉嗦的鎔說：後面裡面幹什麼？臺灣台灣為著妳週遊"
CANTONESE = "佢哋喺度做緊嘢嘅，啲嗰冇咗嚟"


def found(pattern: str, text: str) -> str:
    return "".join(compile_pattern("deny_tokens", pattern).findall(text))


def test_simplified_text_has_no_character_outside_its_list() -> None:
    assert found(r"[\p{Han}--\p{Hans}]", SIMPLIFIED) == ""
    assert found(r"[\p{Han}--\p{Hant}]", SIMPLIFIED) == "发国经济体与网络机会啰镕说"


def test_traditional_text_has_no_character_outside_its_list() -> None:
    assert found(r"[\p{Han}--\p{Hant}]", TRADITIONAL + CANTONESE) == ""
    assert found(r"[\p{Han}--\p{Hans}]", TRADITIONAL) == "發國經濟體與網絡機會囉鎔說後裡幹麼臺灣灣為妳週遊"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"\p{Hans}", "a国國\n", "国"),
        (r"\P{Hans}", "a国國\n", "a國\n"),
        (r"[\p{Hant}a-c]", "abx國国", "ab國"),
        (r"\\p{Hans}", r"国 \p{Hans}", r"\p{Hans}"),
        (r"\p{Han}\d", "國1 a1", "國1"),
        (r"[\p{L}--\p{Latin}]", "aбc日", "б日"),
        (r"(?i)ß", "SS ß ẞ", "SSßẞ"),
    ],
)
def test_scripts_stand_in_patterns_like_any_other_property(pattern: str, text: str, expected: str) -> None:
    assert found(pattern, text) == expected


@pytest.mark.parametrize("pattern", ["(", "[a", r"\p{Klingon}", "a{2,1}", "*", "(?<=a+)(?P<", "\\"])
def test_what_is_no_pattern_is_refused_with_the_option_and_the_reason(pattern: str) -> None:
    with pytest.raises(OptionError, match=r"deny_tokens=.* is not a regular expression: "):
        compile_pattern("deny_tokens", pattern)
