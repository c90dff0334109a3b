"""The shape of the network, as one configuration that travels with every checkpoint and weights file."""

from __future__ import annotations

from dataclasses import dataclass


class ModelConfigError(ValueError):
    """A configuration that no network can be built from; the text says which field and why."""


@dataclass(frozen=True)
class ModelConfig:
    """Shape of the transformer. The defaults are the demo's: about one million parameters with a vocabulary of
    1,024."""

    vocab_size: int = 1024
    """Tokens of the tokenizer, special ones included."""
    depth: int = 4
    """Transformer blocks."""
    width: int = 128
    """Size of the residual stream."""
    heads: int = 4
    """Attention (query) heads; `width` is divided among them."""
    kv_heads: int = 4
    """Key and value heads; fewer than `heads` is grouped-query attention."""
    hidden: int = 512
    """Hidden size of the feed-forward layer."""
    context: int = 512
    """Longest sequence in tokens: state and tactic together."""
    value_bins: int = 64
    """Bins of the value head: bin b is b remaining steps, the last one "at least" (AlphaProof)."""
    rope_base: float = 10_000.0
    """Base of the rotary angles (RoFormer, arXiv 2104.09864)."""
    tied: bool = False
    """Use the token embedding as the output matrix too."""

    @property
    def head_size(self) -> int:
        return self.width // self.heads

    def check(self) -> ModelConfig:
        """Return the configuration, or raise ModelConfigError."""
        for field in ("vocab_size", "depth", "width", "heads", "kv_heads", "hidden", "context"):
            if getattr(self, field) < 1:
                raise ModelConfigError(f"{field} is {getattr(self, field)}; it must be at least 1")
        if self.value_bins < 2:
            raise ModelConfigError(f"value_bins is {self.value_bins}; a distribution needs at least 2")
        if self.width % self.heads:
            raise ModelConfigError(f"width {self.width} cannot be divided among {self.heads} heads")
        if self.heads % self.kv_heads:
            raise ModelConfigError(f"{self.heads} heads cannot share {self.kv_heads} key-value heads evenly")
        if self.head_size % 2:
            raise ModelConfigError(f"head size {self.head_size} is odd; rotary embedding turns pairs")
        return self
