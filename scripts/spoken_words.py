"""Make speech with known word times: recordings joined with known gaps, and sentences that espeak-ng reads.

Five kinds of material. `words` and `close words`: single-word recordings, each trimmed to its energy. `sentences`:
recorded sentences, of which the start of the first word and the end of the last one are known. `espeak words` and
`espeak sentences`: the same by the synthesiser espeak-ng, which tells when each word of a sentence begins. No engine
that is measured has a part in it. Half of the files have noise laid over them.
"""

from __future__ import annotations

import csv
import ctypes
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]

SAMPLE_RATE = 16_000
SETS = ("tune", "test")
SKIPPED = ("en_stereo_two_speakers", "en_watson_weather.ogg", "en_watson_weather.webm")
"""Recordings of speech that another one of the folder holds too."""

GAPS_S = (0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0)
CLOSE_GAPS_S = (0.0, 0.02, 0.05)
"""Silence between recordings; each gap is up to twice as long."""

NOISES_DB = (None, 30, None, 20)
"""Signal-to-noise ratio of file 0, 1, …; None lays no noise over it."""

VOICES = {
    "tune": {"en-us": 140, "en-gb-x-rp+f3": 180},
    "test": {"en-gb-scotland": 160, "en-us+f2": 190, "en-029+m3": 130},
}
"""Voices of espeak-ng, and how many words a minute each speaks."""

WORDS = {
    "tune": "apple window garden river monday table purple doctor summer paper seven market silver animal kitchen",
    "test": "orange mountain coffee winter friday yellow teacher dinner letter eleven bridge golden picture island",
}
SENTENCES = {
    "tune": (
        "The old man walked slowly to the harbour, and nobody knew where he came from.",
        "In nineteen eighty four we bought a small house; it had three rooms and a garden.",
        "She opened the letter, read it twice, and put it back on the table.",
        "When the rain had stopped the children ran out into the street again.",
        "Please send twelve copies of the report to the main office before Friday.",
        "Nothing moved. Then, far away, a dog began to bark.",
    ),
    "test": (
        "A train from the north arrives at nine, but it is often late in winter.",
        "My brother plays the violin and my sister sings in a choir every Tuesday.",
        "He paid forty dollars for the book, which was much more than he had expected.",
        "We will meet at the corner of the market square. Bring the map with you.",
        "If you want to see the lake you should climb the hill behind the church.",
        "Water boils at a lower temperature in the mountains, so cooking takes longer.",
    ),
}


@dataclass(frozen=True)
class SpokenWord:
    """A word with its true times in seconds; None where they are not known."""

    text: str
    start: float | None
    end: float | None


@dataclass
class Speech:
    """A file of the measurement."""

    kind: str
    name: str
    samples: Samples
    words: list[SpokenWord] = field(default_factory=list)


def make_speech(manifest: Path, which: str) -> Iterator[Speech]:
    """All files of the set `tune` or `test`; the sets share no recording, no voice and no sentence."""
    clips = _real_words(manifest, which)
    for number in range(6):
        yield _join("words", f"{which}-words-{number}", clips, number, n_clip=16)
        yield _join("close words", f"{which}-close-words-{number}", clips, number, n_clip=24, gaps=CLOSE_GAPS_S)
    spoken = _real_sentences(manifest, which)
    for number in range(4):
        share = spoken[number::4][:6]
        yield _join("sentences", f"{which}-sentences-{number}", share, number, n_clip=len(share))
    for voice, pace in VOICES[which].items():
        said = [_trim(_espeak(word, voice, pace)[0], [word]) for word in WORDS[which].split()]
        for number in range(2):
            yield _join("espeak words", f"{which}-espeak-words-{voice}-{number}", said, number, n_clip=14)
        read = [_read(sentence, voice, pace) for sentence in SENTENCES[which]]
        for number in range(2):
            yield _join("espeak sentences", f"{which}-espeak-sentences-{voice}-{number}", read, number, n_clip=6)


@dataclass(frozen=True)
class _Clip:
    samples: Samples
    words: list[SpokenWord]


