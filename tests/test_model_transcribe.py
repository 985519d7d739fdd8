"""The Whisper object on recordings of any length: transcribe and stream."""

from __future__ import annotations

import gc
import io
import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
import warnings
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sasayaki
from sasayaki import AudioError, OptionError, StoppedError, TranscribeOptions, Transcription
from sasayaki.audio import LogMel
from sasayaki.audio import samples as samples_module
from sasayaki.decoding.decode import Decoder
from sasayaki.model import Whisper
from sasayaki.transcribe.stop import Stop
from tests.fakes import EOT, N_VOCAB, SOT, SOT_PREV, TIMESTAMP_BEGIN, say, text, ts
from tests.scripted_model import TONES, make_english_model, make_model, sentence, speak, tone, wav

RECORDING = np.concatenate([tone("low", 30), tone("high", 30), tone("middle", 5)])
SECONDS = 16000


@pytest.fixture
def model() -> Whisper:
    return make_model()


def babble(name: object, history: tuple[int, ...]) -> np.ndarray:
    """Logits that leave the choice of the letters, and of the end, to chance."""
    logits = np.full(N_VOCAB, -30.0, np.float32)
    logits[list(range(97, 123))] = 0.0
    logits[EOT] = -1.0
    return logits


def test_a_recording_is_transcribed_window_by_window(model: Whisper) -> None:
    result = model.transcribe(RECORDING, language="en")
    assert result.text == " low high middle"
    assert [(segment.id, segment.seek, segment.start, segment.end, segment.text) for segment in result.segments] == [
        (0, 0, 0.0, 30.0, " low"),
        (1, 3000, 30.0, 60.0, " high"),
        (2, 6000, 60.0, 65.0, " middle"),
    ]
    assert (result.language, result.duration) == ("en", 65.0)


def test_all_of_45_s_is_transcribed(model: Whisper) -> None:
    """B113: the low-level call cut the audio after 30 s; what is said at 40 s must be in the text."""
    result = model.transcribe(np.concatenate([tone("low", 30), tone("high", 15)]))
    assert "high" in result.text
    assert result.segments[-1].end == 45


@pytest.mark.parametrize(
    ("n_samples", "n_windows"),
    [
        (0, 0),
        (1, 0),
        (159, 0),
        (160, 1),
        (161, 1),
        (30 * SECONDS - 1, 1),
        (30 * SECONDS, 1),
        (30 * SECONDS + 160, 2),
        (60 * SECONDS, 2),
        (60 * SECONDS + 159, 2),
    ],
)
def test_recordings_of_every_length_are_done(model: Whisper, n_samples: int, n_windows: int) -> None:
    done: list[tuple[float, float]] = []
    audio = tone("low", n_samples / SECONDS)
    result = model.transcribe(audio, language="en", short_context=False, progress=lambda *at: done.append(at))
    assert len(model.inference.encoded) == len(done) == n_windows
    assert result.duration == n_samples // 160 / 100
    assert all(0 <= segment.start < segment.end <= result.duration for segment in result.segments)
    assert [at for at, _ in done] == sorted({at for at, _ in done})
    assert all(of == result.duration for _, of in done)
    if done:
        assert done[-1] == (result.duration, result.duration)


@pytest.mark.parametrize("language", [None, "de", "fr", "ja"])
@pytest.mark.parametrize("seconds", [1.2, 45])
def test_digital_silence_gives_times_within_the_file(seconds: float, language: str | None) -> None:
    """B110: subtitle credits came out of zeros, with times of 10 to 30 s."""
    credits_ = (ts(0), *text(" Subtitles"), ts(10), ts(12), *text(" by someone"), ts(30))
    model = make_model(speak({"silence": credits_}))
    result = model.transcribe(np.zeros(round(seconds * SECONDS), np.float32), language=language)
    assert all(0 <= segment.start < segment.end <= seconds for segment in result.segments)
    assert all(np.isfinite(mel).all() for mel in model.inference.encoded)


