"""Languages: codes, names, aliases and the message for what is none of them."""

import pytest

from sasayaki.errors import OptionError
from sasayaki.languages import LANGUAGE_ALIASES, LANGUAGES, UNSPACED_LANGUAGES, to_language_code


def test_there_are_a_hundred_languages_and_cantonese_is_the_last() -> None:
    assert len(LANGUAGES) == 100
    assert list(LANGUAGES)[:3] == ["en", "zh", "de"]
    assert list(LANGUAGES)[-1] == "yue"


def test_every_code_name_and_alias_is_understood_in_any_case() -> None:
    for code, name in LANGUAGES.items():
        assert to_language_code(code) == to_language_code(code.upper()) == code
        assert to_language_code(name) == to_language_code(name.title()) == code
    for alias, code in LANGUAGE_ALIASES.items():
        assert to_language_code(alias.title()) == code


def test_no_alias_hides_a_code_or_a_name() -> None:
    assert not set(LANGUAGE_ALIASES) & (set(LANGUAGES) | set(LANGUAGES.values()))
    assert set(LANGUAGES) >= set(LANGUAGE_ALIASES.values()) | UNSPACED_LANGUAGES


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("en-US", "en"),
        ("zh_CN", "zh"),
        ("zh-Hant-TW", "zh"),
        ("zh-yue", "yue"),
        ("yue-HK", "yue"),
        ("pt-BR", "pt"),
        ("es-419", "es"),
        ("sr-Latn-RS", "sr"),
        ("ca-ES-valencia", "ca"),
        ("de_DE.UTF-8", "de"),
        ("haw-US", "haw"),
        ("nb-NO", "no"),
        ("  Japanese\n", "ja"),
        ("haitian_creole", "ht"),
        ("Haitian-Creole", "ht"),
        ("Norwegian Nynorsk", "nn"),
        ("<|ja|>", "ja"),
    ],
)
def test_regions_scripts_and_other_spellings_are_understood(value: str, code: str) -> None:
    assert to_language_code(value) == code


@pytest.mark.parametrize(
    "value", ["klingon", "", "xx", "xx-US", "no language", "en;de", "it is", "english us", "日本語"]
)
def test_what_is_no_language_is_refused_by_name(value: str) -> None:
    with pytest.raises(OptionError, match="language") as refusal:
        to_language_code(value)
    assert repr(value) in str(refusal.value)


@pytest.mark.parametrize(
    ("value", "near"), [("englsh", "english"), ("Portugese", "portuguese"), ("jp", "ja"), ("cz", "cs")]
)
def test_a_slip_of_the_keyboard_gets_a_suggestion(value: str, near: str) -> None:
    with pytest.raises(OptionError, match="did you mean") as refusal:
        to_language_code(value)
    assert repr(near) in str(refusal.value)


@pytest.mark.parametrize("value", [None, 50259, b"en", ["en"]])
def test_what_is_no_string_is_refused(value: object) -> None:
    with pytest.raises(OptionError, match="language"):
        to_language_code(value)  # type: ignore[arg-type]
