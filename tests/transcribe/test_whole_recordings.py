"""What holds for every recording, whatever a model says of it and with whatever options."""

from __future__ import annotations

import json
import random
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sasayaki import Transcription
from sasayaki.option_values import parse_clip_timestamps
from sasayaki.records import from_plain
from sasayaki.results import Segment
from sasayaki.transcribe.clips import make_clips
from tests.transcribe.random_model import SAMPLE_RATE, random_model, random_sound

TINY = 1e-6
LENGTHS = (0, 1, 161, 1600, 5 * SAMPLE_RATE, 30 * SAMPLE_RATE, 30 * SAMPLE_RATE + 1, 2 * 30 * SAMPLE_RATE + 320)
CLIPS = ("0", "0", "0", "0.5", "0,2,2,3", "0,4,2,20", "3,3,5,90", "1,2,3.33,31.1,40", "70,80", "20,30,1,9")

some_options = st.fixed_dictionaries(
    {
        "word_timestamps": st.booleans(),
        "clip_timestamps": st.sampled_from(CLIPS),
        "loop_guard": st.booleans(),
        "coverage_guard": st.booleans(),
        "condition_on_previous_text": st.booleans(),
        "initial_prompt": st.sampled_from([None, "", "names 猫", (97,) * 300]),
        "carry_initial_prompt": st.booleans(),
        "batch_size": st.sampled_from([1, 1, 2, 3]),
        "compat": st.sampled_from([False, False, False, True]),
        "multilingual": st.booleans(),
        "language": st.sampled_from([None, "en", "ja"]),
        "vad": st.sampled_from(["energy", "energy", "off"]),
        "without_timestamps": st.sampled_from([False, False, False, True]),
        "beam_size": st.sampled_from([None, None, 2]),
        "best_of": st.none(),
        "temperature": st.sampled_from([0.0, 0, (0.0, 0.7)]),
        "no_speech_threshold": st.sampled_from([0.6, 0.6, None]),
        "logprob_threshold": st.sampled_from([-1.0, None]),
        "short_context": st.booleans(),
        "vad_threshold": st.sampled_from([0.5, 0.0, 1.0]),
        "vad_min_speech": st.sampled_from([0.1, 0.0]),
        "vad_padding": st.sampled_from([0.1, 0.0, 40.0]),
        "sample_len": st.sampled_from([None, None, 3]),
        "max_initial_timestamp": st.sampled_from([1.0, None, 0.0]),
    }
)
languages_of_cuts = {
    "batch_size": 2, "multilingual": True, "vad": "energy", "beam_size": None, "best_of": None, "temperature": 0.0,
    "loop_guard": False, "coverage_guard": False, "condition_on_previous_text": False, "short_context": False,
}  # fmt: skip
"""A cut whose language is not sure has the recording's, whatever the cut before had."""

lengths, seeds = st.sampled_from(LENGTHS), st.integers(0, 2**32)
few = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


def sound_of(seed: int, n_samples: int, *, n_channels: int = 1) -> Any:
    channels = [random_sound(random.Random(f"{seed} {number}"), n_samples) for number in range(n_channels)]
    return np.stack(channels) if n_channels > 1 else channels[0]


def same(found: Transcription) -> str:
    """Equality in which NaN equals NaN, save for options."""
    return repr({name: found[name] for name in found if name != "options"})


def check_words(segment: Segment, *, is_compat: bool) -> None:
    """Words make up their segment, each once, and lie in it one behind the other."""
    assert "".join(word.word for word in segment.words) == segment.text
    assert all(word.word.strip() and 0 <= word.probability <= 1 + TINY for word in segment.words)
    edges = [edge for word in segment.words for edge in (word.start, word.end)]
    if not is_compat:  # openai/whisper's repairs move single words
        assert [segment.start, *edges, segment.end] == sorted([segment.start, *edges, segment.end])


