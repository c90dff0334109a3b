"""Draws tokens by inverting the cumulative distribution: one uniform number decides one token."""

from __future__ import annotations

import torch
from torch import Tensor

COLDEST = 1e-4
"""Temperatures below this mean "the likeliest token"; dividing by less would only overflow."""


def draw(logits: Tensor, uniforms: Tensor, temperatures: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Tokens (R, W) for uniform numbers (R, W) in [0, 1), and their log-probabilities at temperature 1.

    logits (R, V) float32; `temperatures` (R,), None for all 1. The token is the first one whose cumulative
    probability passes the number, so it always has a positive probability.
    """
    scaled = logits if temperatures is None else logits / temperatures.clamp_min(COLDEST)[:, None]
    cumulative = (scaled - scaled.amax(-1, keepdim=True)).exp_().cumsum(-1)
    tokens = torch.searchsorted(cumulative, uniforms * cumulative[:, -1:], right=True)
    tokens.clamp_max_(logits.shape[-1] - 1)  # reached only by NaN logits, which must not index past the end
    return tokens, logits.gather(1, tokens) - logits.logsumexp(-1, keepdim=True)
