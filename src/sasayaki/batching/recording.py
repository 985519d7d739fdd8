"""One recording, cut at silences into windows that are transcribed side by side."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.batching.scheduler import Lane, Lanes, in_order
from sasayaki.decoding.pool import TaskPool
from sasayaki.option_values import parse_clip_timestamps
from sasayaki.options import TranscribeOptions
from sasayaki.transcribe.clips import Clip, make_clips
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.loop import Assignment, transcribe_clip
from sasayaki.transcribe.requests import Place, Windows
from sasayaki.vad.find import cut_at_silences, find_speech


def cuts_side_by_side(n_at_once: int, driver: Driver, work: Assignment, place: Place) -> Windows:
    """Transcribe the rest of a recording, some of its cuts at a time; windows come in the order of time."""
    lanes = clip_lanes(driver, work, place)
    pool = TaskPool(driver.decoder.inference)
    with closing(Lanes(pool, iter(lanes), n_at_once).run()) as found:
        yield from in_order(found, lanes, place, work.options)


def clip_lanes(driver: Driver, work: Assignment, place: Place) -> list[Lane]:
    """A lane for each cut that is not done; only that of `place` goes on with a context."""
    fresh = work.begin()
    cuts = cut_recording(driver, work.options)
    return [
        Lane(
            driver.beside(),
            transcribe_clip(work, cut, place if number == place.clip else replace(fresh, clip=number, seek=cut.start)),
        )
        for number, cut in enumerate(cuts)
        if number >= place.clip
    ]


def cut_recording(driver: Driver, options: TranscribeOptions) -> list[Clip]:
    """The speech in the clips that the options name, as windows of at most 30 s with their ends in silences.

    Where the options say that nobody listens for voices, pauses are found by energy, and nothing is left out that is
    not surely silent.
    """
    content_frames = driver.recording.content_frames
    listener = driver.listener(options.vad if options.listens else "energy")
    probabilities = listener.read(0, listener.n_frames)
    speech = find_speech(probabilities, options, duration=content_frames / FRAMES_PER_SECOND)
    windows = [
        Clip(round(cut.start * FRAMES_PER_SECOND), round(cut.end * FRAMES_PER_SECOND))
        for cut in cut_at_silences(speech, probabilities=probabilities, keeps_sound=not options.listens)
    ]
    clips = make_clips(parse_clip_timestamps(options.clip_timestamps), content_frames)
    parts = [Clip(max(a.start, b.start), min(a.end, b.end), is_cut=True) for a in clips for b in windows]
    return [part for part in parts if part.start < part.end]
