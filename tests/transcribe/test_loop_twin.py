"""The loop against its slow twin: same questions to the decoder and same segments, whatever the windows hold."""

from __future__ import annotations

import random

import pytest

from sasayaki.results import DecodingResult
from tests.fakes import TIMESTAMP_BEGIN, text
from tests.reference.slow_transcribe import Asked, Decoded, Settings, SlowLoop
from tests.transcribe.scripted_decoder import Question, ScriptedDecoder, result, run

N_RECORDINGS_PER_SEED = 25
LADDERS = [(0.0,), (0.0, 0.4), (0.0, 0.6), (0.7,), (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)]


def random_words(rng: random.Random) -> tuple[int, ...]:
    return text(rng.choice([" a", " word", " two words", " ", "", " x" * rng.randrange(1, 60)]))


def random_window(rng: random.Random) -> tuple[int, ...]:
    """Tokens of a window: mostly what the timestamp rules let through, sometimes anything."""
    if rng.random() < 0.25:
        pool = [*text("ab c"), *(TIMESTAMP_BEGIN + rng.randrange(1501) for _ in range(6)), TIMESTAMP_BEGIN]
        return tuple(rng.choice(pool) for _ in range(rng.randrange(12)))
    if rng.random() < 0.15:
        return random_words(rng)  # without timestamps
    steps = sorted(rng.randrange(rng.choice([300, 1501])) for _ in range(rng.randrange(1, 9)))
    tokens: list[int] = [TIMESTAMP_BEGIN + (0 if rng.random() < 0.5 else steps[0])]
    for step in steps:
        tokens += [*random_words(rng), TIMESTAMP_BEGIN + step, TIMESTAMP_BEGIN + step]
    ending = rng.randrange(4)
    return tuple((*tokens, *random_words(rng)) if ending == 0 else tokens[: len(tokens) - ending // 2])


def random_settings(rng: random.Random, n_frames: int) -> Settings:
    seconds = (0.0,)
    if rng.random() < 0.5:
        edges = [round(rng.uniform(0, n_frames / 100 + 20), 2) for _ in range(rng.randrange(6))]
        pairs = [sorted(edges[place : place + 2]) for place in range(0, len(edges), 2)]
        seconds = tuple(edge for pair in pairs for edge in pair)
    return Settings(
        temperatures=rng.choice(LADDERS),
        compression_ratio_threshold=rng.choice([2.4, 2.4, None]),
        logprob_threshold=rng.choice([-1.0, -1.0, None]),
        no_speech_threshold=rng.choice([0.6, 0.6, None]),
        condition_on_previous_text=rng.random() < 0.8,
        initial_prompt=text("p" * rng.choice([0, 0, 1, 12, 222, 223, 224, 300])),
        carry_initial_prompt=rng.random() < 0.5,
        clip_seconds=seconds,
    )


def scripted(seed: str, seek: int, size: int, temperature: float) -> Decoded:
    rng = random.Random(f"{seed} {seek} {size} {temperature}")
    return Decoded(
        tokens=random_window(rng),
        avg_logprob=rng.choice([-0.2, -0.9, -1.0, -1.1, rng.uniform(-3, 0)]),
        no_speech_prob=rng.choice([0.0, 0.0, 0.6, 0.9]),
        compression_ratio=rng.choice([1.0, 1.0, 2.4, 2.5, rng.uniform(1, 9)]),
    )


@pytest.mark.parametrize("seed", range(16))
def test_loop_equals_its_slow_twin(seed: int) -> None:
    for number in range(N_RECORDINGS_PER_SEED):
        name = f"{seed}-{number}"
        rng = random.Random(name)
        n_frames = rng.choice([0, 1, 2, 50, 2999, 3000, 3001, rng.randrange(9000)])
        settings = random_settings(rng, n_frames)

        def twin_answer(asked: Asked, name: str = name) -> Decoded:
            return scripted(name, asked.seek, asked.size, asked.temperature)

        def answer(question: Question, name: str = name) -> DecodingResult:
            decoded = scripted(name, question.seek, question.size, question.options.temperature)
            return result(
                decoded.tokens,
                avg_logprob=decoded.avg_logprob,
                no_speech_prob=decoded.no_speech_prob,
                compression_ratio=decoded.compression_ratio,
                temperature=question.options.temperature,
            )

        decoder = ScriptedDecoder(answer)
        twin = SlowLoop(n_frames, settings, twin_answer, TIMESTAMP_BEGIN, decoder.tokenizer.decode).run()
        segments = run(
            decoder,
            n_frames,
            temperature=settings.temperatures,
            compression_ratio_threshold=settings.compression_ratio_threshold,
            logprob_threshold=settings.logprob_threshold,
            no_speech_threshold=settings.no_speech_threshold,
            condition_on_previous_text=settings.condition_on_previous_text,
            initial_prompt=settings.initial_prompt,
            carry_initial_prompt=settings.carry_initial_prompt,
            clip_timestamps=settings.clip_seconds,
            loop_guard=False,
        )
        asked = [Asked(q.seek, q.size, q.options.temperature, tuple(q.options.prompt)) for q in decoder.questions]
        assert asked == twin.asked, name
        assert [(s.seek, s.tokens, s.temperature) for s in segments] == [
            (s.seek, s.tokens, s.temperature) for s in twin.segments
        ], name
        times = [(s.start, s.end) for s in segments]
        assert times == [(pytest.approx(s.start, abs=6e-4), pytest.approx(s.end, abs=6e-4)) for s in twin.segments], (
            name
        )
