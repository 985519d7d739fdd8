"""The decoder against its slow twin: random scripts and options, same tokens and sums."""

from __future__ import annotations

import os
import random

import pytest

from sasayaki.errors import OptionError
from sasayaki.results import DecodingResult
from tests.decoding.scripts import (
    SMALL_ENGLISH,
    SMALL_TOKENIZER,
    decode_names,
    decoder_of,
    random_options,
    random_script,
)
from tests.reference.slow_decoder import NothingToSampleError, SlowDecoder, SlowResult

N_CASES = int(os.environ.get("SASAYAKI_FUZZ_CASES", "300"))
"""Set the environment variable for a longer search, such as 12000 (two minutes); every case has its own number."""


@pytest.mark.parametrize("block", range(10))
def test_any_script_with_any_options_decodes_as_its_slow_twin_does(block: int) -> None:
    """B48: the twin feeds whole histories, so cached and reordered rows must be equal to uncached ones."""
    for case in range(block, N_CASES, 10):
        check_case(case)


def check_case(case: int) -> None:
    draw = random.Random(case)
    n_text_ctx = draw.choice([16, 20, 27, 40])
    scale, eot, peak = draw.choice([1.0, 4.0]), draw.choice([-2.0, 0.0, 3.0]), draw.choice([0.0, 9.0])
    script = random_script(case, scale=scale, eot=eot, peak=peak)
    is_multilingual = draw.random() < 0.8
    tokenizer = SMALL_TOKENIZER if is_multilingual else SMALL_ENGLISH
    options = random_options(draw, n_text_ctx=n_text_ctx, language="en" if not is_multilingual else "de")
    if not is_multilingual and options.task == "translate":
        return
    n_likeliest = 200 if case % 2 else 0  # with and without what an engine knows about its logits
    decoder = decoder_of(script, tokenizer=tokenizer, n_text_ctx=n_text_ctx, n_likeliest=n_likeliest)
    where = f"case {case}: {options}"
    try:
        expected = SlowDecoder(script, 0.0, tokenizer, options, n_text_ctx).run()
    except NothingToSampleError:
        with pytest.raises(OptionError, match="no token is left"):
            decode_names(decoder, [0.0], options)
        return
    compare(decode_names(decoder, [0.0], options)[0], expected, where)


def compare(result: DecodingResult, expected: SlowResult, where: str) -> None:
    assert result.tokens == expected.tokens, where
    assert result.text == expected.text, where
    assert result.language == expected.language, where
    assert result.avg_logprob == pytest.approx(expected.avg_logprob, abs=1e-4), where
    assert result.no_speech_prob == pytest.approx(expected.no_speech_prob, abs=1e-5), where
    assert result.compression_ratio == pytest.approx(expected.compression_ratio), where
    if expected.language_probs is None:
        assert result.language_probs is None, where
    else:
        assert result.language_probs == pytest.approx(expected.language_probs, abs=1e-5), where
    scores = sorted((slow.score for slow in expected.hypotheses), reverse=True)
    assert [h.score for h in result.hypotheses] == pytest.approx(scores, abs=1e-4), where
    found = {(h.tokens, h.stop == "eot"): (h.sum_logprob, h.score) for h in result.hypotheses}
    assert len(result.hypotheses) == len(expected.hypotheses), where
    for slow in expected.hypotheses:
        assert found[slow.tokens, slow.has_end] == pytest.approx((slow.sum_logprob, slow.score), abs=1e-4), where
