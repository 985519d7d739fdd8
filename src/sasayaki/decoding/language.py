"""Language detection: the probabilities of the language tokens right after the start token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sasayaki.decoding.arrays import to_numpy
from sasayaki.errors import BackendError, OptionError
from sasayaki.inference.base import AudioFeatures, Inference, Row
from sasayaki.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class DetectedLanguage:
    """What a window's language probably is.

    Attributes:
        code: the likeliest language.
        token: its token id.
        probs: probability of every language of the vocabulary; they sum to 1.
    """

    code: str
    token: int
    probs: dict[str, float]


def detect_languages(
    inference: Inference, tokenizer: Tokenizer, audios: Sequence[AudioFeatures]
) -> list[DetectedLanguage]:
    """Detect the language of each encoded window, without any prompt.

    Raises:
        OptionError: the model is English-only, so that there is nothing to detect.
        BackendError: the engine gave logits that are not numbers.
    """
    if not inference.dims.is_multilingual:
        raise OptionError("language cannot be detected by an English-only model; its language is always en")
    if not audios:
        return []
    session = inference.start()
    try:
        logits = to_numpy(session.forward([Row(audio, (tokenizer.sot,)) for audio in audios]))[:, -1]
    finally:
        session.close()
    tokens = np.array(tokenizer.all_language_tokens)
    return [_detected(tokenizer, tokens, row[tokens].astype(np.float64)) for row in logits]


def _detected(tokenizer: Tokenizer, tokens: np.ndarray, logits: np.ndarray) -> DetectedLanguage:
    if not np.isfinite(logits.max()):
        raise BackendError(
            "expected logits of the languages that are finite or -inf, got NaN, inf or nothing but -inf; check the "
            "audio for NaN, or load the model with precision='float32'"
        )
    weights = np.exp(logits - logits.max())
    probs = dict(zip(tokenizer.all_language_codes, (weights / weights.sum()).tolist(), strict=True))
    best = int(np.argmax(logits))
    return DetectedLanguage(tokenizer.all_language_codes[best], int(tokens[best]), probs)
