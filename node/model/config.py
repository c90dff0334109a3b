"""The shape of the network, as one configuration that travels with every checkpoint and weights file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any


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
    window: int = 0
    """Sliding window (Longformer, arXiv 2004.05150): tokens that a windowed layer sees, its own included; 0: every
    layer sees all."""
    full_every: int = 4
    """With a window: layers number `full_every`, twice that, ... and the last one see all the same."""
    softcap: float = 0.0
    """Policy logits are softcap · tanh(logits / softcap) (Gemma 2, arXiv 2408.00118); 0: as they are."""
    prefix_lm: bool = False
    """Attention in both directions within the prompt (prefix LM, T5, arXiv 1910.10683)."""

    @property
    def head_size(self) -> int:
        return self.width // self.heads

    def window_of(self, layer: int) -> int:
        """Window of a layer, counted from 0; 0 is none."""
        last = layer == self.depth - 1
        return 0 if last or (layer + 1) % self.full_every == 0 else self.window

    def as_dict(self) -> dict[str, Any]:
        """The fields by name; an option that was added after the first checkpoints only where it is used. So what
        does without them keeps the files, and the names made from it, that it always had."""
        return {name: value for name, value in asdict(self).items() if name not in OPTIONS or value != OPTIONS[name]}

    def check(self) -> ModelConfig:
        """Return the configuration, or raise ModelConfigError."""
        for field in ("vocab_size", "depth", "width", "heads", "kv_heads", "hidden", "context", "full_every"):
            if getattr(self, field) < 1:
                raise ModelConfigError(f"{field} is {getattr(self, field)}; it must be at least 1")
        for field in ("window", "softcap"):
            if getattr(self, field) < 0:
                raise ModelConfigError(f"{field} is {getattr(self, field)}; it must be positive, or 0 for none")
        if self.value_bins < 2:
            raise ModelConfigError(f"value_bins is {self.value_bins}; a distribution needs at least 2")
        if self.width % self.heads:
            raise ModelConfigError(f"width {self.width} cannot be divided among {self.heads} heads")
        if self.heads % self.kv_heads:
            raise ModelConfigError(f"{self.heads} heads cannot share {self.kv_heads} key-value heads evenly")
        if self.head_size % 2:
            raise ModelConfigError(f"head size {self.head_size} is odd; rotary embedding turns pairs")
        return self


OPTIONS = {name: getattr(ModelConfig(), name) for name in ("window", "full_every", "softcap", "prefix_lm")}
"""Fields that the first checkpoints do not have, with the values that stand for their absence."""

PRESETS = {
    "demo": ModelConfig(),
    # 3.2 M parameters: a CPU trains it in minutes.
    "nano": ModelConfig(vocab_size=2048, depth=6, width=192, heads=6, kv_heads=2, hidden=768, context=1024),
    # 126 M: GPT-2's smallest shape, with a third of its key-value heads.
    "small": ModelConfig(vocab_size=32_768, depth=12, width=768, heads=12, kv_heads=4, hidden=3072, context=2048),
    # 1.0 B: head size 128, which FlashAttention likes best; three windowed layers to every full one.
    "base": ModelConfig(
        vocab_size=32_768,
        depth=20,
        width=2048,
        heads=16,
        kv_heads=4,
        hidden=8192,
        context=4096,
        window=1024,
        softcap=15.0,
    ),
}
"""Shapes by name; the vocabulary is that of a usual tokenizer for them."""


def preset(name: str, **changes: int | float | bool) -> ModelConfig:
    """A shape by name with some fields changed (`vocab_size` above all). Raises ModelConfigError."""
    if name not in PRESETS:
        raise ModelConfigError(f"there is no model `{name}`; there are {', '.join(PRESETS)}")
    return replace(PRESETS[name], **changes).check()  # type: ignore[arg-type]
