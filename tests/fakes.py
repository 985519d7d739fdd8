"""Stand-ins that need no weights: a scripted engine, and a tokenizer whose tokens are bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import tiktoken

from sasayaki.checkpoints.names import ModelDimensions
from sasayaki.inference.base import Digest, Row
from sasayaki.text.special_tokens import SpecialTokens
from sasayaki.text.tokenizer import Tokenizer

LANGUAGES = ("en", "de", "fr", "ja", "cy")
N_TIMESTAMPS = 1501
EOT, SOT = 256, 257
TRANSLATE = SOT + 1 + len(LANGUAGES)
TRANSCRIBE, SOT_LM, SOT_PREV, NO_SPEECH, NO_TIMESTAMPS, TIMESTAMP_BEGIN = range(TRANSLATE + 1, TRANSLATE + 7)
N_VOCAB = TIMESTAMP_BEGIN + N_TIMESTAMPS


@cache
def byte_tokenizer(
    language: str | None = "en", task: str | None = "transcribe", *, n_timestamps: int = N_TIMESTAMPS
) -> Tokenizer:
    """A multilingual tokenizer with one token for each byte and five languages."""
    special = SpecialTokens(
        n_vocab=TIMESTAMP_BEGIN + n_timestamps,
        eot=EOT,
        sot=SOT,
        languages={code: SOT + 1 + place for place, code in enumerate(LANGUAGES)},
        translate=TRANSLATE,
        transcribe=TRANSCRIBE,
        sot_lm=SOT_LM,
        sot_prev=SOT_PREV,
        no_speech=NO_SPEECH,
        no_timestamps=NO_TIMESTAMPS,
        timestamp_begin=TIMESTAMP_BEGIN,
        n_timestamps=n_timestamps,
    )
    encoding = tiktoken.Encoding(
        "bytes",
        pat_str=r"[\s\S]",
        mergeable_ranks={bytes([value]): value for value in range(256)},
        special_tokens=special.spellings(),
    )
    return Tokenizer(encoding, special, language, task)


def ts(seconds: float) -> int:
    """The timestamp token of a time."""
    return TIMESTAMP_BEGIN + round(seconds / 0.02)


def text(words: str) -> tuple[int, ...]:
    """The tokens of a text."""
    return tuple(words.encode("utf-8"))


def dimensions(n_vocab: int = N_VOCAB, n_text_ctx: int = 448) -> ModelDimensions:
    """Sizes of a scripted model; widths are of no account."""
    return ModelDimensions(
        n_mels=80,
        n_audio_ctx=1500,
        n_audio_state=8,
        n_audio_head=1,
        n_audio_layer=1,
        n_vocab=n_vocab,
        n_text_ctx=n_text_ctx,
        n_text_state=8,
        n_text_head=1,
        n_text_layer=1,
    )


@dataclass(frozen=True)
class FakeAudio:
    """An encoded window that is only a name for the script."""

    name: object
    array: np.ndarray = field(default_factory=lambda: np.zeros((1500, 8), np.float32), compare=False)


@dataclass(frozen=True)
class Call:
    """One call of `forward`: the rows, and everything that each of them had been fed by then."""

    rows: tuple[Row, ...]
    histories: tuple[tuple[int, ...], ...]


Script = Callable[[object, tuple[int, ...]], np.ndarray]
"""(name of the audio, all tokens fed so far) -> logits (n_vocab,)."""


class ScriptedInference:
    """An engine whose logits are a function of the audio and of the tokens fed so far.

    The name of an audio is what `name_audio` makes of its mel. Every call is kept: `encoded` has the mels,
    `calls` the rows with their histories. `n_open` counts sessions that were not closed. With `n_likeliest`, sessions
    give digests of so many tokens.
    """

    def __init__(
        self,
        script: Script,
        *,
        name_audio: Callable[[np.ndarray], object] = lambda mel: float(mel.flat[0]),
        n_text_ctx: int = 448,
        n_vocab: int = N_VOCAB,
        is_multilingual: bool = True,
        n_likeliest: int = 0,
    ) -> None:
        self.script = script
        self.n_likeliest = n_likeliest
        self.name_audio = name_audio
        self.dims = _Dimensions.of(dimensions(n_vocab, n_text_ctx), is_multilingual)
        self.encoded: list[np.ndarray] = []
        self.calls: list[Call] = []
        self.n_open = 0

    def encode(self, mel: np.ndarray, positions: np.ndarray | None = None) -> list[FakeAudio]:
        if positions is not None:
            assert positions.shape == (len(mel), (mel.shape[-1] + 1) // 2)
        self.encoded.extend(mel)
        return [FakeAudio(self.name_audio(window)) for window in mel]

    def wrap(self, features: np.ndarray) -> list[FakeAudio]:
        return [FakeAudio(self.name_audio(window), window) for window in features]

    def start(self) -> ScriptedSession:
        self.n_open += 1
        return DigestingScriptedSession(self) if self.n_likeliest else ScriptedSession(self)


class ScriptedSession:
    """A session that checks what it is asked and answers from the script."""

    def __init__(self, inference: ScriptedInference) -> None:
        self._inference = inference
        self._histories: tuple[tuple[int, ...], ...] = ()
        self._audios: tuple[object, ...] = ()
        self._is_open = True

    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        assert self._is_open, "forward after close"
        assert rows, "no rows"
        histories = []
        for row in rows:
            assert row.tokens, "a row without new tokens"
            before: tuple[int, ...] = ()
            if row.source is not None:
                assert self._audios[row.source] == row.audio, "a row that changes its audio"
                before = self._histories[row.source]
            histories.append((*before, *row.tokens))
            assert len(histories[-1]) <= self._inference.dims.n_text_ctx, "past the text context"
        self._histories = tuple(histories)
        self._audios = tuple(row.audio for row in rows)
        self._inference.calls.append(Call(tuple(rows), self._histories))
        n_read = max(len(row.read) for row in rows)
        return np.stack([self._logits(row, history, n_read) for row, history in zip(rows, histories, strict=True)])

    def _logits(self, row: Row, history: tuple[int, ...], n_read: int) -> np.ndarray:
        before = len(history) - len(row.tokens)
        read = (*row.read, *row.read[-1:] * (n_read - len(row.read)))
        ends = [before + range(len(row.tokens))[position] + 1 for position in read]
        return np.stack([self._inference.script(row.audio.name, history[:end]) for end in ends]).astype(np.float32)

    def close(self) -> None:
        if self._is_open:
            self._inference.n_open -= 1
        self._is_open = False


class DigestingScriptedSession(ScriptedSession):
    """A session that also says what its logits are like."""

    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        logits = super().forward(rows)
        self._digest = digest_of(logits, self._inference.n_likeliest)
        return logits

    def digest(self) -> Digest:
        return self._digest


def digest_of(logits: np.ndarray, n_likeliest: int = 64) -> Digest:
    """The digest of logits (n_batch, n_read, n_vocab), in the most obvious way; of equals, the last comes first."""
    order = np.argsort(logits, axis=-1, kind="stable")[..., ::-1][..., :n_likeliest]
    norms = np.log(np.exp(logits.astype(np.float64)).sum(-1)).astype(np.float32)
    return Digest(norms, order, np.take_along_axis(logits, order, -1))


class _Dimensions(ModelDimensions):
    """Dimensions that say of themselves whether they are multilingual; the byte vocabulary is too small to tell."""

    @classmethod
    def of(cls, dims: ModelDimensions, is_multilingual: bool) -> _Dimensions:
        made = cls(**{name: getattr(dims, name) for name in ModelDimensions.__dataclass_fields__})
        object.__setattr__(made, "_is_multilingual", is_multilingual)
        return made

    @property
    def is_multilingual(self) -> bool:
        return self._is_multilingual


def one_hot(token: int, logit: float = 20.0, n_vocab: int = N_VOCAB) -> np.ndarray:
    """Logits that make one token all but certain."""
    logits = np.zeros(n_vocab, np.float32)
    logits[token] = logit
    return logits


def say(tokens: Sequence[int], *, n_initial: int | None = None) -> Script:
    """A script that samples `tokens` one after the other, then the end token, whatever the audio.

    `n_initial` is the number of initial tokens; None takes all up to the last control token.
    """

    def script(_: object, history: tuple[int, ...]) -> np.ndarray:
        begin = n_initial if n_initial is not None else start_of_sampling(history)
        place = len(history) - begin
        return one_hot(tokens[place] if 0 <= place < len(tokens) else EOT)

    return script


def start_of_sampling(history: Sequence[int]) -> int:
    """Number of initial tokens: up to the last of the control tokens."""
    return max(place for place, token in enumerate(history) if EOT < token < TIMESTAMP_BEGIN) + 1


def english_tokenizer(*, n_timestamps: int = N_TIMESTAMPS) -> Tokenizer:
    """A tokenizer of an English-only model, over bytes."""
    multilingual = byte_tokenizer(n_timestamps=n_timestamps)
    special = replace(multilingual.special, is_multilingual=False)
    return Tokenizer(multilingual.encoding, special, None, None)
