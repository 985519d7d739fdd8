"""The languages of Whisper: codes in vocabulary order, their names, and what else people call them."""

from __future__ import annotations

import difflib
import re

from sasayaki.errors import OptionError

LANGUAGES: dict[str, str] = {
    "en": "english",
    "zh": "chinese",
    "de": "german",
    "es": "spanish",
    "ru": "russian",
    "ko": "korean",
    "fr": "french",
    "ja": "japanese",
    "pt": "portuguese",
    "tr": "turkish",
    "pl": "polish",
    "ca": "catalan",
    "nl": "dutch",
    "ar": "arabic",
    "sv": "swedish",
    "it": "italian",
    "id": "indonesian",
    "hi": "hindi",
    "fi": "finnish",
    "vi": "vietnamese",
    "he": "hebrew",
    "uk": "ukrainian",
    "el": "greek",
    "ms": "malay",
    "cs": "czech",
    "ro": "romanian",
    "da": "danish",
    "hu": "hungarian",
    "ta": "tamil",
    "no": "norwegian",
    "th": "thai",
    "ur": "urdu",
    "hr": "croatian",
    "bg": "bulgarian",
    "lt": "lithuanian",
    "la": "latin",
    "mi": "maori",
    "ml": "malayalam",
    "cy": "welsh",
    "sk": "slovak",
    "te": "telugu",
    "fa": "persian",
    "lv": "latvian",
    "bn": "bengali",
    "sr": "serbian",
    "az": "azerbaijani",
    "sl": "slovenian",
    "kn": "kannada",
    "et": "estonian",
    "mk": "macedonian",
    "br": "breton",
    "eu": "basque",
    "is": "icelandic",
    "hy": "armenian",
    "ne": "nepali",
    "mn": "mongolian",
    "bs": "bosnian",
    "kk": "kazakh",
    "sq": "albanian",
    "sw": "swahili",
    "gl": "galician",
    "mr": "marathi",
    "pa": "punjabi",
    "si": "sinhala",
    "km": "khmer",
    "sn": "shona",
    "yo": "yoruba",
    "so": "somali",
    "af": "afrikaans",
    "oc": "occitan",
    "ka": "georgian",
    "be": "belarusian",
    "tg": "tajik",
    "sd": "sindhi",
    "gu": "gujarati",
    "am": "amharic",
    "yi": "yiddish",
    "lo": "lao",
    "uz": "uzbek",
    "fo": "faroese",
    "ht": "haitian creole",
    "ps": "pashto",
    "tk": "turkmen",
    "nn": "nynorsk",
    "mt": "maltese",
    "sa": "sanskrit",
    "lb": "luxembourgish",
    "my": "myanmar",
    "bo": "tibetan",
    "tl": "tagalog",
    "mg": "malagasy",
    "as": "assamese",
    "tt": "tatar",
    "haw": "hawaiian",
    "ln": "lingala",
    "ha": "hausa",
    "ba": "bashkir",
    "jw": "javanese",
    "su": "sundanese",
    "yue": "cantonese",
}
"""Code to lower-case English name, in vocabulary order; `yue` has a token only among 51866."""

LANGUAGE_ALIASES: dict[str, str] = {
    # names
    "burmese": "my",
    "castilian": "es",
    "farsi": "fa",
    "filipino": "tl",
    "flemish": "nl",
    "haitian": "ht",
    "letzeburgesch": "lb",
    "mandarin": "zh",
    "moldavian": "ro",
    "moldovan": "ro",
    "norwegian bokmål": "no",
    "norwegian nynorsk": "nn",
    "panjabi": "pa",
    "pushto": "ps",
    "sinhalese": "si",
    "valencian": "ca",
    # codes: today's, withdrawn and more precise ones for the same language
    "cmn": "zh",
    "fil": "tl",
    "in": "id",
    "iw": "he",
    "ji": "yi",
    "jv": "jw",
    "mo": "ro",
    "nb": "no",
    "zh yue": "yue",
}
"""Other names and codes that people use, words separated by a space, to the code of Whisper."""

UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "my", "yue"})
"""Languages that are written without spaces between words."""

_CODES = {code: code for code in LANGUAGES} | {LANGUAGES[code]: code for code in LANGUAGES} | LANGUAGE_ALIASES

# Codes of countries that people give for a language and that are no language of Whisper.
_COUNTRIES = {
    "cn": "zh",
    "cz": "cs",
    "dk": "da",
    "gb": "en",
    "gr": "el",
    "jp": "ja",
    "kr": "ko",
    "ua": "uk",
    "us": "en",
}

# A language tag or POSIX locale: language, script, region or further parts, encoding.
_LOCALE = re.compile(r"([a-z]{2,3})(?:[-_](?:[a-z]{4}|[a-z]{2}|[0-9]{3}|[a-z0-9]{5,8}))*(?:[.@].*)?")


def to_language_code(value: str) -> str:
    """The code of a language given as code, name or alias, in any case, with or without a region.

    "en", "English", "en-US", "zh_CN.UTF-8", "<|ja|>" and "Mandarin" are all understood.

    Raises:
        OptionError: no language of Whisper is meant; the message has the nearest ones.
    """
    if not isinstance(value, str):
        raise OptionError(f"language must be a code or a name such as 'en' or 'english', not {value!r}")
    lowered = value.strip().strip("<|>").lower()
    name = " ".join(re.split(r"[-_\s]+", lowered))
    locale = _LOCALE.fullmatch(lowered)
    code = _CODES.get(name) or (_CODES.get(locale[1]) if locale else None)
    if code is None:
        raise OptionError(f"language {value!r} is none of Whisper's {len(LANGUAGES)} languages{_hint(name)}")
    return code


def _hint(name: str) -> str:
    near = [_COUNTRIES[name]] if name in _COUNTRIES else difflib.get_close_matches(name, _CODES, n=3, cutoff=0.65)
    if near:
        return "; did you mean " + " or ".join(repr(match) for match in near) + "? None detects it"
    return "; give a code such as 'en', a name such as 'english', or None to detect it"
