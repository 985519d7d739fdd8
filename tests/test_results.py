"""Results read like openai/whisper's dicts and become JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from sasayaki.errors import StoppedError
from sasayaki.model import Whisper
from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult, Hypothesis, Segment, Transcription, Word
from tests.fakes import EOT, N_VOCAB, ScriptedInference, byte_tokenizer, say, text, ts

MEL = np.zeros((80, 3000), np.float32)


def to_json(result: Any) -> Any:
    return json.loads(json.dumps(result.to_dict(), allow_nan=False))


def whisper(script: Any) -> Whisper:
    return Whisper(ScriptedInference(script), byte_tokenizer(), suppress=())


def segment(**changes: Any) -> Segment:
    facts = {"id": 0, "seek": 0, "start": 0.0, "end": 1.0, "text": " hi", "tokens": (1, 2), "temperature": 0.0}
    numbers = {"avg_logprob": -0.5, "compression_ratio": 1.0, "no_speech_prob": 0.1, "language": "en"}
    return Segment(**{**facts, **numbers, **changes})


def test_a_record_has_the_manners_of_a_dict() -> None:
    one = segment()
    assert one["text"] == one.text == " hi"
    assert "text" in one
    assert "words_" not in one
    assert one.get("text") == " hi"
    assert one.get("nothing", 3) == 3
    assert dict(one)["tokens"] == (1, 2)
    assert list(one) == list(one.keys())
    assert dict(one.items()) == dict(one)
    with pytest.raises(KeyError, match="nothing"):
        one["nothing"]
    with pytest.raises(KeyError):
        one["to_dict"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.text = ""


def test_an_error_that_carries_a_result_comes_back_from_another_process() -> None:
    """A pool of processes hangs on an error that cannot be read back."""
    error = StoppedError("the transcription was cancelled", reason="cancel")
    error.transcription = Transcription(
        text="one", segments=(), language="en", duration=1.0, options=TranscribeOptions()
    )
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.reason, back.transcription) == (str(error), "cancel", error.transcription)


def test_words_read_like_dicts_and_become_json() -> None:
    word = Word(word=" hi", start=0.5, end=0.9, probability=0.75)
    assert dict(word) == {"word": " hi", "start": 0.5, "end": 0.9, "probability": 0.75}
    assert segment()["words"] == ()
    assert to_json(segment(words=(word,)))["words"] == [dict(word)]


@pytest.mark.parametrize("options", [{}, {"beam_size": 3}, {"temperature": 1.0, "best_of": 2}])
def test_logits_of_minus_infinity_become_json(options: dict[str, Any]) -> None:
    """B128: all logits but one are -inf, in every step."""

    def script(_: object, history: tuple[int, ...]) -> np.ndarray:
        logits = np.full(N_VOCAB, -np.inf, np.float32)
        logits[{3: ts(0), 4: 65}.get(len(history), EOT)] = 0.0
        return logits

    plain = to_json(whisper(script).decode(MEL, language="en", **options))
    assert plain["text"] == "A"
    assert plain["avg_logprob"] == 0.0
    assert plain["no_speech_prob"] == 0.0


def test_a_token_that_the_model_held_impossible_becomes_json() -> None:
    """B128: before the filters its log-probability is next to nothing."""

    def script(_: object, history: tuple[int, ...]) -> np.ndarray:
        logits = np.full(N_VOCAB, -3e38, np.float32)
        logits[EOT if len(history) > 3 else 65] = 3e38
        return logits

    result = whisper(script).decode(MEL, language="en")
    assert result.hypotheses[0].token_raw_logprobs == (-math.inf,)
    assert to_json(result)["hypotheses"][0]["token_raw_logprobs"] == [None]


def test_empty_text_becomes_json() -> None:
    """B128."""
    plain = to_json(whisper(say([ts(0)])).decode(MEL, language="en"))
    assert (plain["text"], plain["compression_ratio"]) == ("", 0.0)


def test_numbers_that_were_never_set_become_null() -> None:
    """B128: they are NaN, which JSON does not know."""
    plain = to_json(whisper(say([])).decode(MEL, task="lang_id"))
    assert plain["avg_logprob"] is plain["no_speech_prob"] is plain["temperature"] is plain["compression_ratio"] is None
    assert plain["language"] in plain["language_probs"]
    bare = to_json(DecodingResult(audio_features=None, language="en"))
    assert bare["avg_logprob"] is None
    assert to_json(segment(avg_logprob=math.nan, no_speech_prob=-math.inf))["avg_logprob"] is None


def test_arrays_are_left_out_of_plain_values_and_kept_in_the_result() -> None:
    result = whisper(say([ts(0), *text("a")])).decode(MEL, language="en")
    assert "audio_features" not in result.to_dict()
    assert result["audio_features"].shape == (1500, 8)


def test_a_whole_recording_becomes_json_with_numpy_numbers_in_its_options() -> None:
    """B128."""
    options = TranscribeOptions(
        beam_size=np.int64(3), temperature=[np.float32(0.5), np.float64(1)], suppress_tokens={3}
    )
    whole = Transcription(text=" hi", segments=(segment(tokens=(np.int64(1),)),), language="en", options=options)
    plain = to_json(whole)
    assert plain["segments"][0]["tokens"] == [1]
    assert plain["options"]["beam_size"] == 3
    assert plain["options"]["temperature"] == [0.5, 1.0]
    assert plain["options"]["suppress_tokens"] == [3]
    assert plain["options"]["suppress_blank"] is True


def test_the_average_counts_the_end_token() -> None:
    common = {"text": "", "score": 0.0, "token_logprobs": (), "token_raw_logprobs": (), "stop": "eot"}
    assert Hypothesis(tokens=(1, 2, 3), sum_logprob=-2.0, **common).avg_logprob == -0.5
    assert Hypothesis(tokens=(), sum_logprob=-2.0, **common).avg_logprob == -2.0
