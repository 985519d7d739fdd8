"""Batches through the public `decode`: options for each window, rows that leave, seeds, and real weights."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import sasayaki
from sasayaki.errors import OptionError
from sasayaki.inference.base import Row
from sasayaki.model import Whisper
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult
from tests.decoding.scripts import decode_names, decoder_of, mel, outcome, random_script, scripted
from tests.fakes import EOT, N_VOCAB, ScriptedInference, byte_tokenizer, one_hot, ts

DATA = Path(__file__).parent.parent / "data"
PLAIN = DecodingOptions(language="en")
BEAMS = DecodingOptions(language="en", beam_size=4)
SAMPLES = DecodingOptions(language="en", temperature=0.9, best_of=3)


def whisper(seed: int = 0) -> Whisper:
    script = random_script(seed, n_vocab=N_VOCAB, eot=-1.0)
    return Whisper(ScriptedInference(script), byte_tokenizer(), suppress=())


def test_each_window_of_a_batch_may_have_its_own_options() -> None:
    model = whisper()
    options = [PLAIN, BEAMS, SAMPLES]
    together = model.decode(mel(1.0, 2.0, 3.0), options, sample_len=12)
    alone = [model.decode(mel(name), each, sample_len=12) for name, each in zip((1.0, 2.0, 3.0), options, strict=True)]
    assert [outcome(result) for result in together] == [outcome(result) for result in alone]
    assert outcome(model.decode(mel(1.0), [PLAIN], sample_len=12)) == outcome(alone[0])
    assert model.decode(mel(1.0)[None][:0], []) == []


@pytest.mark.parametrize(
    ("windows", "n_options"), [(mel(1.0, 2.0), 3), (mel(1.0, 2.0), 1), (mel(1.0), 2), (mel(1.0), 0)]
)
def test_options_of_another_number_than_windows_are_refused(windows: np.ndarray, n_options: int) -> None:
    model = whisper()
    with pytest.raises(OptionError, match=f"got {n_options}"):
        model.decode(windows, [PLAIN] * n_options)
    assert isinstance(model.inference, ScriptedInference)
    assert not model.inference.encoded


def test_a_wrong_option_of_one_window_is_refused_before_any_model_work() -> None:
    model = whisper()
    with pytest.raises(OptionError, match="prompt"):
        model.decode(mel(1.0, 2.0), [PLAIN, DecodingOptions(language="en", prompt=[10**6])])
    assert isinstance(model.inference, ScriptedInference)
    assert not model.inference.encoded


def test_a_step_has_the_rows_that_live_and_no_others() -> None:
    """B163: audios that were done were decoded on until the last one was."""

    def script(name: object, history: tuple[int, ...]) -> np.ndarray:
        if len(history) == 3:
            return one_hot(ts(0))
        return one_hot(EOT if len(history) >= 4 + 3 * float(str(name)) else ord("a"))

    decoder = decoder_of(script, tokenizer=byte_tokenizer())
    decode_names(decoder, [1.0, 3.0, 2.0], [PLAIN, BEAMS, PLAIN])
    names = [sorted(row.audio.name for row in call.rows) for call in scripted(decoder).calls]
    assert names[0] == [1.0, 2.0, 3.0]
    assert names[1] == [1.0, 2.0, *[3.0] * 4]
    assert 1.0 in names[4]
    assert 1.0 not in names[5]
    assert set(names[-1]) == {3.0}


@pytest.mark.parametrize("options", [PLAIN, BEAMS, SAMPLES])
def test_no_step_is_spent_on_a_search_that_is_over(options: DecodingOptions) -> None:
    decoder = decoder_of(random_script(4, eot=2.0))
    decode_names(decoder, [1.0], options)
    alone = [len(call.rows) for call in scripted(decoder).calls]
    both = decoder_of(random_script(4, eot=2.0))
    decode_names(both, [1.0, 1.0], options)
    assert [len(call.rows) for call in scripted(both).calls] == [2 * n for n in alone]


# Seeds

SEEDED = """
from tests.decoding.scripts import decode_names, decoder_of, random_script
from sasayaki.options import DecodingOptions
options = DecodingOptions(language="en", temperature=1.0, best_of=3, seed=SEED)
print([each.tokens for each in decode_names(decoder_of(random_script(8)), [5.0], options)[0].hypotheses])
"""


def seeded(seed: int) -> DecodingOptions:
    return DecodingOptions(language="en", temperature=1.0, best_of=3, seed=seed)


def test_a_seed_gives_the_same_text_in_a_fresh_process_and_another_seed_another() -> None:
    root = Path(__file__).parent.parent.parent
    decoder = decoder_of(random_script(8))
    here = {}
    for seed in (0, 7):
        run = subprocess.run(
            [sys.executable, "-c", SEEDED.replace("SEED", str(seed))],
            capture_output=True,
            text=True,
            cwd=root,
            check=True,
        )
        here[seed] = str([each.tokens for each in decode_names(decoder, [5.0], seeded(seed))[0].hypotheses])
        assert run.stdout.strip() == here[seed]
    assert here[0] != here[7]


@pytest.mark.parametrize("case", range(10))
def test_a_seed_gives_the_same_text_in_any_order_alone_or_batched(case: int) -> None:
    draw = random.Random(case)
    decoder = decoder_of(random_script(case))
    requests = [(float(draw.randrange(3)), seeded(draw.randrange(3))) for _ in range(6)]
    alone = [outcome(decode_names(decoder, [name], options)[0]) for name, options in requests]
    order = draw.sample(range(6), 6)
    together = decode_names(decoder, [requests[i][0] for i in order], [requests[i][1] for i in order])
    assert [outcome(result) for result in together] == [alone[i] for i in order]


# Real weights

RECORDINGS = (
    "en_jfk.mp3",
    "en_lj_LJ001-0002.mp3",
    "en_fox.ogg",
    "en_ast_privacy-prompt.gsm",
    "en_lj_LJ001-0008.mp3",
    "en_libri_367-130732-0006.flac",
    "en_watson_weather.ogg",
    "en_ast_conf-waitforleader.gsm",
)
PROMPT_LENGTHS = (0, 223, 8, 111, 1, 222, 50, 200)
N_TOKENS = 8


def real_options(model: Whisper) -> list[DecodingOptions]:
    """Beams of all sizes and samples, prompts from nothing to all that the context holds."""
    prompt = model.tokenizer.encode(" Thunderstorms could produce large hail, isolated tornadoes and heavy rain." * 20)
    searches = [{"beam_size": 1}, {"beam_size": 5}, {"temperature": 0.6, "best_of": 2}, {"beam_size": 3}]
    searches += [{"beam_size": 2}, {"beam_size": 4}, {}, {"beam_size": 5, "without_timestamps": True}]
    return [
        DecodingOptions(language="en", prompt=prompt[:length], sample_len=N_TOKENS, **search)
        for length, search in zip(PROMPT_LENGTHS, searches, strict=True)
    ]


def mel_of(recording: str) -> np.ndarray:
    return sasayaki.log_mel_spectrogram(sasayaki.pad_or_trim(sasayaki.load_audio(DATA / recording)))


def facts(result: DecodingResult) -> list[tuple[tuple[int, ...], str]]:
    return [(each.tokens, each.stop) for each in result.hypotheses]


@pytest.fixture
def one_thread() -> Iterator[None]:
    """PyTorch's threads wait for each other for long where other programs run."""
    n_thread = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_thread)


