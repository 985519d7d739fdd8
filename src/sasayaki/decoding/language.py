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
        probs: probability of every language that was allowed, given that it is one of them; they sum to 1.
    """

    code: str
    token: int
    probs: dict[str, float]


def detect_languages(
    inference: Inference,
    tokenizer: Tokenizer,
    audios: Sequence[AudioFeatures],
    allowed: Sequence[Sequence[str] | None],
) -> list[DetectedLanguage]:
    """Detect the language of each encoded window, without any prompt, among the codes `allowed` for it; None: all.

    Raises:
        OptionError: the model is English-only, so that there is nothing to detect, or has none of the languages.
        BackendError: the engine gave logits that are not numbers.
    """
    if not inference.dims.is_multilingual:
        raise OptionError("language cannot be detected by an English-only model; its language is always en")
    if not audios:
        return []
    choices = [allowed_languages(tokenizer, codes) for codes in allowed]
    session = inference.start()
    try:
        logits = to_numpy(session.forward([Row(audio, (tokenizer.sot,)) for audio in audios]))[:, -1]
    finally:
        session.close()
    return [_detected(choice, row.astype(np.float64)) for choice, row in zip(choices, logits, strict=True)]


def allowed_languages(tokenizer: Tokenizer, codes: Sequence[str] | None) -> dict[str, int]:
    """Code and token of the languages that a model has among `codes`; of all that it has for None.

    Raises:
        OptionError: it has none of them.
    """
    known = dict(zip(tokenizer.all_language_codes, tokenizer.all_language_tokens, strict=True))
    if not tokenizer.special.is_multilingual:
        known = {code: token for code, token in known.items() if code == "en"}
    allowed = {code: token for code, token in known.items() if codes is None or code in codes}
    if not allowed:
        raise OptionError(
            f"the model has none of languages={','.join(codes or ())}; it knows "
            f"{f'{len(known)} others' if len(known) > 1 else 'English only'}, use another model"
        )
    return allowed


def _detected(allowed: dict[str, int], row: np.ndarray) -> DetectedLanguage:
    tokens = np.array(list(allowed.values()))
    logits = row[tokens]
    if not np.isfinite(logits.max()):
        raise BackendError(
            "expected logits of the languages that are finite or -inf, got NaN, inf or nothing but -inf; check the "
            "audio for NaN, or load the model with precision='float32'"
        )
    weights = np.exp(logits - logits.max())
    probs = dict(zip(allowed, (weights / weights.sum()).tolist(), strict=True))
    best = max(probs, key=probs.__getitem__)
    return DetectedLanguage(best, allowed[best], probs)
