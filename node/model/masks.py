"""Attention masks: causal, sliding window, bidirectional within a prompt (prefix LM), and separate per document."""

from __future__ import annotations

import torch
from torch import Tensor


def visible(
    length: int,
    *,
    window: int = 0,
    prefix: Tensor | None = None,
    documents: Tensor | None = None,
    device: torch.device | str | None = None,
) -> Tensor | None:
    """Mask (B or 1, 1, T, T), True where query i sees key j; None: purely causal, which needs no mask.

    i sees j if three conditions hold: j <= i or both are in the prefix; |i - j| < `window` (0: no window); both are in
    one document. `prefix` (B,): tokens of each sequence's prompt. `documents` (B, T): document number of each token.
    """
    narrow = 0 < window < length
    if not narrow and prefix is None and documents is None:
        return None
    place = torch.arange(length, device=device)
    distance = place[:, None] - place
    mask = (distance >= 0)[None]
    if prefix is not None:
        inside = place < prefix[:, None]
        mask = mask | (inside[:, :, None] & inside[:, None, :])
    if documents is not None:
        mask = mask & (documents[:, :, None] == documents[:, None, :])
    if narrow:
        mask = mask & (distance.abs() < window)
    return mask[:, None]