@pytest.mark.weights
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("name", "backend", "n_audio"), [("base", "openvino", 8), ("tiny.en", "torch", 4)])
def test_real_windows_decode_together_as_they_do_alone(
    real_model: Callable[[str, str], Whisper], name: str, backend: str, n_audio: int
) -> None:
    """B163, at float32: the same tokens in another order; sums differ by rounding alone."""
    model = real_model(name, backend)
    mels = [mel_of(recording) for recording in RECORDINGS[:n_audio]]
    audios, options = model.embed_audio(np.stack(mels)), real_options(model)[:n_audio]
    alone = [model.decode(audio, each) for audio, each in zip(audios, options, strict=True)]
    order = [*range(1, n_audio, 2), *range(0, n_audio, 2)][::-1]
    for place, result in zip(order, model.decode(audios[order], [options[i] for i in order]), strict=True):
        assert facts(result) == facts(alone[place])
        sums = [each.sum_logprob for each in alone[place].hypotheses]
        assert [each.sum_logprob for each in result.hypotheses] == pytest.approx(sums, abs=2e-3)


@pytest.mark.weights
@pytest.mark.parametrize("recording", RECORDINGS[:3])
def test_real_scores_are_those_of_the_tokens_fed_again(
    real_model: Callable[[str, str], Whisper], recording: str
) -> None:
    """B27, at float32: all tokens at once in a fresh session, against step by step through all reorders."""
    model = real_model("tiny.en", "openvino")
    window = mel_of(recording)
    (audio,) = model.inference.encode(window[None])
    result = model.decode(window, beam_size=5, sample_len=60)
    initial = model.tokenizer.with_language("en", "transcribe").sot_sequence
    for hypothesis in result.hypotheses:
        fed = (*initial, *hypothesis.tokens)
        reads = tuple(range(len(initial) - 1, len(fed) - 1))
        logits = model.inference.start().forward([Row(audio, fed, read=reads)])[0].astype(np.float64)
        own = logits[range(len(reads)), hypothesis.tokens] - np.logaddexp.reduce(logits, axis=-1)
        assert hypothesis.token_raw_logprobs == pytest.approx(own.tolist(), abs=1e-4)