def _join(
    kind: str, name: str, clips: Sequence[_Clip], number: int, *, n_clip: int, gaps: Sequence[float] = GAPS_S
) -> Speech:
    """Clips with gaps between them, and noise over all of it."""
    draw = random.Random(name)
    order = [clip for _ in range(-(-n_clip // len(clips))) for clip in draw.sample(list(clips), len(clips))][:n_clip]
    parts: list[Samples] = []
    words: list[SpokenWord] = []
    place = 0.0
    for clip in order:
        gap = draw.choice(gaps) * (1 + draw.random())
        parts += [np.zeros(round(gap * SAMPLE_RATE), np.float32), clip.samples]
        place += len(parts[-2]) / SAMPLE_RATE
        for word in clip.words:
            times = (None if time is None else round(place + time, 4) for time in (word.start, word.end))
            words.append(SpokenWord(word.text, *times))
        place += len(clip.samples) / SAMPLE_RATE
    samples = np.concatenate([*parts, np.zeros(SAMPLE_RATE, np.float32)])
    snr_db = NOISES_DB[number % len(NOISES_DB)]
    if snr_db is not None:
        loud = samples[np.abs(samples) > 0.01]
        level = np.sqrt(np.mean(loud**2)) * 10 ** (-snr_db / 20)
        samples = samples + level * np.random.default_rng(number).normal(size=len(samples))
        name += f" {snr_db} dB"
    return Speech(kind, name, samples.astype(np.float32), words)


def _real_words(manifest: Path, which: str) -> list[_Clip]:
    """Every second of the English recordings that hold one word."""
    rows = [row for row in _rows(manifest) if len(row["text"].split()) == 1 and float(row["seconds"]) < 5]
    return [_trim(_load(manifest, row), [row["text"]]) for row in rows[SETS.index(which) :: 2]]


def _real_sentences(manifest: Path, which: str) -> list[_Clip]:
    rows = [row for row in _rows(manifest) if len(row["text"].split()) > 5 and 2.5 < float(row["seconds"]) < 8]
    return [_trim(_load(manifest, row), row["text"].split()) for row in rows[SETS.index(which) :: 2]]


def _rows(manifest: Path) -> list[dict[str, str]]:
    with manifest.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in rows if row["language"] == "en" and not row["file"].startswith(SKIPPED)]


def _load(manifest: Path, row: dict[str, str]) -> Samples:
    from sasayaki import load_audio

    samples: Samples = load_audio(manifest.parent / row["file"])
    return samples


def loud_stretch(samples: Samples) -> tuple[int, int]:
    """First and last sample of the speech, found in steps of 1 ms.

    Loud is what is less than 35 dB below the loudest 10 ms; in recordings of more than 2 s, which have pauses, also
    what is 8 dB above the quietest tenth, or else less than 20 dB below the loudest. A click or a breath at either end
    is not speech: a loud stretch of less than 100 ms that is 100 ms or more away from the next one.
    """
    step, width = SAMPLE_RATE // 1000, SAMPLE_RATE // 100
    power = np.convolve(samples.astype(np.float64) ** 2, np.ones(width) / width, "same")[::step]
    peak = power.max()
    noise = np.quantile(power, 0.1) if len(samples) > 2 * SAMPLE_RATE else 0.0
    loud = np.flatnonzero(power > np.clip(noise * 10**0.8, peak * 10**-3.5, peak * 10**-2.0))
    stretches = np.split(loud, np.flatnonzero(np.diff(loud) > 100) + 1)
    speech = [stretch for stretch in stretches if stretch[-1] - stretch[0] >= 100] or stretches
    return int(speech[0][0]) * step, min(int(speech[-1][-1] + 1) * step, len(samples))


def _trim(samples: Samples, words: Sequence[str]) -> _Clip:
    """The loud stretch at a common level; its first word starts at its start, its last one ends at its end."""
    start, end = loud_stretch(samples)
    cut = samples[start:end] * (0.5 / np.abs(samples).max())
    last = len(words) - 1
    length = len(cut) / SAMPLE_RATE
    known = [
        SpokenWord(word, 0.0 if place == 0 else None, length if place == last else None)
        for place, word in enumerate(words)
    ]
    return _Clip(cut.astype(np.float32), known)


def _read(sentence: str, voice: str, pace: int) -> _Clip:
    """A sentence read by espeak-ng. A word starts and ends with its energy between the events of the synthesiser.

    Some words are joined with the one before them and have no event: neither their times nor its end are known.
    """
    samples, begins = _espeak(sentence, voice, pace)
    words = []
    for place, text in enumerate(sentence.split()):
        if begins[place] is None:
            words.append(SpokenWord(text, None, None))
            continue
        begin = begins[place]
        end = next((each for each in begins[place + 1 :] if each is not None), len(samples))
        first, last = loud_stretch(samples[begin:end])
        is_alone = place + 1 == len(begins) or begins[place + 1] is not None
        words.append(
            SpokenWord(text, (begin + first) / SAMPLE_RATE, (begin + last) / SAMPLE_RATE if is_alone else None)
        )
    return _Clip((samples * (0.5 / np.abs(samples).max())).astype(np.float32), words)


class _Event(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", ctypes.c_char * 8),
    )


_WORD_EVENT = 1
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))


def _espeak(text: str, voice: str, words_per_minute: int) -> tuple[Samples, list[int | None]]:
    """Samples at 16 kHz, and the sample at which the synthesiser begins each word; None where it does not tell."""
    library = ctypes.CDLL("libespeak-ng.so.1")
    rate = library.espeak_Initialize(2, 0, None, 0)
    library.espeak_SetVoiceByName(voice.encode())
    library.espeak_SetParameter(1, words_per_minute, 0)
    pieces: list[npt.NDArray[np.int16]] = []
    places: dict[int, int] = {}

    def receive(wave: object, n_sample: int, events: object) -> int:
        if n_sample:
            pieces.append(np.ctypeslib.as_array(wave, (n_sample,)).copy())  # type: ignore[call-overload]
        place = 0
        while events[place].type:  # type: ignore[index]
            event = events[place]  # type: ignore[index]
            if event.type == _WORD_EVENT:
                places.setdefault(event.text_position - 1, round(event.audio_position / 1000 * rate))
            place += 1
        return 0

    callback = _Callback(receive)
    library.espeak_SetSynthCallback(callback)
    data = text.encode()
    library.espeak_Synth(data, len(data) + 1, 0, 1, 0, 1, None, None)
    library.espeak_Synchronize()
    wave = np.concatenate(pieces).astype(np.float32) / 32768
    n_wanted = round(len(wave) * SAMPLE_RATE / rate)
    samples = np.interp(np.arange(n_wanted) * rate / SAMPLE_RATE, np.arange(len(wave)), wave).astype(np.float32)
    begins = (places.get(match.start()) for match in re.finditer(r"\S+", text))
    return samples, [None if begin is None else round(begin * SAMPLE_RATE / rate) for begin in begins]
