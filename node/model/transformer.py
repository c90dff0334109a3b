"""A decoder transformer with policy and value heads, based on nanochat: RMSNorm and QK-norm without gains, rotary
positions. A sliding window and a soft cap on the logits are options.

A sequence is `<bos> <state> STATE <tactic> TACTIC <eos>`. The policy predicts the tokens after `<tactic>`. The value is
read at `<tactic>`, after the whole state and before the tactic.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from node.model.config import ModelConfig


def visible(
    length: int,
    *,
    window: int = 0,
    documents: Tensor | None = None,
    device: torch.device | str | None = None,
) -> Tensor | None:
    """Mask (B or 1, 1, T, T), True where query i sees key j; None: purely causal, which needs no mask.

    i sees j if three conditions hold: j <= i; i - j < `window` (0: no window); both are in one document. `documents`
    (B, T): document number of each token.
    """
    narrow = 0 < window < length
    if not narrow and documents is None:
        return None
    place = torch.arange(length, device=device)
    distance = place[:, None] - place
    mask = (distance >= 0)[None]
    if documents is not None:
        mask = mask & (documents[:, :, None] == documents[:, None, :])
    if narrow:
        mask = mask & (distance < window)
    return mask[:, None]


def has_bf16(device: torch.device) -> bool:
    """Whether the hardware computes in bfloat16; a CPU that has to emulate it is many times slower (LOG.md)."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


# --- the network ------------------------------------------------------------------------------------------------------

NORM_FLOOR = 1e-6
"""Minimum root mean square that normalization divides by. It only keeps all-zero vectors from giving NaN."""


class _Normalize(torch.autograd.Function):
    """`normalize`, with a gradient of four passes over x instead of autograd's eight. This network is so narrow that
    such passes, and not matrix products, take half of a training step on a CPU (LOG.md)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        scale = 1.0 / math.sqrt(x.shape[-1])
        inverse = (torch.linalg.vector_norm(x, dim=-1, keepdim=True) * scale).clamp_min(NORM_FLOOR).reciprocal()
        y = x * inverse
        ctx.save_for_backward(y, inverse)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        y, inverse = ctx.saved_tensors
        along = (gradient * y).mean(-1, keepdim=True)
        # At the floor the divisor is constant, so this term of the gradient is zero.
        along.masked_fill_(inverse >= 1.0 / NORM_FLOOR, 0.0)
        return torch.addcmul(gradient, y, along, value=-1).mul_(inverse)


class _SquaredReLU(torch.autograd.Function):
    """relu(x)^2. Its gradient needs no separate mask: relu(x) is 0 where x is negative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        positive = x.clamp_min(0)
        ctx.save_for_backward(positive)
        return positive * positive

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (positive,) = ctx.saved_tensors
        return (gradient * positive).mul_(2)


def normalize(x: Tensor) -> Tensor:
    """RMSNorm (arXiv 1910.07467) over the last dimension, without gain: x / max(rms(x), NORM_FLOOR)."""
    return _Normalize.apply(x)


def squared_relu(x: Tensor) -> Tensor:
    """max(x, 0)^2 (Primer, arXiv 2109.08668)."""
    return _SquaredReLU.apply(x)


def rotary_table(config: ModelConfig, device: torch.device | None = None) -> Tensor:
    """Angles as pairs (cos, sin), float32, shape (context, head_size / 2, 2); they can be viewed as complex numbers."""
    half = config.head_size // 2
    frequencies = config.rope_base ** (-torch.arange(half, dtype=torch.float64, device=device) / half)
    angles = torch.arange(config.context, dtype=torch.float64, device=device)[:, None] * frequencies
    return torch.stack([angles.cos(), angles.sin()], dim=-1).float()


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """Rotary embedding of x (..., T, heads, head_size) by `table` (..., T, head_size / 2, 2): rotates the pairs
    (2i, 2i + 1)."""
    if x.dtype == torch.float32 and not torch.compiler.is_compiling():
        # One complex product, forward and backward. Compilers fuse the real-number version below into one pass, but
        # cannot fuse complex numbers.
        turns = torch.view_as_complex(table)[..., None, :]
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns).flatten(-2)
    cos, sin = table[..., None, :, :].to(x.dtype).unbind(-1)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


