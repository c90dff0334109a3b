"""The configuration of the network's shape, which every checkpoint and weights file contains."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from common.config import taken_out


class ModelConfigError(ValueError):
    """An invalid configuration; the text says which field is wrong and why."""


@dataclass(frozen=True)
class ModelConfig:
    """Shape of the transformer. The defaults are the demo's: about one million parameters with 1,024 tokens."""

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
    """Sliding window (Longformer, arXiv 2004.05150): tokens that a windowed layer sees, including the current one; 0:
    every layer sees all tokens."""
    full_every: int = 4
    """With a window: every `full_every`-th layer and the last layer still see all tokens."""
    softcap: float = 0.0
    """Policy logits become softcap · tanh(logits / softcap) (Gemma 2, arXiv 2408.00118); 0: no cap."""
    tactic_tokens: int = 256
    """Longest tactic in tokens, its end included, and never more than half of the context: longer ones are left out of
    training, and sampling stops there."""

    @property
    def longest_tactic(self) -> int:
        """Tokens of the longest tactic, its end included."""
        return min(self.tactic_tokens, max(1, self.context // 2))

    @property
    def head_size(self) -> int:
        return self.width // self.heads

    def window_of(self, layer: int) -> int:
        """Window of a layer (layers count from 0); 0: no window."""
        last = layer == self.depth - 1
        return 0 if last or (layer + 1) % self.full_every == 0 else self.window

    def as_dict(self) -> dict[str, Any]:
        """The fields by name. OPTIONS with their default value are left out, so that networks without them have the
        same files and digests as the first checkpoints."""
        return {name: value for name, value in asdict(self).items() if name not in OPTIONS or value != OPTIONS[name]}

    def check(self) -> ModelConfig:
        """Return the configuration if it is valid. Raises ModelConfigError."""
        positive = ("vocab_size", "depth", "width", "heads", "kv_heads", "hidden", "context", "full_every")
        for field in (*positive, "tactic_tokens"):
            if getattr(self, field) < 1:
                raise ModelConfigError(f"{field} is {getattr(self, field)}; it must be at least 1")
        for field in ("window", "softcap"):
            if getattr(self, field) < 0:
                raise ModelConfigError(f"{field} is {getattr(self, field)}; it must be positive, or 0 to turn it off")
        if self.value_bins < 2:
            raise ModelConfigError(f"value_bins is {self.value_bins}; it must be at least 2")
        if self.width % self.heads:
            raise ModelConfigError(f"width is {self.width}; it must be a multiple of heads, {self.heads}")
        if self.heads % self.kv_heads:
            raise ModelConfigError(f"heads is {self.heads}; it must be a multiple of kv_heads, {self.kv_heads}")
        if self.head_size % 2:
            raise ModelConfigError(f"width / heads is {self.head_size}; it must be even for rotary embedding")
        return self


_OPTIONAL = ("window", "full_every", "softcap", "tactic_tokens")
OPTIONS = {name: getattr(ModelConfig(), name) for name in _OPTIONAL}
"""Fields that the first checkpoints do not have, with the default values that apply there."""

PRESETS = {
    "demo": ModelConfig(),
    # 3.2 M parameters: a CPU trains it in minutes.
    "nano": ModelConfig(vocab_size=2048, depth=6, width=192, heads=6, kv_heads=2, hidden=768, context=1024),
    # 126 M: GPT-2's smallest shape, with a third of its key-value heads.
    "small": ModelConfig(vocab_size=32_768, depth=12, width=768, heads=12, kv_heads=4, hidden=3072, context=2048),
    # 1.0 B: head size 128, at which FlashAttention is fastest; three windowed layers to every full one.
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
"""Shapes by name, each with a typical vocabulary size."""


def preset(name: str, **changes: int | float | bool) -> ModelConfig:
    """A shape by name with some fields changed, such as `vocab_size`. Raises ModelConfigError."""
    if name not in PRESETS:
        raise ModelConfigError(f"there is no model `{name}`; choose one of {', '.join(PRESETS)}")
    return replace(PRESETS[name], **changes).check()  # type: ignore[arg-type]


class FileMismatch(ValueError):
    """Configuration, tensors and tokenizer of a file do not match; the text says what differs."""


def config_from_dict(values: dict[str, Any]) -> ModelConfig:
    """The inverse of `ModelConfig.as_dict`. Raises FileMismatch for unknown fields and invalid values."""
    gone = taken_out("model")
    values = {name: value for name, value in values.items() if value not in gone.get(name, ())}
    field_names = {field.name for field in fields(ModelConfig)}
    if unknown := sorted(set(values) - field_names):
        raise FileMismatch(f"the model configuration has fields that this version does not know: {', '.join(unknown)}")
    try:
        return ModelConfig(**values).check()
    except (ModelConfigError, TypeError) as error:
        raise FileMismatch(f"the model configuration cannot be used: {error}") from error