@pytest.mark.parametrize(
    "audio",
    [np.zeros(0, np.float32), np.zeros(16000, np.float32), 1e-4 * np.random.default_rng(0).normal(size=16000)],
    ids=["empty", "zeros", "noise"],
)
def test_a_rare_language_of_near_silence_is_harmless(audio: np.ndarray) -> None:
    """B101: a detection of `cy` for near-silence made the next step fail."""
    result = make_model(speak(language="cy")).transcribe(audio)
    assert isinstance(result.text, str)
    assert result.language == ("cy" if len(audio) else "en")


def test_the_language_is_detected_once_from_the_first_window() -> None:
    model = make_model(speak(language="fr"))
    result = model.transcribe(RECORDING)
    assert result.language == "fr"
    assert result.language_probs["fr"] > 0.9
    assert {segment.language for segment in result.segments} == {"fr"}
    assert sum(call.histories == ((SOT,),) for call in model.inference.calls) == 1


def test_a_given_language_is_not_detected(model: Whisper) -> None:
    result = model.transcribe(RECORDING, language="German", short_context=False)
    assert (result.language, result.language_probs) == ("de", None)
    assert len(model.inference.encoded) == 3


@pytest.mark.parametrize("prompt", [None, "", "a", "twelve chars", "long " * 50, (), (65,), tuple([66] * 250)])
def test_the_text_is_that_of_the_segments_whatever_the_prompt(model: Whisper, prompt: Any) -> None:
    """B56: the text lost its beginning, cut by the length of a prompt."""
    result = model.transcribe(RECORDING, initial_prompt=prompt, language="en")
    assert result.text == "".join(segment.text for segment in result.segments) == " low high middle"


@pytest.mark.parametrize("prompt", [text("x" * 222), text("y" * 223), text("z" * 300), "names " * 60])
def test_a_carried_prompt_is_in_front_of_every_window(model: Whisper, prompt: Any) -> None:
    """B18: the engine is fed the last 223 tokens of the prompt in every window."""
    model.transcribe(RECORDING, initial_prompt=prompt, carry_initial_prompt=True, language="en", short_context=False)
    carried = (text(" " + prompt.strip()) if isinstance(prompt, str) else prompt)[-223:]
    starts = [call.rows[0].tokens for call in model.inference.calls if call.rows[0].source is None]
    assert len(starts) == 3
    for start in starts:
        assert start[: len(carried) + 1] == (SOT_PREV, *carried)
        assert start.index(SOT) <= 224


GIVEN = {
    "task": "translate",
    "sample_len": 7,
    "best_of": 3,
    "beam_size": 4,
    "patience": 1.5,
    "length_penalty": 0.5,
    "prefix": (65,),
    "suppress_tokens": (66, 67),
    "suppress_blank": False,
    "without_timestamps": True,
    "max_initial_timestamp": 0.5,
    "fp16": False,
    "seed": 9,
    "temperature": 0.7,
    "language": "de",
}


@pytest.mark.parametrize("call", ["transcribe", "stream", "options"])
@pytest.mark.parametrize("name", GIVEN)
def test_every_option_reaches_the_decoder(
    model: Whisper, monkeypatch: pytest.MonkeyPatch, name: str, call: str
) -> None:
    """B31, B164: options were accepted and dropped, or replaced in silence."""
    received: list[Any] = []
    decode = Decoder.decode

    def spy(self: Decoder, audios: Any, options: Any) -> Any:
        received.extend(options)
        return decode(self, audios, options)

    monkeypatch.setattr(Decoder, "decode", spy)
    given = {name: GIVEN[name]} | ({"temperature": 0.3} if name == "best_of" else {})
    audio = tone("low", 1)
    if call == "stream":
        list(model.stream(audio, **given))
    elif call == "options":
        assert getattr(model.transcribe(audio, options=TranscribeOptions(**given)).options, name) == GIVEN[name]
    else:
        assert getattr(model.transcribe(audio, **given).options, name) == GIVEN[name]
    assert getattr(received[0], name) == GIVEN[name]


