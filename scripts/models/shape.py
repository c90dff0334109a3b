"""The shape of the small Llama. It imports no torch; its docstrings are the command's help."""

from __future__ import annotations

from dataclasses import dataclass

from common.limits import Positive


@dataclass(frozen=True)
class LlamaShape:
    """Shape of a Llama; the default has a million parameters."""

    vocab_size: Positive = 1024
    """Largest vocabulary of the tokenizer. It is smaller if there are few texts."""
    depth: Positive = 4
    """Layers."""
    width: Positive = 128
    """Size of the residual stream."""
    heads: Positive = 4
    """Query heads."""
    kv_heads: Positive = 2
    """Key and value heads."""
    hidden: Positive = 448
    """Hidden size of the feed-forward layers."""
    context: Positive = 512
    """Longest sequence in tokens."""
