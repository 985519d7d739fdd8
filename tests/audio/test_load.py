"""Reading recordings: formats, sources, damage, hostile names and clear errors."""

import csv
import io
import logging
import os
import wave
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from sasayaki.audio import AudioSource, decode_blocks, load_audio
from sasayaki.errors import AudioError, OptionError

DATA = Path(__file__).parents[1] / "data"
CLIP = DATA / "pt_pv_num.wav"  # 16 kHz, 16 bits, mono: decoding changes nothing
MP3 = DATA / "en_jfk.mp3"


def manifest() -> list[tuple[str, float]]:
    with (DATA / "manifest.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["file"], float(row["seconds"])) for row in rows]


def write_wav(path: Path, samples: np.ndarray, rate: int = 16000) -> Path:
    """Write int16 samples (n_samples, n_channels)."""
    with wave.open(str(path), "wb") as file:
        file.setparams((samples.shape[1], 2, rate, len(samples), "NONE", ""))
        file.writeframes(samples.tobytes())
    return path


def write_video(path: Path, *, with_audio: bool) -> Path:
    """One second of black pictures, with a 440 Hz tone or without."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("mpeg4", rate=10)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        sound = container.add_stream("aac", rate=48000, layout="stereo") if with_audio else None
        for _ in range(10):
            container.mux(video.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), "rgb24")))
        container.mux(video.encode(None))
        if sound is not None:
            tone = np.sin(2 * np.pi * 440 * np.arange(48000) / 48000).astype(np.float32)
            frame = av.AudioFrame.from_ndarray(np.stack([tone, tone]), "fltp", "stereo")
            frame.sample_rate = 48000
            container.mux(sound.encode(frame))
            container.mux(sound.encode(None))
    return path


# --- formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "seconds"), manifest())
def test_every_format_gives_mono_float32_of_the_right_length(name: str, seconds: float) -> None:
    waveform = load_audio(DATA / name)
    assert waveform.ndim == 1
    assert waveform.dtype == np.float32
    assert len(waveform) / 16000 == pytest.approx(seconds, abs=0.05)
    assert 0.01 < np.abs(waveform).max() <= 1.0


def test_16_khz_16_bit_samples_are_kept_exactly() -> None:
    with wave.open(str(CLIP)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    np.testing.assert_array_equal(load_audio(CLIP), samples.astype(np.float32) / 32768)


def test_the_same_speech_in_two_sample_formats_sounds_the_same() -> None:
    stereo_24_bit = load_audio(DATA / "en_fmt_123_stereo-24-bit-44100Hz.flac")
    mono_8_bit = load_audio(DATA / "en_fmt_123_mono-8-bit-44100Hz.wav")
    assert len(stereo_24_bit) == len(mono_8_bit)
    assert np.corrcoef(stereo_24_bit, mono_8_bit)[0, 1] > 0.99


def test_channels_are_mixed_down(tmp_path: Path) -> None:
    left = (8000 * np.sin(np.arange(16000) / 10)).astype(np.int16)
    path = write_wav(tmp_path / "stereo.wav", np.stack([left, np.zeros_like(left)], axis=1))
    np.testing.assert_allclose(load_audio(path), left / 2 / 32768, atol=2 / 32768)


@pytest.mark.parametrize("n_channels", [3, 6, 8])
def test_many_channels_are_mixed_down(tmp_path: Path, n_channels: int) -> None:
    tone = (4000 * np.sin(np.arange(16000) / 10)).astype(np.int16)
    path = write_wav(tmp_path / "many.wav", np.stack([tone] * n_channels, axis=1))
    waveform = load_audio(path)
    assert len(waveform) == 16000
    assert np.corrcoef(waveform, tone)[0, 1] > 0.999


def test_the_sound_of_a_video_is_read(tmp_path: Path) -> None:
    waveform = load_audio(write_video(tmp_path / "film.mp4", with_audio=True))
    assert len(waveform) / 16000 == pytest.approx(1.0, abs=0.1)
    spectrum = np.abs(np.fft.rfft(waveform[:16000]))
    assert spectrum.argmax() == pytest.approx(440, abs=2)


def test_sample_rate_is_that_of_the_result() -> None:
    assert len(load_audio(CLIP, 8000)) == pytest.approx(len(load_audio(CLIP)) / 2, abs=2)


@pytest.mark.parametrize("rate", [0, -16000, 16000.0, "16000", None, True])
def test_a_sample_rate_that_is_no_whole_number_above_zero_is_refused(rate: Any) -> None:
    for source in (CLIP, np.zeros(10, np.float32)):
        with pytest.raises(OptionError, match="sr must be"):
            load_audio(source, sr=rate)


def test_a_change_of_form_inside_a_stream_is_followed(tmp_path: Path) -> None:
    """Joined MP3 files may change rate on the way; FFmpeg's resampler must be made anew there."""
    joined = (DATA / "en_lj_LJ001-0008.mp3").read_bytes() + MP3.read_bytes()
    assert len(load_audio(joined)) / 16000 == pytest.approx(1.78 + 11.0, abs=0.2)


# --- sources -------------------------------------------------------------------------------------


def test_path_string_bytes_and_file_objects_give_the_same_samples() -> None:
    expected = load_audio(CLIP)
    content = CLIP.read_bytes()
    with CLIP.open("rb") as file:
        sources: list[AudioSource] = [str(CLIP), content, bytearray(content), memoryview(content), file]
        sources += [io.BytesIO(content), expected]
        for source in sources:
            np.testing.assert_array_equal(load_audio(source), expected)


def test_a_file_object_is_read_from_its_position_and_left_open() -> None:
    file = io.BytesIO(b"some header" + CLIP.read_bytes())
    file.seek(len(b"some header"))
    np.testing.assert_array_equal(load_audio(file), load_audio(CLIP))
    assert not file.closed


def test_a_file_object_without_seek_or_name_is_read() -> None:
    class Pipe:
        def __init__(self, content: bytes) -> None:
            self._file = io.BytesIO(content)

        def read(self, size: int = -1) -> bytes:
            return self._file.read(size)

    np.testing.assert_array_equal(load_audio(Pipe(CLIP.read_bytes())), load_audio(CLIP))


def test_a_file_object_whose_name_is_no_string_is_read() -> None:
    """The name of a file made from a descriptor is a number."""
    with os.fdopen(os.open(CLIP, os.O_RDONLY), "rb") as file:
        np.testing.assert_array_equal(load_audio(file), load_audio(CLIP))


def test_blocks_joined_are_the_whole_recording() -> None:
    blocks = list(decode_blocks(MP3))
    assert len(blocks) > 10
    assert all(block.dtype == np.int16 for block in blocks)
    np.testing.assert_array_equal(np.concatenate(blocks).astype(np.float32) / 32768, load_audio(MP3))


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_files_are_closed_after_success_failure_and_an_early_end(tmp_path: Path) -> None:
    """B177: resources are closed where they are used, not when the garbage collector comes."""
    damaged = tmp_path / "text.wav"
    damaged.write_text("no recording")
    load_audio(MP3)
    before = open_files()
    load_audio(MP3)
    with pytest.raises(AudioError):
        load_audio(damaged)
    with closing(decode_blocks(MP3)) as blocks:
        next(blocks)
    assert open_files() == before


# --- damage (B111) -------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0.3, 0.5, 0.7])
def test_junk_inside_an_mp3_is_skipped_with_one_warning(place: float, caplog: pytest.LogCaptureFixture) -> None:
    """B111: frames that cannot be decoded are left out and the rest is used."""
    content = MP3.read_bytes()
    middle = int(len(content) * place)
    junk = np.random.default_rng(0).bytes(2048)
    with caplog.at_level(logging.WARNING):
        waveform = load_audio(content[:middle] + junk + content[middle:])
    assert len(waveform) / 16000 == pytest.approx(11.0, abs=0.2)
    assert [record.name for record in caplog.records] == ["sasayaki.audio.load"]
    assert "damaged" in caplog.text


@pytest.mark.parametrize("name", ["en_libri_1089-134686-0001.flac", "es_mls_13697.opus", "en_fox.ogg"])
def test_lost_sound_is_reported_where_the_decoder_is_silent(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """B111: some formats drop a damaged page without an error; the gap in the times tells."""
    content = (DATA / name).read_bytes()
    middle = len(content) // 2
    with caplog.at_level(logging.WARNING):
        waveform = load_audio(content[:middle] + bytes(4000) + content[middle + 4000 :])
    assert len(waveform) > 0.5 * len(load_audio(DATA / name))
    assert "missing" in caplog.text


def test_a_large_id3_tag_and_a_truncated_last_frame_are_no_fault() -> None:
    """B111: 1 MB of tag before the sound, and a file cut off inside its last frame."""
    size = 1 << 20
    header = b"ID3\x04\x00\x00" + bytes((size >> shift) & 0x7F for shift in (21, 14, 7, 0))
    content = MP3.read_bytes()
    assert len(load_audio(header + bytes(size) + content)) / 16000 == pytest.approx(11.0, abs=0.2)
    assert len(load_audio(content[:-100])) / 16000 == pytest.approx(11.0, abs=0.2)


@pytest.mark.parametrize("name", ["pt_pv_num.wav", "en_jfk.mp3", "en_fox.ogg", "de_th_emo_neutral.webm"])
def test_a_file_cut_in_half_gives_its_first_half(name: str) -> None:
    content, whole = (DATA / name).read_bytes(), load_audio(DATA / name)
    half = load_audio(content[: len(content) // 2])
    assert 0.2 < len(half) / len(whole) < 0.7


@pytest.mark.parametrize("seed", range(8))
def test_random_damage_gives_samples_or_an_audio_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for path in (DATA / "en_lj_LJ001-0008.mp3", CLIP, *sorted(DATA.glob("de_th_emo_*"))):
        content = np.frombuffer(path.read_bytes(), np.uint8).copy()
        places = rng.integers(0, len(content), 40)
        content[places] = rng.integers(0, 256, 40)
        with suppress(AudioError):
            assert np.isfinite(load_audio(content.tobytes())).all()


# --- errors --------------------------------------------------------------------------------------


def header_only_wav() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setparams((1, 2, 16000, 0, "NONE", ""))
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "^[^:]* is empty"),
        (header_only_wav(), "^[^:]* holds no audio"),
        (b"These are words in a text file.\n" * 50, "cannot be read as a recording"),
        (bytes(5000), "cannot be read as a recording"),
        (np.random.default_rng(1).bytes(20000), "cannot be read as a recording"),
        (b"ffconcat version 1.0\nfile x.wav\n", "cannot be read as a recording"),
    ],
    ids=["0 bytes", "header only", "text", "zeros", "noise", "playlist"],
)
def test_what_is_no_recording_is_refused_in_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.wav"
    path.write_bytes(content)
    for source in (path, content, io.BytesIO(content)):
        with pytest.raises(AudioError, match=message) as caught:
            load_audio(source)
        assert "\n" not in str(caught.value)


def test_a_video_without_sound_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match=r"^'[^']*silent\.mp4' has no audio stream, only video$"):
        load_audio(write_video(tmp_path / "silent.mp4", with_audio=False))


