"""From a recording to its words with real weights; exact tokens are the matter of test_golden."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sasayaki
from sasayaki.model import Whisper
from tests.scripted_model import wav

pytestmark = pytest.mark.weights

DATA = Path(__file__).parent / "data"
JFK = DATA / "en_jfk.mp3"
RealModel = Callable[[str, str], Whisper]


def words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def mel_of(name: str) -> np.ndarray:
    return sasayaki.log_mel_spectrogram(sasayaki.pad_or_trim(sasayaki.load_audio(DATA / name)))


@pytest.mark.parametrize("backend", ["openvino", "torch"])
def test_a_recording_is_transcribed(real_model: RealModel, backend: str) -> None:
    result = real_model("tiny.en", backend).transcribe(JFK)
    assert words(result.text) == (
        "and so my fellow americans ask not what your country can do for you ask what you can do for your country"
    )
    assert result.duration == 11
    assert result.segments[0].start < 1
    assert 10 < result.segments[-1].end <= 11


def test_the_default_engine_and_precision_give_the_words(real_model: RealModel) -> None:
    real_model("tiny.en", "openvino")  # skips where the weights are missing
    model = sasayaki.load_model("tiny.en", local_files_only=True)
    assert "ask not what your country can do for you" in words(model.transcribe(JFK).text)


@pytest.mark.parametrize("options", [{"without_timestamps": True}, {"temperature": 0.6, "best_of": 2, "seed": 4}])
def test_a_batch_on_torch_is_what_each_window_is_alone(real_model: RealModel, options: dict[str, object]) -> None:
    model = real_model("tiny.en", "torch")
    mels = np.stack([mel_of(name) for name in ("en_fox.ogg", "en_lj_LJ001-0002.mp3", "en_lj_LJ001-0008.mp3")])
    together = model.decode(mels, sample_len=20, **options)
    alone = [model.decode(mel, sample_len=20, **options) for mel in mels]
    assert [result.tokens for result in together] == [result.tokens for result in alone]


@pytest.mark.parametrize(
    ("name", "language"),
    [("de_th_gt01.wav", "de"), ("es_mls_13697.opus", "es"), ("ja_pv_leopard.wav", "ja"), ("en_jfk.mp3", "en")],
)
def test_the_language_is_detected(real_model: RealModel, name: str, language: str) -> None:
    _, probs = real_model("base", "openvino").detect_language(mel_of(name))
    assert max(probs, key=probs.__getitem__) == language
    assert sum(probs.values()) == pytest.approx(1)


def test_speech_is_translated(real_model: RealModel) -> None:
    model = real_model("base", "openvino")
    result = model.transcribe(DATA / "es_ast_privacy-unident.wav", task="translate", language="es")
    assert re.search(r"person|call|accept", result.text.lower())


@pytest.mark.parametrize("seconds", [1.2, 45])
def test_digital_silence_gives_nothing_beyond_the_file(real_model: RealModel, seconds: float) -> None:
    """B110: text was invented, with an end time of 10 to 30 s."""
    silence = np.zeros(round(seconds * 16000), np.float32)
    result = real_model("tiny.en", "openvino").transcribe(silence, beam_size=None, temperature=(0.0, 0.4), best_of=1)
    assert all(0 <= segment.start < segment.end <= seconds for segment in result.segments)


def test_two_speakers_on_two_channels_are_told_apart(real_model: RealModel, tmp_path: Path) -> None:
    """Both speak at the same time: the mix is a muddle, the channels are not."""
    left, right = sasayaki.load_audio(JFK), sasayaki.load_audio(DATA / "en_lj_LJ001-0001.mp3")
    right = np.pad(right, (0, len(left) - len(right)))
    path = tmp_path / "stereo.wav"
    path.write_bytes(wav(left, right))
    result = real_model("tiny.en", "openvino").transcribe(path, channels="split")
    said = {
        channel: words("".join(each.text for each in result.segments if each.channel == channel)) for channel in (0, 1)
    }
    assert said[0].startswith("and so my fellow americans")
    assert "fellow" not in said[1]
    assert said[1].startswith("printing")
    assert [each.start for each in result.segments] == sorted(each.start for each in result.segments)


def test_a_known_text_is_aligned_over_windows_and_what_nobody_says_is_marked(real_model: RealModel) -> None:
    with (DATA / "manifest.tsv").open(encoding="utf-8", newline="") as file:
        texts = {row["file"]: row["text"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    names = [JFK.name, *(f"en_lj_LJ001-000{number}.mp3" for number in range(1, 6))]
    clips = [sasayaki.load_audio(DATA / name) for name in names]
    gap = np.zeros(8000, np.float32)
    foreign = "The committee will meet on Tuesday to discuss the new budget for the school."
    lines = [texts[name] for name in names]
    alignment = real_model("tiny.en", "openvino").align(
        np.concatenate([part for clip in clips for part in (clip, gap)]), "\n".join([*lines[:3], foreign, *lines[3:]])
    )
    assert alignment.duration > 45
    lost = [word for word in alignment.words if not word.is_aligned]
    assert "".join(word.word for word in lost) == f" {foreign}"
    times = [time for word in alignment.words for time in (word.start, word.end) if time is not None]
    assert times == sorted(times)
    begin = 0.0
    for line, clip in zip((0, 1, 2, 4, 5, 6), clips, strict=True):
        own = [word for word in alignment.words if word.line == line]
        end = begin + len(clip) / 16000
        assert begin <= own[0].start < begin + 0.6
        assert end - 0.6 < own[-1].end <= end + 0.1
        begin = end + 0.5
