"""Probabilities of words and tokens: which tokens make a word, and that the maps are rising probabilities."""

from __future__ import annotations

import math

import pytest

from sasayaki.decoding.confidence import (
    TOKEN_CALIBRATION,
    WORD_CALIBRATION,
    Calibration,
    cut_trust,
    mean_text_logprob,
    score_words,
    token_probabilities,
)
from sasayaki.results import DecodingResult
from tests.decoding.scripts import decode_one
from tests.fakes import byte_tokenizer, say, text, ts

TOKENIZER = byte_tokenizer()


def words_of(spoken: str) -> list[str]:
    tokens = text(spoken)
    return [word.text for word in score_words(tokens, [-0.1] * len(tokens), -0.1, TOKENIZER)]


@pytest.mark.parametrize("calibration", [WORD_CALIBRATION, TOKEN_CALIBRATION])
def test_calibrated_probabilities_rise_with_the_models_own(calibration: Calibration) -> None:
    logprobs = [-math.inf, -1e30, -800.0, -20.0, -3.0, -0.5, -0.01, -0.0]
    for mean_logprob in logprobs:
        probabilities = [calibration(logprob, mean_logprob) for logprob in logprobs]
        assert probabilities == sorted(probabilities)
        assert all(0 <= probability <= 1 for probability in probabilities)
    assert calibration(-0.01, -0.1) > 0.95 > 0.5 > calibration(-5.0, -0.1)


@pytest.mark.parametrize("calibration", [WORD_CALIBRATION, TOKEN_CALIBRATION])
def test_certainty_counts_for_less_where_the_model_doubts_the_whole_text(calibration: Calibration) -> None:
    assert calibration(-0.1, -0.1) > calibration(-0.1, -0.5) > calibration(-0.1, -2.0)


def test_the_mean_is_that_of_text() -> None:
    assert mean_text_logprob((ts(0), *text("ab")), (-9.0, -1.0, -2.0), TOKENIZER.eot) == -1.5
    assert mean_text_logprob((ts(0),), (-9.0,), TOKENIZER.eot) == 0.0


def test_punctuation_belongs_to_the_word_beside_it() -> None:
    assert words_of(" Well, we - off.") == [" Well,", " we", " - off."]
    assert words_of(' "Go!" he said...') == [' "Go!"', " he", " said..."]
    assert words_of(" well-known") == [" well", "-known"]


def test_punctuation_alone_is_a_word_and_nothing_is_none() -> None:
    assert words_of(" ...") == [" ..."]
    assert words_of(" ") == []
    assert words_of("") == []


def test_the_probability_of_a_word_is_that_of_its_letters() -> None:
    tokens = (ts(0), *text(" hi, you"), ts(1))
    logprobs = [-9.0, -0.1, -0.2, -0.3, -5.0, -0.01, -0.02, -0.03, -0.04, -9.0]
    first, second = score_words(tokens, logprobs, -0.2, TOKENIZER)
    assert (first.text, first.tokens, first.logprob) == (" hi,", text(" hi,"), pytest.approx(-0.6))
    assert first.probability == pytest.approx(WORD_CALIBRATION(-0.6, -0.2))
    assert (second.text, second.logprob) == (" you", pytest.approx(-0.1))


def test_no_word_reaches_across_a_timestamp() -> None:
    tokens = (*text(" a"), ts(1), *text("b, c"))
    assert [word.text for word in score_words(tokens, [-0.1] * len(tokens), -0.1, TOKENIZER)] == [" a", "b,", " c"]


def test_a_language_without_spaces_has_a_word_for_each_character() -> None:
    tokens = text("今日は。")
    words = score_words(tokens, [-0.1] * len(tokens), -0.1, TOKENIZER.with_language("ja", "transcribe"))
    assert [word.text for word in words] == ["今", "日", "は。"]
    assert [word.logprob for word in words] == [pytest.approx(-0.3)] * 3


def test_a_timestamp_keeps_the_models_probability() -> None:
    probabilities = token_probabilities((ts(0), *text("a")), (math.log(0.3), -0.5), -0.5, TOKENIZER.eot)
    assert probabilities == (pytest.approx(0.3), TOKEN_CALIBRATION(-0.5, -0.5))


def test_segments_get_their_own_words_and_alternatives() -> None:
    first, second = (ts(0), *text(" one, two"), ts(1)), (ts(1), *text(" three"), ts(2))
    result = decode_one(say([*first, *second]), beam_size=3, suppress_tokens="")
    trusts = cut_trust(result, [first, second], TOKENIZER)
    assert [[word.text for word in trust.words] for trust in trusts] == [[" one,", " two"], [" three"]]
    assert [len(trust.token_probs) for trust in trusts] == [len(first), len(second)]
    assert tuple(word for trust in trusts for word in trust.words) == result.hypotheses[0].words
    assert tuple(slot for trust in trusts for slot in trust.alternatives) == result.alternatives


def test_a_result_without_hypotheses_has_no_confidence() -> None:
    result = DecodingResult(audio_features=None, language="en")
    assert math.isnan(result.confidence)
    assert cut_trust(result, [], TOKENIZER) == []
