"""The configuration of a proofmesh network for transformers.

Every exported folder has a copy of this file, so it imports only transformers and nothing of proofmesh.
"""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig


class ProofmeshConfig(PreTrainedConfig):
    """A decoder for Lean tactics with a value head (`modeling_proofmesh`). Keys are named as in Llama and Gemma 2."""

    model_type = "proofmesh"
    keys_to_ignore_at_inference = ["past_key_values", "value_logits", "value"]  # noqa: RUF012 - transformers' own way

    vocab_size: int = 1024
    hidden_size: int = 128
    intermediate_size: int = 512
    num_hidden_layers: int = 4
    num_attention_heads: int = 4
    num_key_value_heads: int = 4
    max_position_embeddings: int = 512
    value_bins: int = 64
    """Bin b of the value head is b remaining steps; the last bin means "at least"."""
    rope_theta: float = 10_000.0
    final_logit_softcapping: float | None = None
    """Logits become cap * tanh(logits / cap); None: no cap."""
    sliding_window: int | None = None
    """Tokens that a layer with sliding attention sees, including the current one."""
    full_every: int = 4
    """With a window: every `full_every`-th layer and the last layer see all tokens."""
    layer_types: list[str] | None = None
    """`sliding_attention` or `full_attention` for each layer; by default derived from `full_every`."""
    tactic_tokens: int = 256
    """Longest tactic in tokens that the network was trained on, its end included; never more than half of the
    context."""
    use_cache: bool = True
    tie_word_embeddings: bool = False
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 4

    def __post_init__(self, **more: Any) -> None:
        if self.layer_types is None:
            last = self.num_hidden_layers - 1
            self.layer_types = [
                "sliding_attention"
                if self.sliding_window and layer != last and (layer + 1) % self.full_every
                else "full_attention"
                for layer in range(self.num_hidden_layers)
            ]
        super().__post_init__(**more)

    @property
    def head_dim(self) -> int:
        """Size of a head."""
        return self.hidden_size // self.num_attention_heads
