"""Draws tokens by inverting the cumulative distribution: one uniform number decides one token.

The distribution is made in two steps: divide the logits by the temperature; keep the nucleus, if top-p is less than 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

COLDEST = 1e-4
"""Lower temperatures count as this one, which always draws the likeliest token; dividing by less would overflow."""

BLOCK = 128
"""Tokens of a block. Wide distributions are searched block by block, so that only one block of a row is summed up
token by token; of 50,000 tokens that is 395 blocks of 128."""

WIDE = 8192
"""Vocabularies from this size on are wide: summing up all tokens costs more there than a second level of search."""

NUCLEUS = 256
"""Number of likeliest tokens in which a nucleus is searched first; rows with a larger nucleus are sorted completely."""


@dataclass(frozen=True)
class Rules:
    """How the rows of one pass are sampled; None stands for the plain policy in all of them."""

    temperatures: Tensor | None = None
    """(R,)"""
    top_p: Tensor | None = None
    """(R,) in (0, 1]: the smallest set of likeliest tokens with at least this probability together (Holtzman et al.,
    arXiv 1904.09751)."""


@dataclass(frozen=True)
class Drawn:
    """Tokens and their log-probabilities, each (R, W)."""

    tokens: Tensor
    policy: Tensor
    """Log-probability under the policy itself: temperature 1, no nucleus."""


def draw(logits: Tensor, uniforms: Tensor, rules: Rules | None = None) -> Drawn:
    """Tokens for uniform numbers (R, W) in [0, 1). logits (R, V) float32, which this may overwrite.

    The token is the first one whose cumulative probability passes the number, so it always has a positive
    probability.
    """
    rules = rules or Rules()
    if rules.top_p is None:
        if logits.shape[-1] >= WIDE and logits.shape[-1] % BLOCK == 0:
            return _draw_wide(logits, uniforms, rules.temperatures)
        return _draw_plain(logits, uniforms, rules.temperatures)
    scaled = logits if rules.temperatures is None else logits / rules.temperatures.clamp_min(COLDEST)[:, None]
    outside = (nucleus(scaled.softmax(-1), rules.top_p) <= 0) & (rules.top_p < 1.0)[:, None]
    tokens, _ = _invert(scaled.masked_fill(outside, -torch.inf).softmax(-1), uniforms)
    return Drawn(tokens, _policy(logits, tokens))


def _policy(logits: Tensor, tokens: Tensor) -> Tensor:
    return logits.gather(1, tokens) - logits.logsumexp(-1, keepdim=True)


def _draw_plain(logits: Tensor, uniforms: Tensor, temperatures: Tensor | None) -> Drawn:
    scaled = logits if temperatures is None else logits / temperatures.clamp_min(COLDEST)[:, None]
    cumulative = (scaled - scaled.amax(-1, keepdim=True)).exp_().cumsum(-1)
    totals = cumulative[:, -1:]
    tokens = torch.searchsorted(cumulative, uniforms * totals, right=True)
    tokens.clamp_max_(logits.shape[-1] - 1)  # reached only by NaN logits, which must not index past the end
    return Drawn(tokens, _policy(logits, tokens))


def _draw_wide(logits: Tensor, uniforms: Tensor, temperatures: Tensor | None) -> Drawn:
    """`_draw_plain` for wide vocabularies: sums blocks, then the tokens of one block. Overwrites the logits."""
    if temperatures is None:
        return Drawn(*_invert(_softmax_(logits), uniforms))
    tokens, _ = _invert(_softmax_(logits / temperatures.clamp_min(COLDEST)[:, None]), uniforms)
    return Drawn(tokens, _policy(logits, tokens))


def _softmax_(logits: Tensor) -> Tensor:
    """The softmax over the last dimension; overwrites the logits where torch does a row at a time.

    A row stays in the core's cache for all that softmax does with it; subtracting, exp and dividing one after the other
    would fetch 200 KB a row from memory for each. In place, because fresh memory costs as much again.
    """
    return torch.softmax(logits, -1) if logits.is_cuda else torch.softmax(logits, -1, out=logits)


def _invert(weights: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
    """Tokens (R, W) of non-negative weights (R, V), which need not add up to 1, and the logarithms of their shares.

    Sums are in double precision: with 50,000 addends a float32 total would be off by more than the step of the
    numbers.
    """
    width = weights.shape[-1]
    if width % BLOCK:
        weights = torch.nn.functional.pad(weights, (0, BLOCK - width % BLOCK))
    blocks = weights.unflatten(-1, (-1, BLOCK))
    sums = blocks.sum(-1).double()
    cumulative = sums.cumsum(-1)
    totals = cumulative[:, -1:]
    level = uniforms.double() * totals
    block = _first_above(cumulative, level)
    size = sums.gather(1, block)
    rest = ((level - cumulative.gather(1, block) + size) / size).clamp_min_(0.0)
    rows = torch.arange(weights.shape[0], device=weights.device)[:, None]
    inside = blocks[rows, block].double().cumsum(-1)
    place = _first_above(inside, (rest * inside[..., -1])[..., None])[..., 0]
    tokens = (block * BLOCK + place).clamp_max_(width - 1)
    return tokens, (weights.gather(1, tokens).double() / totals).log().float()


def _first_above(cumulative: Tensor, level: Tensor) -> Tensor:
    """The first index whose cumulative weight is above `level`, at most the index of the last positive weight."""
    index = torch.searchsorted(cumulative, level, right=True)
    return torch.minimum(index, (cumulative < cumulative[..., -1:]).sum(-1, keepdim=True))


def nucleus(weights: Tensor, top_p: Tensor) -> Tensor:
    """Probabilities (R, V) with 0 outside the nucleus of each row; top_p (R,). Ties at its edge are all inside, so
    that it does not depend on an order."""
    width = weights.shape[-1]
    for count in (min(NUCLEUS, width), width):
        likely = weights.topk(count, dim=-1).values
        before = likely.double().cumsum(-1) - likely
        inside = before < top_p[:, None]
        if count == width or not inside[:, -1].any():
            break
    edge = likely.gather(1, (inside.sum(-1, keepdim=True) - 1).clamp_min_(0))
    return weights.where(weights >= edge, torch.zeros_like(weights))
