"""Small models with random weights for tests that need a whole Checkpoint."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sasayaki.checkpoints.names import Checkpoint, ModelDimensions, canonical_shapes


def tiny_dims(
    *,
    n_mels: int = 80,
    n_audio_ctx: int = 20,
    n_state: int = 64,
    n_head: int = 2,
    n_layer: int = 2,
    n_vocab: int = 130,
    n_text_ctx: int = 24,
) -> ModelDimensions:
    """Dimensions of a model that runs in a millisecond; its heads are n_state // n_head wide."""
    return ModelDimensions(n_mels, n_audio_ctx, n_state, n_head, n_layer, n_vocab, n_text_ctx, n_state, n_head, n_layer)


def random_checkpoint(
    dims: ModelDimensions | None = None, *, seed: int = 0, dtype: npt.DTypeLike = np.float32
) -> Checkpoint:
    """A checkpoint with random weights in `dtype` (float32 or float16), the same for the same seed.

    Weights are scaled so that attention is neither uniform nor one-hot and the logits differ from row to row.
    """
    dims = dims or tiny_dims()
    rng = np.random.default_rng(seed)
    weights = {name: _random_weight(name, shape, rng) for name, shape in canonical_shapes(dims).items()}
    weights = {name: weight.astype(dtype) for name, weight in weights.items()}
    return Checkpoint(dims, weights, source=f"random seed {seed}")


def random_mel(dims: ModelDimensions, n_audio: int = 1, *, seed: int = 0, n_frames: int | None = None) -> np.ndarray:
    """Log-mel windows of noise, (n_audio, n_mels, n_frames) float32; full windows by default."""
    rng = np.random.default_rng(seed)
    shape = (n_audio, dims.n_mels, n_frames or 2 * dims.n_audio_ctx)
    return rng.standard_normal(shape, np.float32)


def _random_weight(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal(shape, np.float32)
    if "ln" in name and name.endswith("weight"):
        return 1 + 0.2 * noise
    if name.endswith("bias"):
        return 0.2 * noise
    if "embedding" in name:
        return 0.5 * noise
    return 1.5 * noise / np.sqrt(np.prod(shape[1:]))
