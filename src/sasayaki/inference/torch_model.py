"""Whisper as PyTorch modules, with openai/whisper's module and state-dict names and key/value cache hooks.

This is the readable form of the network, for research and as the exact reference. `torch_backend` runs the
same modules with a preallocated cache. PyTorch is the extra `sasayaki[torch]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sasayaki.checkpoints.names import ModelDimensions
from sasayaki.inference.torch_products import Linear, linear

KVCache = dict[nn.Module, Tensor]
"""From a key or value projection to all that it gave so far, (n_batch, n_ctx, n_state)."""


def sinusoids(length: int, n_channels: int, max_timescale: float = 10000.0) -> Tensor:
    """Fixed positions of the encoder, (length, n_channels) float32: sines first, then as many cosines.

    Wavelengths grow geometrically from 2 pi to `max_timescale` * 2 pi (Vaswani et al. 2017, section 3.5, in
    halves instead of interleaved).
    """
    rates = torch.exp(torch.arange(n_channels // 2) * (-math.log(max_timescale) / (n_channels // 2 - 1)))
    angles = torch.arange(length)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def causal_mask(n_new: int, n_past: int, device: torch.device) -> Tensor | None:
    """Where new tokens may look, (n_new, n_past + n_new) bool; None for a single token, which sees all."""
    if n_new == 1:
        return None
    return torch.ones(n_new, n_past + n_new, dtype=torch.bool, device=device).tril(n_past)


class MultiHeadAttention(nn.Module):  # type: ignore[misc]
    """Attention of several heads; self-attention, or cross-attention when `xa` is given."""

    def __init__(self, n_state: int, n_head: int) -> None:
        super().__init__()
        self.n_head = n_head
        self.query = Linear(n_state, n_state)
        self.key = Linear(n_state, n_state, bias=False)
        self.value = Linear(n_state, n_state)
        self.out = Linear(n_state, n_state)

    def forward(
        self,
        x: Tensor,
        xa: Tensor | None = None,
        mask: Tensor | None = None,
        kv_cache: Mapping[nn.Module, Tensor] | None = None,
        need_qk: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from `x` (n_batch, n_ctx, n_state) to itself or to `xa` (n_batch, n_audio_ctx, n_state).

        Args:
            x: where queries come from.
            xa: where keys and values come from in cross-attention.
            mask: True where a query may look, or what is added to its scores where there is no `need_qk`, broadcast to
                (n_batch, n_head, n_ctx, n_keys); None for all.
            kv_cache: the cache that the hooks of `Whisper.install_kv_cache_hooks` fill.
            need_qk: compute step by step and return the scores too.

        Returns:
            The new states, shaped like `x`, and with `need_qk` the scaled and masked scores before the
            softmax, (n_batch, n_head, n_ctx, n_keys) float32; otherwise None.
        """
        if xa is not None and kv_cache is not None and self.key in kv_cache:
            k, v = kv_cache[self.key], kv_cache[self.value]
        else:
            source = x if xa is None else xa
            k, v = self.key(source), self.value(source)  # hooks answer with all that is cached
        q, k, v = self.split_heads(self.query(x)), self.split_heads(k), self.split_heads(v)
        if not need_qk:
            return self.out(merge_heads(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))), None
        qk = (q @ k.transpose(-1, -2)).float() * q.shape[-1] ** -0.5
        if mask is not None:
            qk = qk.masked_fill(~mask, -torch.inf)
        return self.out(merge_heads(qk.softmax(dim=-1).to(v.dtype) @ v)), qk

    def keys_and_values(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Project `source` (n_batch, n_keys, n_state) without asking forward hooks, for caches of another kind."""
        key, value = self.key, self.value
        return linear(source, key.weight), linear(source, value.weight, value.bias)

    def split_heads(self, x: Tensor) -> Tensor:
        """View (n_batch, n_ctx, n_state) as (n_batch, n_head, n_ctx, head_dim)."""
        return x.unflatten(-1, (self.n_head, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Undo `MultiHeadAttention.split_heads`."""
    return x.transpose(1, 2).flatten(2)


class ResidualAttentionBlock(nn.Module):  # type: ignore[misc]
    """Pre-norm transformer block: self-attention, in the decoder cross-attention, and a perceptron."""

    def __init__(self, n_state: int, n_head: int, cross_attention: bool = False) -> None:
        super().__init__()
        self.attn = MultiHeadAttention(n_state, n_head)
        self.attn_ln = nn.LayerNorm(n_state)
        self.cross_attn: Any = MultiHeadAttention(n_state, n_head) if cross_attention else None
        self.cross_attn_ln: Any = nn.LayerNorm(n_state) if cross_attention else None
        self.mlp = nn.Sequential(Linear(n_state, 4 * n_state), nn.GELU(), Linear(4 * n_state, n_state))
        self.mlp_ln = nn.LayerNorm(n_state)

    def forward(
        self,
        x: Tensor,
        xa: Tensor | None = None,
        mask: Tensor | None = None,
        kv_cache: Mapping[nn.Module, Tensor] | None = None,
        cross_qk: list[Tensor] | None = None,
    ) -> Tensor:
        """Transform `x` (n_batch, n_ctx, n_state); a list `cross_qk` gets the cross-attention scores."""
        x = x + self.attn(self.attn_ln(x), mask=mask, kv_cache=kv_cache)[0]
        if self.cross_attn is not None:
            need_qk = cross_qk is not None
            heard, qk = self.cross_attn(self.cross_attn_ln(x), xa, kv_cache=kv_cache, need_qk=need_qk)
            x = x + heard
            if cross_qk is not None:
                cross_qk.append(qk)
        return x + self.mlp(self.mlp_ln(x))


class AudioEncoder(nn.Module):  # type: ignore[misc]
    """Log-mel frames to audio features: two convolutions that halve the frame rate, then blocks."""

    def __init__(self, n_mels: int, n_ctx: int, n_state: int, n_head: int, n_layer: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(n_mels, n_state, kernel_size=3, padding=1)
        self.conv2 = nn.Conv1d(n_state, n_state, kernel_size=3, stride=2, padding=1)
        self.register_buffer("positional_embedding", sinusoids(n_ctx, n_state))
        self.blocks = nn.ModuleList(ResidualAttentionBlock(n_state, n_head) for _ in range(n_layer))
        self.ln_post = nn.LayerNorm(n_state)

    def forward(self, x: Tensor, positions: Tensor | None = None, log_shares: Tensor | None = None) -> Tensor:
        """Encode log-mel `x` (n_audio, n_mels, n_frames) to (n_audio, ceil(n_frames / 2), n_state).

        Shorter windows take the first positions, or those that are given, with `log_shares` for attention to them, both
        (n_audio, ceil(n_frames / 2)); see `inference.positions`. More than 2 * n_audio_ctx frames raise ValueError.
        """
        n_mels, max_frames = self.conv1.in_channels, 2 * self.positional_embedding.shape[0]
        if x.ndim != 3 or x.shape[1] != n_mels or not 0 < x.shape[2] <= max_frames:
            raise ValueError(
                f"expected log-mel windows of shape (n_audio, {n_mels}, 1 to {max_frames} frames), "
                f"got {tuple(x.shape)}; cut or pad the audio to 30 s windows first"
            )
        x = F.gelu(self.conv2(F.gelu(self.conv1(x)))).transpose(1, 2)
        x = x + self.positional_embedding[slice(x.shape[1]) if positions is None else positions]
        mask = None if log_shares is None else log_shares.to(x.dtype)[:, None, None]
        for block in self.blocks:
            x = block(x, mask=mask)
        return self.ln_post(x)


class TextDecoder(nn.Module):  # type: ignore[misc]
    """Tokens and audio features to logits of the token after each."""

    def __init__(self, n_vocab: int, n_ctx: int, n_state: int, n_head: int, n_layer: int) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(n_vocab, n_state)
        self.positional_embedding = nn.Parameter(torch.zeros(n_ctx, n_state))
        self.blocks = nn.ModuleList(
            ResidualAttentionBlock(n_state, n_head, cross_attention=True) for _ in range(n_layer)
        )
        self.ln = nn.LayerNorm(n_state)

    def forward(
        self,
        x: Tensor,
        xa: Tensor,
        kv_cache: Mapping[nn.Module, Tensor] | None = None,
        cross_qk: list[Tensor] | None = None,
    ) -> Tensor:
        """Logits for tokens `x` after those in the cache.

        Args:
            x: new tokens, (n_batch, n_ctx) integers.
            xa: audio features, (n_batch, n_audio_ctx, n_state); not read once they are in the cache.
            kv_cache: the cache that the hooks of `Whisper.install_kv_cache_hooks` fill.
            cross_qk: a list that gets the cross-attention scores of every layer, before the softmax,
                (n_batch, n_head, n_ctx, n_audio_ctx) float32 each.

        Returns:
            (n_batch, n_ctx, n_vocab) float32.
        """
        n_past, n_new = self.n_cached(kv_cache), x.shape[-1]
        n_ctx = self.positional_embedding.shape[0]
        if n_past + n_new > n_ctx:
            raise ValueError(f"{n_past} cached and {n_new} new tokens pass the limit n_text_ctx = {n_ctx}")
        mask = causal_mask(n_new, n_past, x.device)
        x = self.token_embedding(x) + self.positional_embedding[n_past : n_past + n_new]
        for block in self.blocks:
            x = block(x, xa, mask=mask, kv_cache=kv_cache, cross_qk=cross_qk)
        return self.project(x).float()

    def project(self, x: Tensor) -> Tensor:
        """Logits (…, n_vocab), in the type of the weights, of the last block's states `x` (…, n_state)."""
        return linear(self.ln(x), self.token_embedding.weight)

    def n_cached(self, kv_cache: Mapping[nn.Module, Tensor] | None) -> int:
        """Number of tokens decoded so far: the length of a self-attention entry, wherever it is."""
        key = self.blocks[0].attn.key
        return kv_cache[key].shape[1] if kv_cache and key in kv_cache else 0


class Whisper(nn.Module):  # type: ignore[misc]
    """Encoder and decoder of a Whisper model; openai/whisper's state dicts load with `strict=True`."""

    def __init__(self, dims: ModelDimensions) -> None:
        super().__init__()
        self.dims = dims
        self.encoder = AudioEncoder(
            dims.n_mels, dims.n_audio_ctx, dims.n_audio_state, dims.n_audio_head, dims.n_audio_layer
        )
        self.decoder = TextDecoder(
            dims.n_vocab, dims.n_text_ctx, dims.n_text_state, dims.n_text_head, dims.n_text_layer
        )

    def embed_audio(self, mel: Tensor, positions: Tensor | None = None, log_shares: Tensor | None = None) -> Tensor:
        """Features (n_audio, n_audio_ctx, n_audio_state) of log-mel windows (n_audio, n_mels, n_frames).

        See `AudioEncoder.forward` for the others.
        """
        return self.encoder(mel, positions, log_shares)

    def logits(self, tokens: Tensor, audio_features: Tensor, cross_qk: list[Tensor] | None = None) -> Tensor:
        """Logits (n_batch, n_ctx, n_vocab) float32 after each of `tokens`; see `TextDecoder.forward`."""
        return self.decoder(tokens, audio_features, cross_qk=cross_qk)

    def forward(self, mel: Tensor, tokens: Tensor) -> Tensor:
        """Logits (n_batch, n_ctx, n_vocab) float32 of `tokens` (n_batch, n_ctx) spoken in `mel`."""
        return self.logits(tokens, self.embed_audio(mel))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.decoder.positional_embedding.device

    @property
    def dtype(self) -> torch.dtype:
        """Floating-point type of the weights, and of what the encoder takes and gives."""
        return self.decoder.positional_embedding.dtype

    @property
    def is_multilingual(self) -> bool:
        """Whether the vocabulary has language tokens in use."""
        return self.dims.is_multilingual

    @property
    def num_languages(self) -> int:
        """Number of language tokens."""
        return self.dims.num_languages

    def install_kv_cache_hooks(self, cache: KVCache | None = None) -> tuple[KVCache, list[Any]]:
        """Keep the decoder's keys and values between calls by forward hooks on their projections.

        Self-attention entries grow by the new tokens; cross-attention entries are kept as first computed.
        Pass the cache as `kv_cache` to the decoder, and from the second call on only the newest tokens.
        Prefer the function `kv_cache`, which removes the hooks whatever happens.

        Args:
            cache: entries to begin with; it is copied, not changed.

        Returns:
            The live cache, and the hooks' handles; call `remove()` on each when done.
        """
        cache = dict(cache or {})

        def append(projection: nn.Module, _: object, output: Tensor) -> Tensor:
            if projection in cache:
                output = torch.cat([cache[projection], output], dim=1)
            cache[projection] = output.detach()
            return cache[projection]

        def keep(projection: nn.Module, _: object, output: Tensor) -> Tensor:
            return cache.setdefault(projection, output.detach())

        hooks = []
        for block in self.decoder.blocks:
            for attention, hook in ((block.attn, append), (block.cross_attn, keep)):
                hooks += [
                    attention.key.register_forward_hook(hook),
                    attention.value.register_forward_hook(hook),
                ]
        return cache, hooks


@contextmanager
def kv_cache(model: Whisper, cache: KVCache | None = None) -> Iterator[KVCache]:
    """Install cache hooks for a `with` block and remove them at its end, also after an exception."""
    live, hooks = model.install_kv_cache_hooks(cache)
    try:
        yield live
    finally:
        for hook in hooks:
            hook.remove()
