"""Translates tensor names and shapes between our networks and Hugging Face's format. Pure, without transformers."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from node.model.config import ModelConfig, ModelConfigError

_PARTS = (
    ("embedding.weight", "model.embed_tokens.weight"),
    ("policy.weight", "lm_head.weight"),
    ("value.weight", "value_head.weight"),
    ("blocks.{}.attention.query.weight", "model.layers.{}.self_attn.q_proj.weight"),
    ("blocks.{}.attention.key.weight", "model.layers.{}.self_attn.k_proj.weight"),
    ("blocks.{}.attention.value.weight", "model.layers.{}.self_attn.v_proj.weight"),
    ("blocks.{}.attention.out.weight", "model.layers.{}.self_attn.o_proj.weight"),
    ("blocks.{}.attention.gain", "model.layers.{}.self_attn.q_gain"),
    ("blocks.{}.feed_forward.up.weight", "model.layers.{}.mlp.up_proj.weight"),
    ("blocks.{}.feed_forward.down.weight", "model.layers.{}.mlp.down_proj.weight"),
)
_TO_HUB = dict(_PARTS)
_TO_OWN = {theirs: ours for ours, theirs in _PARTS}
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")

OUTPUT_MATRIX, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


class ShapeError(ValueError):
    """A shape or tensor that the other format cannot represent; the text says which."""


class HubShape(msgspec.Struct, frozen=True):
    """The shape in the config.json of an exported network."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    max_position_embeddings: int
    value_bins: int
    rope_theta: float
    full_every: int
    final_logit_softcapping: float | None = None
    tie_word_embeddings: bool = False
    sliding_window: int | None = None


def hub_name(own: str) -> str:
    """Hugging Face's name of one of our tensors. Raises ShapeError."""
    return _renamed(own, _TO_HUB)


def own_name(hub: str) -> str:
    """Our name for a tensor in Hugging Face's format. Raises ShapeError."""
    return _renamed(hub, _TO_OWN)


def hub_shape(config: ModelConfig) -> dict[str, Any]:
    """One of our shapes as arguments of `ProofmeshConfig`. Raises ShapeError."""
    if config.prefix_lm:
        raise ShapeError(
            "the network reads its prompt in both directions (prefix_lm), which transformers' causal models and the "
            "servers built on them do not support"
        )
    return {
        "vocab_size": config.vocab_size,
        "hidden_size": config.width,
        "intermediate_size": config.hidden,
        "num_hidden_layers": config.depth,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "max_position_embeddings": config.context,
        "value_bins": config.value_bins,
        "rope_theta": config.rope_base,
        "final_logit_softcapping": config.softcap or None,
        "full_every": config.full_every,
        "tie_word_embeddings": config.tied,
        "sliding_window": config.window or None,
    }


def own_shape(shape: HubShape) -> ModelConfig:
    """Convert a shape in Hugging Face's format to ours. Raises ShapeError."""
    try:
        return ModelConfig(
            vocab_size=shape.vocab_size,
            depth=shape.num_hidden_layers,
            width=shape.hidden_size,
            heads=shape.num_attention_heads,
            kv_heads=shape.num_key_value_heads,
            hidden=shape.intermediate_size,
            context=shape.max_position_embeddings,
            value_bins=shape.value_bins,
            rope_base=shape.rope_theta,
            tied=shape.tie_word_embeddings,
            window=shape.sliding_window or 0,
            full_every=shape.full_every,
            softcap=shape.final_logit_softcapping or 0.0,
        ).check()
    except ModelConfigError as error:
        raise ShapeError(str(error)) from error


def _renamed(name: str, table: dict[str, str]) -> str:
    """Raises ShapeError if the table does not have the tensor."""
    number = _NUMBER.search(name)
    pattern = name if number is None else f"{name[: number.start()]}{{}}{name[number.end() :]}"
    if pattern not in table:
        raise ShapeError(f"unknown tensor `{name}`; a proofmesh network does not have it")
    return table[pattern].format(number.group() if number else "")
