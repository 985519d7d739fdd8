"""Traces of scripted models, and an engine that also tells where it looks."""

from __future__ import annotations

from typing import Any

import numpy as np

from sasayaki.model import Whisper
from sasayaki.trace import Trace
from tests.decoding.scripts import N_VOCAB, SMALL_TOKENIZER, random_script
from tests.fakes import FakeAudio, Script, ScriptedInference, byte_tokenizer


class WatchedInference(ScriptedInference):
    """A scripted engine whose heads look at the position 10 * (token's place), each head one further."""

    def cross_attention(
        self, audio: FakeAudio, tokens: tuple[int, ...], heads: tuple[tuple[int, int], ...]
    ) -> np.ndarray:
        weights = np.zeros((len(heads), len(tokens), 1500), np.float32)
        for head in range(len(heads)):
            weights[head, range(len(tokens)), 10 * np.arange(len(tokens)) + head] = 1
        return weights


def random_model(seed: int = 3, **script: Any) -> Whisper:
    """A model with random logits over a small vocabulary."""
    return Whisper(ScriptedInference(random_script(seed, **script), n_vocab=N_VOCAB), SMALL_TOKENIZER)


def watched_model(script: Script) -> Whisper:
    """A model over the byte vocabulary that tells where two of its heads look."""
    return Whisper(WatchedInference(script), byte_tokenizer(), alignment_heads=((0, 0), (0, 1)))


def trace_of(model: Whisper, **options: Any) -> Trace:
    """The trace of one decode."""
    trace = Trace()
    model.decode(np.zeros((80, 3000), np.float32), trace=trace, **{"language": "en", "sample_len": 8, **options})
    return trace
