"""How likely a given text is in a window: all its tokens in one call of the decoder."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import numpy.typing as npt

from sasayaki.decoding.arrays import indices_like, logsumexp, take_columns, to_numpy
from sasayaki.inference.base import AudioFeatures, Inference, Row


def score_tokens(
    inference: Inference, audio: AudioFeatures, tokens: tuple[int, ...], begin: int
) -> npt.NDArray[np.float64]:
    """Log-probability of each token from number `begin` on, given all before it, without filters.

    Args:
        inference: the engine.
        audio: the window.
        tokens: at most n_text_ctx + 1 ids.
        begin: at least 1, below the number of tokens.

    Returns:
        (n_tokens - begin,) float64.
    """
    with closing(inference.start()) as session:
        logits = session.forward([Row(audio, tokens[:-1], read=tuple(range(begin - 1, len(tokens) - 1)))])[0]
        wanted = take_columns(logits, indices_like(tokens[begin:], logits)[:, None])[:, 0]
        return to_numpy(wanted - logsumexp(logits)).astype(np.float64)