def check(found: Transcription, options: dict[str, Any]) -> None:
    """Times are in order and within the recording, numbers and texts are whole, and all of it fits JSON."""
    assert [each.id for each in found.segments] == list(range(len(found.segments)))
    assert found.text == "".join(each.text for each in found.segments)
    clips = make_clips(parse_clip_timestamps(options["clip_timestamps"]), round(found.duration * 100))
    for each in found.segments:
        assert each.text.strip()
        assert not each.rejected
        assert 0 <= each.start < each.end <= found.duration + TINY
        if not options["compat"]:
            assert any(clip.start / 100 - TINY <= each.start and each.end <= clip.end / 100 + TINY for clip in clips)
        if options["word_timestamps"]:
            check_words(each, is_compat=options["compat"])
        else:
            assert not each.words
    for each in found.rejected:
        assert each.rejected
        assert 0 <= each.id <= len(found.segments)
        assert 0 <= each.start <= each.end <= found.duration + TINY
    is_in_order = all(a.end <= b.start for a, b in pairwise(clips)) and options.get("channels") != "split"
    if is_in_order and not options["compat"]:
        assert all(a.end <= b.start + TINY for a, b in pairwise(found.segments))
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert repr(from_plain(Transcription, plain)) == repr(found)


@few
@given(seeds, lengths, some_options)
def test_times_are_in_order_and_streams_give_the_same(seed: int, n_samples: int, options: dict[str, Any]) -> None:
    model, sound = random_model(seed), sound_of(seed, n_samples)
    told: list[tuple[float, float]] = []
    found = model.transcribe(sound, progress=lambda *at: told.append(at), **options)
    check(found, options)
    assert all(0 <= done <= there == found.duration for done, there in told)
    if options["clip_timestamps"] == "0":
        assert told == sorted(told)
        assert options["batch_size"] > 1 or not found.duration or told[-1] == (found.duration, found.duration)
    stream = model.stream(sound, **options)
    assert repr(tuple(stream)) == repr(found.segments)
    assert same(stream.transcription) == same(found)
    assert model.inference.n_open == 0


@few
@given(seeds, st.sampled_from(LENGTHS[2:]), some_options)
def test_channels_are_joined_in_the_order_of_time(seed: int, n_samples: int, options: dict[str, Any]) -> None:
    options = {**options, "channels": "split"}
    found = random_model(seed).transcribe(sound_of(seed, n_samples, n_channels=2), **options)
    check(found, options)
    assert {each.channel for each in (*found.segments, *found.rejected)} <= {0, 1}
    if options["clip_timestamps"] == "0":
        starts = [each.start for each in found.segments]
        assert starts == sorted(starts)


@settings(few, max_examples=5)
@given(seeds, st.sampled_from(LENGTHS[4:]), some_options, st.floats(0, 1), st.integers(1, 2))
@example(2, LENGTHS[-1], languages_of_cuts, 0.5, 1)
def test_what_was_broken_off_goes_on_to_the_same_end(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n_samples: int, options: dict[str, Any], part: float, n: int
) -> None:
    """Broken off after any segment, or within any byte of the journal; nothing is left running."""
    path: Path = tmp_path_factory.mktemp("journal") / "journal"
    options = {**options, "channels": "split" if n > 1 else "mix"}
    model, sound = random_model(seed), sound_of(seed, n_samples, n_channels=n)
    found, n_threads = model.transcribe(sound, **options), threading.active_count()
    stream = model.stream(sound, journal=path, **options)
    given_first = [next(stream) for _ in range(round(part * len(found.segments)))]
    stream.close()
    assert list(stream) == []
    assert (model.inference.n_open, threading.active_count()) == (0, n_threads)
    assert repr(tuple(given_first)) == repr(found.segments[: len(given_first)])
    if seed % 2:
        path.write_bytes(path.read_bytes()[: round(part * path.stat().st_size)])
    for _ in range(2):
        assert same(model.transcribe(sound, journal=path, **options)) == same(found)


@few
@given(seeds, st.sampled_from(LENGTHS[4:]), some_options)
def test_windows_side_by_side_are_what_fewer_at_a_time_are(seed: int, n_samples: int, options: dict[str, Any]) -> None:
    model, sound = random_model(seed), sound_of(seed, n_samples)
    few_at_once, many = (model.transcribe(sound, **{**options, "batch_size": size}) for size in (2, 7))
    assert same(few_at_once) == same(many)
