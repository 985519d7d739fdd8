"""Scripts and random options for the tests of the decoder, and short ways to decode with them."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sasayaki.decoding.decode import Decoder
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult
from sasayaki.text.tokenizer import Tokenizer
from tests.fakes import EOT, TIMESTAMP_BEGIN, Script, ScriptedInference, byte_tokenizer, english_tokenizer

N_TIMESTAMPS = 12
N_VOCAB = TIMESTAMP_BEGIN + N_TIMESTAMPS
"""A vocabulary with few timestamps, so that they meet each other often."""

SMALL_TOKENIZER = byte_tokenizer(n_timestamps=N_TIMESTAMPS)
SMALL_ENGLISH = english_tokenizer(n_timestamps=N_TIMESTAMPS)


def generator(*key: object) -> np.random.Generator:
    """A random generator that is a function of the key, in every process."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def random_script(
    seed: int, *, n_vocab: int = N_VOCAB, scale: float = 4.0, eot: float = 0.0, peak: float = 0.0
) -> Script:
    """Logits that are a random function of audio and history.

    A few text tokens, and all others from `EOT` on, are in play; the rest is 30 below. `eot` is added to the end
    token, and `peak` to one token of each step.
    """
    active = [32, *generator(seed, "active").choice(256, size=5, replace=False).tolist(), *range(EOT, n_vocab)]

    def script(audio: object, history: tuple[int, ...]) -> np.ndarray:
        draw = generator(seed, audio, history)
        logits = np.full(n_vocab, -30.0, np.float32)
        logits[active] = draw.normal(scale=scale, size=len(active))
        logits[EOT] += eot
        logits[draw.choice(active)] += peak
        return logits

    return script


def random_tokens(draw: random.Random, most: int) -> list[int]:
    """Some text tokens."""
    return [draw.randrange(256) for _ in range(draw.randrange(most + 1))]


def random_options(draw: random.Random, *, n_text_ctx: int = 448, language: str | None = "en") -> DecodingOptions:
    """Any options of temperature 0 that pass validation."""
    beam_size = draw.choice([None, 1, 2, 3, 5])
    patience = None if beam_size is None else draw.choice([None, None, 0.5, 1.0, 1.6, 2.0])
    if beam_size is not None and round(beam_size * (patience or 1.0)) < 1:
        patience = None
    text = "".join(draw.choice("ab (") for _ in range(draw.randrange(8)))
    banned = [draw.randrange(N_VOCAB) for _ in range(draw.randrange(9))]
    banned = [token for token in banned if token != EOT or draw.random() < 0.1]
    return DecodingOptions(
        task=draw.choice(["transcribe", "translate"]) if language is not None else "transcribe",
        language=draw.choice([language, None]),
        beam_size=beam_size,
        patience=patience,
        length_penalty=draw.choice([None, None, 0.0, 0.6, 1.0]),
        sample_len=draw.choice([None, None, 1, 3, 8, n_text_ctx]),
        prompt=draw.choice([None, text, random_tokens(draw, n_text_ctx)]),
        prefix=draw.choice([None, None, text, random_tokens(draw, n_text_ctx)]),
        suppress_tokens=draw.choice(["-1", "", None, banned, [*banned, -1], ",".join(map(str, banned))]),
        suppress_blank=draw.random() < 0.5,
        without_timestamps=draw.random() < 0.4,
        max_initial_timestamp=draw.choice([None, 0.0, 0.05, 0.1, 1.0]),
    )


def decoder_of(
    script: Script, *, tokenizer: Tokenizer = SMALL_TOKENIZER, n_text_ctx: int = 448, n_likeliest: int = 0
) -> Decoder:
    """A decoder over a script; `-1` stands for the tokenizer's non-speech tokens."""
    special = tokenizer.special
    inference = ScriptedInference(
        script,
        n_text_ctx=n_text_ctx,
        n_vocab=special.n_vocab,
        is_multilingual=special.is_multilingual,
        n_likeliest=n_likeliest,
    )
    return Decoder(inference, tokenizer)


def scripted(decoder: Decoder) -> ScriptedInference:
    """The scripted engine of a decoder."""
    assert isinstance(decoder.inference, ScriptedInference)
    return decoder.inference


def mel(*names: float) -> np.ndarray:
    """The window of an audio that `ScriptedInference` calls by this name, or a batch of windows of several."""
    windows = np.stack([np.full((80, 3000), name, np.float32) for name in names])
    return windows[0] if len(names) == 1 else windows


def decode_names(
    decoder: Decoder, names: Sequence[float], options: DecodingOptions | Sequence[DecodingOptions]
) -> list[DecodingResult]:
    """Decode the audios of these names together."""
    mels = np.zeros((len(names), 1, 1), np.float32) + np.array(names, np.float32)[:, None, None]
    each = [options] * len(names) if isinstance(options, DecodingOptions) else options
    results = decoder.decode(decoder.inference.encode(mels), each)
    assert scripted(decoder).n_open == 0
    return results


def decode_one(script: Script, *, tokenizer: Tokenizer | None = None, **options: Any) -> DecodingResult:
    """Decode one audio of a script over the full byte vocabulary, in English unless asked otherwise."""
    given = DecodingOptions(**{"language": "en", **options})
    return decode_names(decoder_of(script, tokenizer=tokenizer or byte_tokenizer()), [0.0], given)[0]


def outcome(result: DecodingResult) -> tuple[object, ...]:
    """What must be equal, bit by bit, for two decodes to count as the same."""
    return (
        result.tokens,
        result.text,
        result.language,
        result.no_speech_prob,
        tuple((h.tokens, h.stop, h.sum_logprob, h.token_logprobs) for h in result.hypotheses),
    )


def by_place(n_initial: int, logits_at: Callable[[object, tuple[int, ...]], np.ndarray]) -> Script:
    """A script that sees only what was sampled after `n_initial` tokens; before that, all logits are 0."""

    def script(audio: object, history: tuple[int, ...]) -> np.ndarray:
        sampled = history[n_initial:] if len(history) >= n_initial else None
        if sampled is None:
            return np.zeros_like(logits_at(audio, ()))
        return logits_at(audio, sampled)

    return script
