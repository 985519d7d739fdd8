"""The decoder on real engines with small random weights: against the slow twins, and batches against singles.

Nothing of the fast path is in what it is compared with: the twin decodes with whole histories over a model in plain
NumPy without a cache.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from sasayaki.checkpoints.names import Checkpoint
from sasayaki.decoding.decode import Decoder
from sasayaki.errors import OptionError
from sasayaki.inference.base import AudioFeatures, Row
from sasayaki.inference.openvino_backend import OpenVINOInference
from sasayaki.inference.torch_backend import TorchInference
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult
from tests.decoding.scripts import N_VOCAB, SMALL_ENGLISH, random_options
from tests.fakes import EOT
from tests.models import random_checkpoint, random_mel, tiny_dims
from tests.reference.numpy_whisper import NumpyWhisper
from tests.reference.slow_decoder import NothingToSampleError, SlowDecoder

N_TEXT_CTX = 40


def checkpoint_that_ends() -> Checkpoint:
    """Random weights with a bias towards the end token, so that some hypotheses end."""
    made = random_checkpoint(tiny_dims(n_vocab=N_VOCAB, n_text_ctx=N_TEXT_CTX), seed=1)
    bias = made.weights["decoder.ln.bias"] + 0.45 * made.weights["decoder.token_embedding.weight"][EOT]
    return replace(made, weights={**made.weights, "decoder.ln.bias": bias})


CHECKPOINT = checkpoint_that_ends()
MEL = random_mel(CHECKPOINT.dims, n_audio=3)
TWIN = NumpyWhisper(CHECKPOINT)
ENGINES = pytest.mark.parametrize("engine", ["openvino", "torch"])


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small are many times slower when cores share the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@cache
def decoder_on(engine: str) -> Decoder:
    if engine == "torch":
        return Decoder(TorchInference(CHECKPOINT, device="cpu", precision="float32"), SMALL_ENGLISH)
    return Decoder(OpenVINOInference(CHECKPOINT, precision="float32", threads=1), SMALL_ENGLISH)


@cache
def audios_on(engine: str) -> Sequence[AudioFeatures]:
    return decoder_on(engine).inference.encode(MEL)


@cache
def twin_logits(number: object, history: tuple[int, ...]) -> np.ndarray:
    """Logits after `history` from the model in NumPy; the script of the slow decoder."""
    return TWIN.logits(history, _twin_features(number))[-1]


@cache
def _twin_features(number: object) -> np.ndarray:
    return TWIN.encode(MEL[int(str(number))])


def options_of(draw: random.Random) -> DecodingOptions:
    options = random_options(draw, n_text_ctx=N_TEXT_CTX)
    return replace(options, task="transcribe", suppress_tokens="-1", max_initial_timestamp=1.0)


@ENGINES
@pytest.mark.parametrize("case", range(8))
def test_any_options_decode_as_the_twins_do(engine: str, case: int) -> None:
    """B48: beams are reordered in the engines' own caches here."""
    draw = random.Random(case)
    options, number = options_of(draw), case % len(MEL)
    expected = SlowDecoder(twin_logits, number, SMALL_ENGLISH, options, N_TEXT_CTX).run()
    (result,) = decoder_on(engine).decode([audios_on(engine)[number]], [options])
    assert result.tokens == expected.tokens
    assert result.avg_logprob == pytest.approx(expected.avg_logprob, abs=1e-4)
    assert result.no_speech_prob == pytest.approx(expected.no_speech_prob, abs=1e-5)
    found = {(each.tokens, each.stop == "eot"): each.score for each in result.hypotheses}
    assert found == pytest.approx({(each.tokens, each.has_end): each.score for each in expected.hypotheses}, abs=1e-4)


def sampling(draw: random.Random, options: DecodingOptions) -> DecodingOptions:
    """The same with samples in place of the search."""
    return replace(
        options, beam_size=None, patience=None, temperature=0.9, best_of=draw.choice([None, 3]), seed=draw.randrange(3)
    )


def facts(result: DecodingResult) -> list[tuple[Any, ...]]:
    return [(each.tokens, each.stop) for each in result.hypotheses]


@ENGINES
@pytest.mark.parametrize("case", range(5))
def test_windows_decode_together_as_they_do_alone(engine: str, case: int) -> None:
    """B163: any mix of greedy search, beams and samples, of prompts and prefixes, in any order and number."""
    draw = random.Random(100 + case)
    decoder, audios = decoder_on(engine), audios_on(engine)
    requests = []
    for _ in range(5):
        options = options_of(draw)
        requests.append((draw.randrange(len(MEL)), sampling(draw, options) if draw.random() < 0.4 else options))
    alone = [decoder.decode([audios[number]], [options])[0] for number, options in requests]
    order = [draw.randrange(5) for _ in range(7)]
    together = decoder.decode([audios[requests[i][0]] for i in order], [requests[i][1] for i in order])
    for place, result in zip(order, together, strict=True):
        assert facts(result) == facts(alone[place])
        sums = [each.sum_logprob for each in alone[place].hypotheses]
        assert [each.sum_logprob for each in result.hypotheses] == pytest.approx(sums, abs=1e-4)


@ENGINES
@pytest.mark.parametrize("case", range(4))
def test_every_score_is_that_of_its_tokens_fed_again(engine: str, case: int) -> None:
    """B27: the whole text is fed at once, in a session of its own, and filtered by the twin's filters."""
    draw = random.Random(200 + case)
    options = replace(options_of(draw), beam_size=None, patience=None)
    options = sampling(draw, options) if case % 2 else replace(options, beam_size=4, patience=2.0)
    audio, number = audios_on(engine)[0], 0
    decoder = decoder_on(engine)
    try:
        (result,) = decoder.decode([audio], [options])
    except OptionError:
        return
    searched = replace(options, temperature=0.0, best_of=None)
    for hypothesis in result.hypotheses:
        tokens = hypothesis.tokens + (EOT,) * (hypothesis.stop == "eot")
        total = forced_sum(decoder, audio, searched, tokens, number)
        length = len(hypothesis.tokens)
        penalty = max(length, 1) if options.length_penalty is None else ((5 + length) / 6) ** options.length_penalty
        assert hypothesis.sum_logprob == pytest.approx(total, abs=1e-4)
        assert hypothesis.score == pytest.approx(total / penalty, abs=1e-4)


def forced_sum(
    decoder: Decoder, audio: AudioFeatures, options: DecodingOptions, tokens: tuple[int, ...], number: int
) -> float:
    """Sum of the filtered log-probabilities of `tokens` behind the initial ones."""
    initial = SlowDecoder(twin_logits, number, SMALL_ENGLISH, options, N_TEXT_CTX).initial
    fed = (*initial, *tokens[:-1])
    session = decoder.inference.start()
    logits = np.asarray(session.forward([Row(audio, fed, read=tuple(range(len(fed))))]))[0]
    session.close()
    forced = SlowDecoder(lambda _, history: logits[len(history) - 1], number, SMALL_ENGLISH, options, N_TEXT_CTX)
    return math.fsum(forced._logprobs((*initial, *tokens[:place]))[token] for place, token in enumerate(tokens))


def test_a_decode_with_nothing_to_sample_is_refused_on_engines_as_on_twins() -> None:
    options = DecodingOptions(suppress_tokens=range(N_VOCAB))
    with pytest.raises(NothingToSampleError):
        SlowDecoder(twin_logits, 0, SMALL_ENGLISH, options, N_TEXT_CTX).run()
    for engine in ("openvino", "torch"):
        with pytest.raises(OptionError, match="no token is left"):
            decoder_on(engine).decode([audios_on(engine)[0]], [options])