def test_a_codec_that_nobody_knows_is_refused() -> None:
    content = bytearray(CLIP.read_bytes())
    content[20:22] = b"\x99\x77"  # the number of the codec
    with pytest.raises(AudioError, match=r"^the given data has an audio stream .* no decoder"):
        load_audio(content)


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match=r"'.*nothing\.wav' .*No such file"):
        load_audio(tmp_path / "nothing.wav")
    with pytest.raises(AudioError, match="Is a directory"):
        load_audio(tmp_path)
    with pytest.raises(AudioError, match="null byte"):
        load_audio("a\0b.wav")


def test_a_file_that_may_not_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*args: object) -> None:
        raise PermissionError(13, "Permission denied", str(CLIP))

    monkeypatch.setattr("builtins.open", deny)
    with pytest.raises(AudioError, match="Permission denied"):
        load_audio(CLIP)


def test_a_url_is_no_file_and_the_message_says_what_to_do() -> None:
    with pytest.raises(AudioError, match="download it first"):
        load_audio("https://example.org/talk.mp3")


def test_a_text_file_object_is_refused() -> None:
    with pytest.raises(AudioError, match=r"^the file object gives text; open it in binary mode"):
        load_audio(io.StringIO("words"))  # type: ignore[arg-type]


def test_a_file_object_that_fails_or_is_closed_gives_an_audio_error() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if size:
                raise OSError("the disk is gone")
            return b""

    with pytest.raises(AudioError, match="the disk is gone"):
        load_audio(Failing(b"RIFF"))
    closed = io.BytesIO(b"RIFF")
    closed.close()
    with pytest.raises(AudioError, match="closed file"):
        load_audio(closed)


