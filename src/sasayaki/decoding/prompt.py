"""The tokens that a decode starts from: prompt, start sequence and prefix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sasayaki.errors import OptionError
from sasayaki.options import DecodingOptions
from sasayaki.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class InitialTokens:
    """Where a decode starts.

    Attributes:
        tokens: `<|startofprev|>` and the prompt, the start sequence, the prefix.
        sot_index: position of `<|startoftranscript|>`.
        n_steps: how many tokens may be sampled after them.
    """

    tokens: tuple[int, ...]
    sot_index: int
    n_steps: int


def initial_tokens(tokenizer: Tokenizer, options: DecodingOptions, *, n_text_ctx: int, n_vocab: int) -> InitialTokens:
    """Join prompt, start sequence and prefix so that they fit the text context.

    The prompt keeps its last n_text_ctx // 2 - 1 tokens. The prefix keeps the last tokens that fit in
    n_text_ctx // 2 - sample_len, as in openai/whisper, and none when nothing is left. Without `sample_len` it may
    take what the context holds, but for one token to sample.

    Raises:
        OptionError: a prompt or prefix token lies outside the vocabulary.
    """
    half = n_text_ctx // 2
    prompt = _last(_token_ids("prompt", options.prompt, tokenizer, n_vocab), half - 1)
    head = (tokenizer.sot_prev, *prompt) if prompt else ()
    start = tokenizer.sot_sequence_including_notimestamps if options.without_timestamps else tokenizer.sot_sequence
    room = n_text_ctx - 1 - len(head) - len(start)
    if options.sample_len is not None:
        room = min(room, half - options.sample_len)
    prefix = _last(_token_ids("prefix", options.prefix, tokenizer, n_vocab), room)
    tokens = (*head, *start, *prefix)
    # The last token sampled is never fed, so one more than the context holds may be sampled.
    n_steps = min(options.sample_len or half, n_text_ctx + 1 - len(tokens))
    return InitialTokens(tokens, sot_index=len(head), n_steps=n_steps)


def _token_ids(name: str, given: str | Sequence[int] | None, tokenizer: Tokenizer, n_vocab: int) -> tuple[int, ...]:
    if given is None:
        return ()
    if isinstance(given, str):
        text = given.strip()
        return tuple(tokenizer.encode(" " + text)) if text else ()
    tokens = tuple(given)
    if tokens and max(tokens) >= n_vocab:
        raise OptionError(f"{name} holds token {max(tokens)}, but the model's last token is {n_vocab - 1}")
    return tokens


def _last(tokens: tuple[int, ...], limit: int) -> tuple[int, ...]:
    return tokens[-limit:] if limit > 0 else ()