@pytest.mark.parametrize(
    "wrong", [{"language": "es"}, {"initial_prompt": [10**6]}, {"prefix": [10**6]}, {"suppress_tokens": [10**6]}]
)
@pytest.mark.parametrize("call", ["transcribe", "stream"])
def test_options_that_do_not_fit_are_refused_at_once(model: Whisper, call: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="prompt" if "initial_prompt" in wrong else next(iter(wrong))):
        getattr(model, call)(np.zeros(16000, np.float32), **wrong)
    assert model.inference.encoded == []


@pytest.mark.parametrize("call", ["transcribe", "stream"])
def test_audio_that_cannot_be_read_is_refused_at_once(model: Whisper, call: str, tmp_path: Path) -> None:
    for wrong in (tmp_path / "missing.wav", np.zeros((2, 5), np.float32), b"no audio", np.full(9, np.nan)):
        with pytest.raises(AudioError):
            getattr(model, call)(wrong)


def test_a_stream_is_lazy(model: Whisper) -> None:
    """The first segment is there before the second window is encoded."""
    stream = model.stream(RECORDING, language="en")
    assert len(model.inference.encoded) == 0
    assert next(stream).text == " low"
    assert len(model.inference.encoded) == 1
    assert [segment.text for segment in stream] == [" high", " middle"]


def test_a_stream_gives_what_transcribe_gives(model: Whisper) -> None:
    stream = model.stream(RECORDING)
    first = next(stream)
    result = stream.collect()
    assert result == model.transcribe(RECORDING)
    assert result.segments[0] == first


def test_a_stream_that_is_closed_or_dropped_leaves_no_session_open(model: Whisper) -> None:
    closed, dropped = model.stream(RECORDING), model.stream(RECORDING)
    next(closed)
    closed.close()
    assert list(closed) == []
    next(dropped)
    del dropped
    gc.collect()
    assert model.inference.n_open == 0
    assert model.transcribe(RECORDING).text == " low high middle"


def failing_script(fails: list[bool]) -> Callable[[Any, tuple[int, ...]], np.ndarray]:
    def script(name: Any, history: tuple[int, ...]) -> np.ndarray:
        if name == "high" and fails[0] and len(history) > 8:
            raise RuntimeError("out of memory")
        return speak()(name, history)

    return script


def test_a_transcription_that_fails_leaves_the_model_as_new() -> None:
    """B44: what an exception left behind changed the calls after it."""
    fails = [True]
    model = make_model(failing_script(fails))
    with pytest.raises(RuntimeError, match="out of memory"):
        model.transcribe(RECORDING, initial_prompt="other")
    stream = model.stream(RECORDING)
    assert next(stream).text == " low"
    with pytest.raises(RuntimeError, match="out of memory"):
        next(stream)
    assert model.inference.n_open == 0
    fails[0] = False
    expected = make_model().transcribe(RECORDING)
    for _ in range(3):
        assert model.transcribe(RECORDING) == expected


