"""The search of a decode, chosen by its options."""

from __future__ import annotations

from sasayaki.decoding.beam_search import BeamSearchDecoder
from sasayaki.decoding.greedy import GreedyDecoder
from sasayaki.decoding.loops import LoopBreaker
from sasayaki.decoding.ranker import MaximumLikelihoodRanker
from sasayaki.decoding.scored_beam_search import BeamRules, ScoredBeamSearchDecoder
from sasayaki.decoding.search import TokenDecoder
from sasayaki.options import DecodingOptions
from sasayaki.text.tokenizer import Tokenizer


def build_token_decoder(
    options: DecodingOptions, tokenizer: Tokenizer, ranker: MaximumLikelihoodRanker, *, n_steps: int
) -> TokenDecoder:
    """The search that the options ask for; openai/whisper's where they ask for nothing else.

    Args:
        options: how to decode.
        tokenizer: gives the ids of the end and of the first timestamp.
        ranker: of the hypotheses that the search ends with.
        n_steps: most tokens that a hypothesis can have.
    """
    search = _search(options, tokenizer.eot, ranker, n_steps)
    return LoopBreaker(search, tokenizer.timestamp_begin) if options.loop_guard else search


def _search(options: DecodingOptions, eot: int, ranker: MaximumLikelihoodRanker, n_steps: int) -> TokenDecoder:
    if options.beam_size is None:
        n_group, temperature = options.best_of or 1, options.temperature
        return GreedyDecoder(eot, temperature=temperature, n_group=n_group, seed=options.seed, n_steps=n_steps)
    patience = options.patience or 1.0
    if not options.changes_beams:
        return BeamSearchDecoder(eot, beam_size=options.beam_size, patience=patience)
    rules = BeamRules(
        beam_size=options.beam_size,
        max_finished=round(options.beam_size * patience),
        n_steps=n_steps,
        stop=options.beam_stop,
        ends=options.beam_ends,
        lookahead=options.beam_lookahead,
        n_group=options.beam_groups,
        diversity=options.beam_diversity,
    )
    return ScoredBeamSearchDecoder(eot, ranker, rules)
