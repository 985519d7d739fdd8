"""How many windows to decode side by side: as many as are faster together, and as memory allows."""

from __future__ import annotations

from sasayaki.inference.base import Inference

MOST_WINDOWS = 8
LEAST_WINDOWS = 2
MOST_ROWS = 20
"""Hypotheses of all windows together from which on a step costs as much for each as in a larger batch: 4 windows with 5
beams took as long as 8 (docs/log.md)."""

_SHARE = 2
"""Half of the memory that is free is left to others."""

_FLOAT = 4


def suitable_batch_size(inference: Inference, n_beam: int, free: int | None) -> int:
    """Windows to decode side by side, 2 to 8.

    Args:
        inference: the model.
        n_beam: hypotheses of each window.
        free: bytes of memory that are free; None when nobody knows.
    """
    most = min(MOST_WINDOWS, MOST_ROWS // n_beam)
    if free is not None:
        most = min(most, free // _SHARE // window_bytes(inference, n_beam))
    return max(most, LEAST_WINDOWS)


def window_bytes(inference: Inference, n_beam: int) -> int:
    """Most memory that a window takes while it is decoded, if all is float32.

    Encoder output, cross-attention keys and values (twice, as they may have to be brought together), and for each
    hypothesis a cache of the whole text context and its logits, of which filters need a copy.
    """
    dims = inference.dims
    heard = dims.n_audio_ctx * (dims.n_audio_state + 2 * 2 * dims.n_text_layer * dims.n_text_state)
    written = dims.n_text_ctx * 2 * dims.n_text_layer * dims.n_text_state + 2 * dims.n_vocab
    return _FLOAT * (heard + n_beam * written)