def test_a_progress_callback_that_fails_ends_the_transcription(model: Whisper) -> None:
    def stop(done: float, duration: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.transcribe(RECORDING, progress=stop)
    assert model.inference.n_open == 0
    assert model.transcribe(RECORDING).text == " low high middle"


def n_steps(model: Whisper) -> int:
    return len(model.inference.calls)


@pytest.mark.parametrize("n_asked", [0, 1, 5, 9, 17])
def test_a_cancelled_transcription_stops_within_a_step(model: Whisper, n_asked: int) -> None:
    """B155: work went on to its end though nobody waited for it."""
    answers: list[int] = []

    def cancel() -> bool:
        answers.append(n_steps(model))
        return len(answers) > n_asked

    with pytest.raises(StoppedError, match="cancel") as caught:
        model.transcribe(RECORDING, cancel=cancel)
    assert len(answers) == n_asked + 1
    assert n_steps(model) <= answers[-1]
    assert model.inference.n_open == 0
    assert caught.value.reason == "cancel"
    assert model.transcribe(RECORDING).text == " low high middle"


def test_what_was_final_before_a_stop_is_in_the_error(model: Whisper) -> None:
    segments: list[str] = []
    stream = model.stream(RECORDING, language="en", cancel=lambda: len(model.inference.encoded) > 1)
    with pytest.raises(StoppedError) as caught:
        segments.extend(segment.text for segment in stream)
    assert segments == [" low"]
    assert caught.value.transcription.text == " low"
    assert list(stream) == []


def test_a_time_limit_stops_within_a_step(model: Whisper, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(10**6))
    monkeypatch.setattr(Stop.__init__, "__kwdefaults__", {"clock": lambda: next(seconds)})
    with pytest.raises(StoppedError, match="time_limit=40") as caught:
        model.transcribe(RECORDING, time_limit=40)
    assert caught.value.reason == "time_limit"
    assert 0 < n_steps(model) < 40
    assert model.inference.n_open == 0


@pytest.mark.parametrize("limit", [0, -1.0, float("nan")])
def test_a_time_limit_that_cannot_be_kept_is_refused(model: Whisper, limit: float) -> None:
    with pytest.raises(OptionError, match="time_limit"):
        model.transcribe(RECORDING, time_limit=limit)


@pytest.mark.parametrize("place", ["reading", "first pass", "detecting", "decoding"])
def test_an_interrupt_anywhere_leaves_nothing_open(
    model: Whisper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    """Ctrl-C raises where the program happens to be."""
    path = tmp_path / "tone.wav"
    path.write_bytes(wav(tone("high", 31)))
    made: list[Any] = []
    monkeypatch.setattr(samples_module, "_IN_MEMORY", 1)
    monkeypatch.setattr(samples_module, "SpooledTemporaryFile", lambda **given: remember(made, given))

    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    targets = {"reading": (samples_module.StoredSamples, "append"), "first pass": (LogMel, "_block")}
    targets |= {"detecting": (Decoder, "detect_languages"), "decoding": (model.inference, "script")}
    with monkeypatch.context() as patch:
        patch.setattr(*targets[place], interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.transcribe(path)
    assert [file.closed for file in made] == [True]
    assert model.inference.n_open == 0
    assert model.transcribe(path).text == " high high"


def remember(made: list[Any], given: dict[str, Any]) -> Any:
    made.append(tempfile.SpooledTemporaryFile(**given))  # noqa: SIM115 (that it is closed is tested)
    return made[-1]


def test_a_long_recording_needs_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """8 minutes are 15 MB of samples and 15 MB of mel; neither is kept (scripts/measure_long.py has 10 hours)."""
    monkeypatch.setattr(samples_module, "_IN_MEMORY", 10**6)
    data = wav(np.tile(tone("low", 30), 16))
    model = make_model()
    model.inference.encoded = deque(maxlen=1)
    model.inference.calls = deque(maxlen=1)
    tracemalloc.start(1)
    try:
        result = model.transcribe(data, language="en", beam_size=None, max_initial_timestamp=0.0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(result.segments), result.segments[-1].end) == (16, 480.0)
    assert peak < 15e6, peak


GROWTH = """
import gc
import sys
import weakref
from collections import deque
from concurrent.futures import ThreadPoolExecutor

from tests.scripted_model import make_model, tone, wav
from tests.test_model_transcribe import resident_mb

model, data = make_model(), wav(tone("low", 3))
model.inference.encoded, model.inference.calls = deque(maxlen=1), deque(maxlen=1)
work = lambda _: model.transcribe(data, language="en", beam_size=None, sample_len=2)
with ThreadPoolExecutor(int(sys.argv[1])) as pool:
    list(pool.map(work, range(100)))  # until each heap of each thread has been used
    gc.collect()
    before = resident_mb()
    list(pool.map(work, range(100)))
gc.collect()
print(resident_mb() - before)
"""


@pytest.mark.parametrize("n_threads", [1, 4])
def test_memory_does_not_grow_with_the_number_of_recordings(n_threads: int) -> None:
    """B176: workers grew until they were killed, mainly when called in parallel.

    In a process of its own: what other tests have left in the heap decides how much of it can be used again.
    """
    command = [sys.executable, "-c", GROWTH, str(n_threads)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 30


def resident_mb() -> float:
    """Memory of this process, where the system tells; a constant elsewhere."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6 if status.exists() else 0.0


JOINS = {
    "a space of its own": ("Hello, this", " is it", "Hello, this is it"),
    "Chinese": ("你好", "世界", "你好世界"),
    "Thai": ("สวัสดี", "ครับ", "สวัสดีครับ"),
    "Korean": ("안녕", " 세계", "안녕 세계"),
    "nothing": ("Hello", "", "Hello"),
    "a comma": ("Hello", ", you", "Hello, you"),
}


@pytest.mark.parametrize("case", JOINS)
def test_texts_of_windows_are_joined_as_the_model_spaces_them(case: str) -> None:
    """B65: a blank was put between Chinese windows, or left out between Korean ones."""
    first, second, expected = JOINS[case]
    says = {"low": (ts(0), *text(first), ts(30)), "high": (ts(0), *text(second), ts(30)) if second else (ts(0),)}
    audio = np.concatenate([tone("low", 30), tone("high", 30)])
    assert make_model(speak(says)).transcribe(audio, language="en").text == expected


def test_progress_is_told_window_by_window_and_stays_within_the_clip(model: Whisper) -> None:
    done: list[tuple[float, float]] = []
    model.transcribe(RECORDING, clip_timestamps="20,31,40,41", progress=lambda *at: done.append(at))
    assert done == [(31, 65), (41, 65)]


def test_progress_never_passes_a_clip_whose_last_timestamp_does() -> None:
    model = make_model(speak({"low": (ts(0), *text(" low"), ts(9), ts(9), *text(" more"))}))
    done: list[float] = []
    model.transcribe(tone("low", 3), language="en", progress=lambda seconds, _: done.append(seconds))
    assert done == [3]


def test_sampling_depends_on_the_input_alone() -> None:
    """B22: the text of a sample was a function of the number of calls before it."""
    model = make_model(babble)
    options: dict[str, Any] = {"temperature": 0.8, "best_of": 2, "language": "en", "vad": "off"}
    audio = tone("low", 2)
    texts = [model.transcribe(audio, seed=1, **options).text for _ in range(4)]
    assert len(set(texts)) == 1
    assert texts[0]
    assert model.transcribe(audio, seed=2, **options).text != texts[0]
    assert len({model.transcribe(audio, **options).text for _ in range(3)}) == 1
    assert len({model.transcribe(audio, seed=None, **options).text for _ in range(3)}) > 1
    code = (
        "from tests.test_model_transcribe import babble; from tests.scripted_model import make_model, tone\n"
        f"print(make_model(babble).transcribe(tone('low', 2), seed=1, **{options!r}).text)"
    )
    root = Path(__file__).parent.parent
    fresh = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert fresh.stdout.rstrip("\n") == texts[0]


def test_threads_that_share_a_model_each_get_their_own_text() -> None:
    """B153, B22: words of one request were in another's text."""

    def script(name: Any, history: tuple[int, ...]) -> np.ndarray:
        return babble(name, history) if name == "silence" else speak()(name, history)

    model = make_model(script)
    sampled = {"temperature": 0.9, "seed": 3, "without_timestamps": True, "language": "en", "sample_len": 40}
    alone = model.transcribe(np.zeros(16000, np.float32), **sampled).text

    def work(number: int) -> None:
        name = list(TONES)[number % 4]
        audio = np.concatenate([tone(name, 30), tone(name, 3)])
        result = model.transcribe(audio, language=("en", "de")[number % 2], initial_prompt=f"prompt {number}")
        assert result.text == f" {name} {name}"
        assert result.language == ("en", "de")[number % 2]
        assert model.transcribe(np.zeros(16000, np.float32), **sampled).text == alone

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(12)))


@pytest.mark.parametrize(
    "asked", [{"language": "fr"}, {"task": "translate"}, {"language": "German", "task": "translate"}]
)
@pytest.mark.parametrize("call", ["transcribe", "stream"])
def test_an_english_only_model_warns_once_and_transcribes_english(call: str, asked: dict[str, str]) -> None:
    """B98: it crashed, or wrote wrong text."""
    model = make_english_model()
    with pytest.warns(UserWarning, match="English-only") as caught:
        segments = list(
            getattr(model, call)(RECORDING, **asked).segments
            if call == "transcribe"
            else model.stream(RECORDING, **asked)
        )
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert [segment.text for segment in segments] == [" low", " high", " middle"]
    assert {segment.language for segment in segments} == {"en"}


@pytest.mark.parametrize("language", [None, "en", "English"])
def test_an_english_only_model_takes_english_without_a_warning(language: str | None) -> None:
    """B98: no language token in the prompt, and no detection pass."""
    model = make_english_model()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = model.transcribe(RECORDING, language=language, condition_on_previous_text=False, short_context=False)
    assert (result.language, result.language_probs) == ("en", None)
    assert len(model.inference.encoded) == 3
    starts = [call.rows[0].tokens for call in model.inference.calls if call.rows[0].source is None]
    assert starts == [(SOT,)] * 3


def test_results_read_like_dicts_and_become_json(model: Whisper) -> None:
    result = model.transcribe(RECORDING, initial_prompt="x")
    assert result["text"] == result.text
    assert result["segments"][0]["start"] == 0.0
    assert result["segments"][-1]["tokens"][0] == TIMESTAMP_BEGIN
    assert {"text", "segments", "language"} <= set(result)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["text"] == result.text
    assert plain["segments"][1]["end"] == 60.0
    assert isinstance(result, Transcription)


def test_options_may_come_as_an_object_with_overrides(model: Whisper) -> None:
    options = TranscribeOptions(language="de", beam_size=None)
    assert model.transcribe(RECORDING, options=options).language == "de"
    assert model.transcribe(RECORDING, options=options, language="fr").language == "fr"
    assert options.language == "de"


@pytest.mark.parametrize("use", ["nothing", "transcribe", "stream", "exception"])
def test_a_model_is_freed_when_it_is_dropped(use: str) -> None:
    """B179: dropped models stayed in memory until the process was killed."""
    model = make_model(failing_script([use == "exception"]))
    if use == "transcribe":
        model.transcribe(RECORDING)
    if use == "stream":
        next(model.stream(RECORDING))
    if use == "exception":
        with pytest.raises(RuntimeError, match="out of memory"):
            model.transcribe(RECORDING)
    references = [weakref.ref(model), weakref.ref(model.inference)]
    del model
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_every_source_of_audio_is_taken(model: Whisper, tmp_path: Path) -> None:
    path = tmp_path / "tone.wav"
    data = wav(tone("high", 2))
    path.write_bytes(data)
    for source in (path, str(path), data, io.BytesIO(data), tone("high", 2), tone("high", 2).tolist()):
        result = sasayaki.transcribe(model, source, language="en")
        assert (result.text, result.duration) == (" high", 2.0)


def test_the_best_sentence_wins_over_a_loop() -> None:
    """The ladder works through the whole object: a loop at temperature 0 is sampled again."""

    def script(name: Any, history: tuple[int, ...]) -> np.ndarray:
        return say(sentence("la " * 60))(name, history) if history != (SOT,) else speak()(name, history)

    (segment,) = make_model(script).transcribe(tone("low", 3), temperature=(0.0, 0.2), compat=True).segments
    assert [attempt.failed for attempt in segment.attempts] == [("compression_ratio_threshold",)] * 2
    assert [attempt.temperature for attempt in segment.attempts] == [0.0, 0.2]


@pytest.mark.parametrize("vad", ["silero", "energy", "off"])
@pytest.mark.parametrize("way", ["transcribe", "stream", "transcribe_many"])
def test_a_recording_is_let_go_of_without_waiting_for_the_collector(vad: str, way: str) -> None:
    """Recordings of a series stayed in memory, 50 MiB for a quarter of an hour, until cycles were looked for."""
    model = make_model(speak())
    audio = tone("low", 3)
    alive = weakref.ref(audio)
    gc.collect()
    gc.disable()
    try:
        match way:
            case "transcribe":
                model.transcribe(audio, language="en", vad=vad)
            case "stream":
                stream = model.stream(audio, language="en", vad=vad)
                next(stream)
                stream.close()
                del stream
            case "transcribe_many":
                list(model.transcribe_many([audio], language="en", vad=vad))
        del audio
        assert alive() is None
    finally:
        gc.enable()