@pytest.mark.parametrize("source", [None, object(), {"path": "x.wav"}, 3.0])
def test_anything_else_is_refused(source: object) -> None:
    with pytest.raises(AudioError, match="expected"):
        load_audio(source)  # type: ignore[arg-type]


# --- names (B114) --------------------------------------------------------------------------------

HOSTILE_NAMES = [
    "-i.wav",
    "--help.wav",
    "a b.wav",
    "a'b.wav",
    'a"b.wav',
    "$(touch x).wav",
    "`touch x`.wav",
    "x;touch y.wav",
    "a|b.wav",
    "http:x.wav",
    "file:x.wav",
    "pipe:0.wav",
    "concat:a|b.wav",
    "data:x.wav",
    "%d%s.wav",
    "*?[a].wav",
    "a\nb.wav",
    "back\\slash.wav",
    "：full width.wav",
    "声🎤.wav",
    "e\u0301.wav",
    "not utf-8 \udcff.wav",
    "no suffix",
    ".wav",
    "x.w\nav",
    "x" * 251 + ".wav",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_any_name_is_just_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B114: a name is never an option, a URL, a protocol, a pattern or a shell command."""
    monkeypatch.chdir(tmp_path)
    try:
        Path(name).write_bytes(CLIP.read_bytes())
    except OSError:
        pytest.skip("this file system cannot hold that name")
    expected = load_audio(CLIP)
    for source in (name, f"./{name}", Path(name), tmp_path / name):
        np.testing.assert_array_equal(load_audio(source), expected)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_the_error_about_any_name_is_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(AudioError) as caught:
        load_audio(tmp_path / name)
    assert "\n" not in str(caught.value)
    str(caught.value).encode()