class Attention(nn.Module):
    """Causal grouped-query attention with normalized queries and keys; `gain` (one per head) scales how sharp a head
    can be."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        kv_width = config.kv_heads * config.head_size
        self.query = nn.Linear(config.width, config.width, bias=False)
        self.key = nn.Linear(config.width, kv_width, bias=False)
        self.value = nn.Linear(config.width, kv_width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)
        self.gain = nn.Parameter(torch.ones(config.heads))

    def forward(self, x: Tensor, table: Tensor, mask: Tensor | None = None) -> Tensor:
        """x (B, T, width) -> (B, T, width); `mask` as from `masks.visible`, None: causal."""
        size = self.config.head_size
        query = rotate(normalize(self.query(x).unflatten(-1, (-1, size))), table) * self.gain[:, None]
        key = rotate(normalize(self.key(x).unflatten(-1, (-1, size))), table)
        value = self.value(x).unflatten(-1, (-1, size))
        group = self.config.heads // self.config.kv_heads
        if group > 1:
            key, value = key.repeat_interleave(group, dim=-2), value.repeat_interleave(group, dim=-2)
        heads = [part.transpose(1, 2).to(value.dtype) for part in (query, key, value)]
        mixed = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], attn_mask=mask, is_causal=mask is None)
        return self.out(mixed.transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    """Two matrices with a squared ReLU between them."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(squared_relu(self.up(x)))


class Block(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.feed_forward = FeedForward(config)

    def forward(self, x: Tensor, table: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.attention(normalize(x), table, mask)
        return x + self.feed_forward(normalize(x))


class Transformer(nn.Module):
    """The network. Called through `forward` only, so that DistributedDataParallel can wrap it."""

    table: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config.check()
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.policy = nn.Linear(config.width, config.vocab_size, bias=False)
        self.value = nn.Linear(config.width, config.value_bins, bias=False)
        if config.tied:
            self.policy.weight = self.embedding.weight
        self.register_buffer("table", rotary_table(config), persistent=False)
        self.reset()

    @torch.no_grad()
    def reset(self, generator: torch.Generator | None = None) -> None:
        """Initialize the weights uniformly with variance 1 / inputs. Matrices that write into the residual stream start
        at zero, and both heads start small.

        (nanochat's scheme: at the start every block is the identity and every prediction is nearly uniform.)
        """
        for name, parameter in self.named_parameters():
            if name.endswith("gain"):
                parameter.fill_(1.0)
            elif name == "embedding.weight":
                parameter.normal_(0.0, 0.02 if self.config.tied else 1.0, generator=generator)
            elif name in ("policy.weight", "value.weight"):
                parameter.normal_(0.0, 0.001, generator=generator)
            elif name.endswith(("out.weight", "down.weight")):
                parameter.zero_()
            else:
                bound = math.sqrt(3.0 / parameter.shape[1])
                parameter.uniform_(-bound, bound, generator=generator)

    def hidden(
        self,
        tokens: Tensor,
        *,
        documents: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Normalized final states (B, T, width) of tokens (B, T). Padding on the right does not affect other tokens.

        `documents` (B, T): tokens with different numbers do not see each other (packing). `positions` (B, T): positions
        for the rotary angles, 0, 1, ... by default.
        """
        length = tokens.shape[1]
        # Sequences in the batch may have different positions: (B, T, half, 2) broadcasts over the heads.
        table = self.table[:length] if positions is None else self.table[positions]
        masks = {
            window: visible(length, window=window, documents=documents, device=tokens.device)
            for window in {self.config.window_of(layer) for layer in range(self.config.depth)}
        }
        x = normalize(self.embedding(tokens))
        for layer, block in enumerate(self.blocks):
            x = block(x, table, masks[self.config.window_of(layer)])
        return normalize(x)

    def forward(
        self,
        tokens: Tensor,
        policy_at: Tensor,
        value_at: Tensor,
        *,
        documents: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Policy and value logits at the requested positions only.

        tokens (B, T) int64; `policy_at` (N,) and `value_at` (M,) index the flattened (B * T) positions. Returns
        policy logits (N, vocab_size) and value logits (M, value_bins), both float32. `documents` and `positions` as
        in `hidden`.
        """
        states = self.hidden(tokens, documents=documents, positions=positions).flatten(0, 1)
        policy = self.policy_logits(states.index_select(0, policy_at))
        value = self.value(states.index_select(0, value_at))
        return policy, value.float()

    def policy_logits(self, states: Tensor) -> Tensor:
        """(..., width) -> (..., vocab_size) float32, capped if the configuration says so."""
        logits = self.policy(states).float()
        cap = self.config.softcap
        return cap * torch.tanh(logits / cap) if cap else logits

    def parameter_count(self) -> int:
        """Number of trainable parameters; shared ones count once."""
        return sum(parameter.numel() for parameter in self.parameters())


def expected_value(value_logits: Tensor) -> Tensor:
    """V = -sum_b p_b * b, in steps (AlphaProof): (..., bins) -> (...)."""
    bins = torch.arange(value_logits.shape[-1], dtype=torch.float32, device=value_logits.device)
    return -(value_logits.float().softmax(-1) @ bins)
