"""The tokenizer: text to token ids and back, with the names of openai/whisper."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import tiktoken

from sasayaki.errors import OptionError
from sasayaki.languages import UNSPACED_LANGUAGES, to_language_code
from sasayaki.text.special_tokens import SpecialTokens
from sasayaki.text.vocabulary import build_encoding, shipped_encoding
from sasayaki.text.words import split_on_characters, split_on_spaces

TASKS = ("transcribe", "translate")

# What stands for sounds, speakers and typography rather than for spoken words.
_NON_SPEECH_SYMBOLS = (
    *'"#()*+/:;<=>@[\\]^_`{|}~「」『』',
    *("<<", ">>", "<<<", ">>>", "--", "---", "-(", "-[", "('", '("'),
    *("((", "))", "(((", ")))", "[[", "]]", "{{", "}}", "♪♪", "♪♪♪"),
)
_MUSICAL_SYMBOLS = "♩♪♫♬♭♮♯"


@dataclass(frozen=True)
class Tokenizer:
    """Text to token ids and back for one vocabulary, with the language and task that prompts are made for.

    Use `Tokenizer.for_vocab` unless you have a vocabulary of your own kind.

    Attributes:
        encoding: the byte-pair encoder.
        special: ids of the special tokens.
        language: code of the language in `sot_sequence`, or None for none (English-only models).
        task: "transcribe" or "translate" in `sot_sequence`, or None for none (English-only models).
    """

    encoding: tiktoken.Encoding = field(repr=False)
    special: SpecialTokens
    language: str | None = None
    task: str | None = None

    def __post_init__(self) -> None:
        if self.language is not None and self.language not in self.special.languages:
            raise OptionError(
                f"language {self.language!r} is not among the {len(self.special.languages)} of this model; "
                "use another model, or None to detect the language"
            )
        if self.task is not None and self.task not in TASKS:
            raise OptionError(f"task must be 'transcribe' or 'translate', not {self.task!r}")

    @classmethod
    def for_vocab(
        cls,
        n_vocab: int,
        language: str | None = None,
        task: str | None = None,
        vocabulary: Mapping[bytes, int] | None = None,
    ) -> Tokenizer:
        """The tokenizer of a model.

        Args:
            n_vocab: size of its vocabulary, 51864 (English-only), 51865 or 51866.
            language: code, name or alias; None is English.
            task: "transcribe" or "translate"; None is "transcribe".
            vocabulary: bytes of every text token to its id; None takes the published one.

        Raises:
            CheckpointError: no Whisper vocabulary has this size, or `vocabulary` is not complete.
            OptionError: the language or task is unknown, or this model does not have it.
        """
        special = SpecialTokens.for_vocab(n_vocab)
        encoding = shipped_encoding(n_vocab) if vocabulary is None else build_encoding(vocabulary, special)
        return cls(encoding, special, *_settle(special, language, task))

    def with_language(self, language: str | None, task: str | None = None) -> Tokenizer:
        """The same vocabulary with another language (None is English) and, if given, another task.

        Raises:
            OptionError: the language or task is unknown, or this model does not have it.
        """
        code, settled_task = _settle(self.special, language, task or self.task)
        return replace(self, language=code, task=settled_task)

    def encode(self, text: str) -> list[int]:
        """Ids of a text. Text that spells a special token, such as "<|en|>", is taken as ordinary text."""
        tokens: list[int] = self.encoding.encode_ordinary(text)
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of these ids, without special tokens.

        Broken bytes become U+FFFD; an incomplete character at the end is left out.
        """
        return self.decode_pieces([tokens])[0]

    def decode_pieces(self, pieces: Iterable[Iterable[int]]) -> list[str]:
        """Texts of pieces that follow each other; joined they are the text of all ids.

        A character that is cut by the border of two pieces is whole, in the piece that has its last byte.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        eot = self.special.eot
        return [decoder.decode(self._bytes(token for token in piece if token < eot)) for piece in pieces]

    def decode_with_timestamps(self, tokens: Iterable[int]) -> str:
        """The text of these ids with all special tokens spelled out, such as "<|1.08|>"."""
        return codecs.getincrementaldecoder("utf-8")("replace").decode(self._bytes(tokens))

    def token_bytes(self, token: int) -> bytes:
        """The bytes of one token, or the ASCII spelling of a special one; not always whole characters."""
        return self._bytes((token,))

    def _bytes(self, tokens: Iterable[int]) -> bytes:
        ids = list(tokens)
        try:
            data: bytes = self.encoding.decode_bytes(ids)
        except (KeyError, OverflowError) as error:
            outside = next(token for token in ids if not 0 <= token < self.special.n_vocab)
            raise OptionError(f"token ids of this model are 0 to {self.special.n_vocab - 1}, got {outside}") from error
        return data

    def split_to_word_tokens(self, tokens: Sequence[int]) -> tuple[list[str], list[list[int]]]:
        """Words with their leading space, and the ids of each.

        Every id is in one word. The joined words are `decode(tokens)`, and no word ends inside a character.
        Words begin at spaces and punctuation, in languages without spaces at every character that begins a
        token. A special token is a word with empty text.
        """
        pieces = ((token, self.token_bytes(token) if token < self.eot else None) for token in tokens)
        split = split_on_characters if self.language in UNSPACED_LANGUAGES else split_on_spaces
        words = split(pieces)
        return [word.text for word in words], [word.tokens for word in words]

    @property
    def num_languages(self) -> int:
        """Number of language tokens."""
        return len(self.special.languages)

    @property
    def all_language_codes(self) -> tuple[str, ...]:
        """Codes of the languages that have a token, in vocabulary order."""
        return tuple(self.special.languages)

    @property
    def all_language_tokens(self) -> tuple[int, ...]:
        """Ids of the language tokens, in vocabulary order."""
        return self.special.language_ids

    def to_language_token(self, language: str) -> int:
        """Id of the token of a language given as code, name or alias.

        Raises:
            OptionError: the language is unknown or has no token in this vocabulary.
        """
        code = to_language_code(language)
        return replace(self, language=code).language_token

    @property
    def language_token(self) -> int:
        """Id of the token of `language`.

        Raises:
            OptionError: the tokenizer has no language.
        """
        if self.language is None:
            raise OptionError("this tokenizer has no language; English-only models take no language token")
        return self.special.languages[self.language]

    @property
    def sot_sequence(self) -> tuple[int, ...]:
        """Start of transcript, then language and task where they are set."""
        language = () if self.language is None else (self.language_token,)
        task = () if self.task is None else (getattr(self, self.task),)
        return (self.sot, *language, *task)

    @property
    def sot_sequence_including_notimestamps(self) -> tuple[int, ...]:
        """`sot_sequence` followed by the token that asks for text without timestamps."""
        return (*self.sot_sequence, self.no_timestamps)

    @cached_property
    def non_speech_tokens(self) -> tuple[int, ...]:
        """Sorted ids that begin what is not speech: sounds, speaker labels, music, lists.

        These are the symbols that are one token, with or without a space before them; the first token of each
        musical symbol; and hyphen and apostrophe at the start of a word. Plain punctuation is not among them.
        """
        found = {self.encode(" -")[0], self.encode(" '")[0]}
        for symbol in _NON_SPEECH_SYMBOLS:
            found |= {ids[0] for ids in (self.encode(symbol), self.encode(" " + symbol)) if len(ids) == 1}
        for symbol in _MUSICAL_SYMBOLS:
            found |= {self.encode(symbol)[0], self.encode(" " + symbol)[0]}
        return tuple(sorted(found))

    @property
    def eot(self) -> int:
        """End of text; all smaller ids are text, all others special."""
        return self.special.eot

    @property
    def sot(self) -> int:
        """Start of transcript."""
        return self.special.sot

    @property
    def translate(self) -> int:
        """Task of writing English whatever is spoken."""
        return self.special.translate

    @property
    def transcribe(self) -> int:
        """Task of writing what is spoken."""
        return self.special.transcribe

    @property
    def sot_lm(self) -> int:
        """Start of text without audio."""
        return self.special.sot_lm

    @property
    def sot_prev(self) -> int:
        """Start of previous text, before a prompt."""
        return self.special.sot_prev

    @property
    def no_speech(self) -> int:
        """Says that nobody speaks."""
        return self.special.no_speech

    @property
    def no_timestamps(self) -> int:
        """Asks for text without timestamps."""
        return self.special.no_timestamps

    @property
    def timestamp_begin(self) -> int:
        """The timestamp of 0.00 seconds; all ids from here on are timestamps, 0.02 seconds apart."""
        return self.special.timestamp_begin


def _settle(special: SpecialTokens, language: str | None, task: str | None) -> tuple[str | None, str | None]:
    """Language code and task with the defaults filled in; both None for an English-only vocabulary."""
    code = None if language is None else to_language_code(language)
    if special.is_multilingual:
        return code or "en", task or "transcribe"
    if code not in (None, "en"):
        raise OptionError(f"language {language!r} needs a multilingual model; this one knows English only")
    if task not in (None, "transcribe"):
        raise OptionError(f"task {task!r} needs a multilingual model; this one only transcribes English")
    return None, None
