"""A proofmesh network in transformers: RMSNorm and QK-norm without gains, one gain for each query head, rotary pairs
(2i, 2i + 1), squared ReLU, grouped-query attention, sliding windows, a soft cap on the logits, and a value head.

Every exported folder has a copy of this file, so it imports only torch and transformers. A prompt is
`<|bos|><|state|>STATE<|tactic|>`. The value is valid at `<|tactic|>`, after the state and before the tactic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache
from transformers.masking_utils import create_causal_mask, create_sliding_window_causal_mask
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils.generic import ModelOutput

from .configuration_proofmesh import ProofmeshConfig

NORM_FLOOR = 1e-6
"""Minimum root mean square that normalization divides by."""


def normalize(x: Tensor) -> Tensor:
    """x / max(rms(x), NORM_FLOOR) over the last dimension, computed in float32."""
    wide = x.float()
    rms = torch.linalg.vector_norm(wide, dim=-1, keepdim=True) / math.sqrt(x.shape[-1])
    return (wide / rms.clamp_min(NORM_FLOOR)).to(x.dtype)


def rotary(config: ProofmeshConfig, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines (B, 1, T, head_dim / 2) of positions (B, T), float32."""
    wide = torch.float32 if positions.device.type == "mps" else torch.float64
    half = config.head_dim // 2
    frequencies = config.rope_theta ** (-torch.arange(half, dtype=wide, device=positions.device) / half)
    angles = positions[:, None, :, None].to(wide) * frequencies
    return angles.cos().float(), angles.sin().float()


def rotate(x: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
    """Turn the pairs (2i, 2i + 1) of x (B, heads, T, head_dim)."""
    cos, sin = angles
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2).to(x.dtype)


def plain_attention(
    module: ProofmeshAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    **more: Any,
) -> tuple[Tensor, Tensor]:
    """Attention without fused kernels, for `attn_implementation="eager"`."""
    key = key.repeat_interleave(module.num_key_value_groups, dim=1)
    value = value.repeat_interleave(module.num_key_value_groups, dim=1)
    scores = query @ key.transpose(2, 3) * scaling
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    return (weights @ value).transpose(1, 2).contiguous(), weights


class ProofmeshAttention(nn.Module):
    """Attention with normalized queries and keys; `q_gain` (one per head) scales how sharp a head can be."""

    def __init__(self, config: ProofmeshConfig, layer_idx: int) -> None:
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.head_dim = config.head_dim
        self.num_key_value_groups = config.num_attention_heads // config.num_key_value_heads
        self.scaling = self.head_dim**-0.5
        self.attention_dropout = 0.0
        self.is_causal = True
        is_sliding = (config.layer_types or [])[layer_idx] == "sliding_attention"
        self.sliding_window = config.sliding_window if is_sliding else None
        kv_width = config.num_key_value_heads * self.head_dim
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, kv_width, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, kv_width, bias=False)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.q_gain = nn.Parameter(torch.ones(config.num_attention_heads))

    def forward(
        self,
        x: Tensor,
        angles: tuple[Tensor, Tensor],
        attention_mask: Tensor | None,
        past_key_values: Cache | None,
        **more: Any,
    ) -> Tensor:
        shape = (*x.shape[:2], -1, self.head_dim)
        # As in node/model/transformer.py: normalized before the rotation, so that only `q_gain` says how sharply a head
        # attends.
        query = rotate(normalize(self.q_proj(x).view(shape).transpose(1, 2)), angles)
        query = query * self.q_gain[:, None, None].to(query.dtype)
        key = rotate(normalize(self.k_proj(x).view(shape).transpose(1, 2)), angles)
        value = self.v_proj(x).view(shape).transpose(1, 2)
        if past_key_values is not None:
            # Keys are cached after the rotation, so that a step only rotates its own.
            key, value = past_key_values.update(key, value, self.layer_idx)
        # The user's choice: eager, sdpa, flash attention, or what else transformers has registered.
        attend: Callable[..., Any] = ALL_ATTENTION_FUNCTIONS.get_interface(
            self.config._attn_implementation, plain_attention
        )
        mixed, _ = attend(
            self,
            query,
            key,
            value,
            attention_mask,
            dropout=0.0,
            scaling=self.scaling,
            sliding_window=self.sliding_window,
            **more,
        )
        return self.o_proj(mixed.reshape(*x.shape[:2], -1))


class ProofmeshMLP(nn.Module):
    """Two matrices with a squared ReLU between them."""

    def __init__(self, config: ProofmeshConfig) -> None:
        super().__init__()
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.relu(self.up_proj(x)).square())


class ProofmeshDecoderLayer(GradientCheckpointingLayer):
    def __init__(self, config: ProofmeshConfig, layer_idx: int) -> None:
        super().__init__()
        self.self_attn = ProofmeshAttention(config, layer_idx)
        self.mlp = ProofmeshMLP(config)

    def forward(self, x: Tensor, **more: Any) -> Tensor:
        x = x + self.self_attn(normalize(x), **more)
        return x + self.mlp(normalize(x))


class ProofmeshPreTrainedModel(PreTrainedModel):
    config_class = ProofmeshConfig
    config: ProofmeshConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["ProofmeshDecoderLayer"]  # noqa: RUF012 - transformers' own way
    _skip_keys_device_placement = ["past_key_values"]  # noqa: RUF012
    _supports_sdpa = True
    _supports_attention_backend = True

    def _init_weights(self, module: nn.Module) -> None:
        """Initialize new weights; transformers skips weights that were loaded."""
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0.0, 0.02)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, 0.0, 1.0)
        elif isinstance(module, ProofmeshAttention):
            nn.init.ones_(module.q_gain)


class ProofmeshModel(ProofmeshPreTrainedModel):
    """The network without its heads."""

    # vLLM makes its own policy head, and does not support a value head.
    _keys_to_ignore_on_load_unexpected = [r"value_head.*"]  # noqa: RUF012

    def __init__(self, config: ProofmeshConfig) -> None:
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(ProofmeshDecoderLayer(config, at) for at in range(config.num_hidden_layers))
        self.gradient_checkpointing = False
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        **more: Any,
    ) -> BaseModelOutputWithPast:
        """Normalized final states (B, T, hidden_size)."""
        if (input_ids is None) == (inputs_embeds is None):
            # transformers' own models refuse the same, with this error.
            raise ValueError("pass either input_ids or inputs_embeds")
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        if (self.config.use_cache if use_cache is None else use_cache) and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        if position_ids is None:
            # Padding on the left does not shift positions.
            position_ids = self._positions(inputs_embeds, attention_mask, past_key_values)
        mask_arguments: dict[str, Any] = {
            "config": self.config,
            "inputs_embeds": inputs_embeds,
            "attention_mask": attention_mask,
            "past_key_values": past_key_values,
            "position_ids": position_ids,
        }
        # A mask for each kind of layer, made once: the layers of a kind share it.
        kinds = set(self.config.layer_types or [])
        make = {"full_attention": create_causal_mask, "sliding_attention": create_sliding_window_causal_mask}
        masks = {kind: make[kind](**mask_arguments) for kind in kinds}
        angles = rotary(self.config, position_ids)
        x = normalize(inputs_embeds)
        states = [x]
        for layer, kind in zip(self.layers, self.config.layer_types or [], strict=True):
            x = layer(x, angles=angles, attention_mask=masks[kind], past_key_values=past_key_values, **more)
            states.append(x)
        # The last hidden state is the normalized one, which is what heads read.
        states[-1] = x = normalize(x)
        return BaseModelOutputWithPast(
            last_hidden_state=x,
            past_key_values=past_key_values,
            hidden_states=tuple(states) if output_hidden_states else None,
        )

    @staticmethod
    def _positions(embedded: Tensor, attention_mask: Tensor | None, cache: Cache | None) -> Tensor:
        """Positions 0, 1, ... of the tokens, not counting padding."""
        length = embedded.shape[1]
        if attention_mask is not None and attention_mask.ndim == 2:
            return (attention_mask.long().cumsum(-1) - 1).clamp_min(0)[:, -length:]
        seen = cache.get_seq_length() if cache is not None else 0
        return (torch.arange(length, device=embedded.device) + seen)[None]


@dataclass
class ProofmeshOutput(ModelOutput):
    """The output of `ProofmeshForCausalLM`, with a value for each position in `logits_to_keep`."""

    loss: Tensor | None = None
    logits: Tensor | None = None
    """(B, kept, vocab_size) float32."""
    past_key_values: Cache | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None
    value_logits: Tensor | None = None
    """(B, kept, value_bins) float32, over remaining steps."""
    value: Tensor | None = None
    """(B, kept): minus the expected number of remaining steps. It is only valid at `<|tactic|>`."""


class ProofmeshForCausalLM(ProofmeshPreTrainedModel, GenerationMixin):
    """The network with its policy head and value head."""

    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}  # noqa: RUF012

    def __init__(self, config: ProofmeshConfig) -> None:
        super().__init__(config)
        self.model = ProofmeshModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.value_head = nn.Linear(config.hidden_size, config.value_bins, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        **more: Any,
    ) -> ProofmeshOutput | tuple[Any, ...]:
        """`labels`: ids that are not shifted yet, -100 where there is no loss. `logits_to_keep`: the number of last
        positions to return, or their indices; 0: all."""
        out = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=past_key_values,
            inputs_embeds=inputs_embeds,
            use_cache=use_cache,
            output_hidden_states=output_hidden_states,
        )
        # Generation needs the last position only. All logits of a long prompt would be gigabytes.
        positions = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        states = out.last_hidden_state[:, positions]
        logits = self.lm_head(states).float()
        # Capped in float32: 16 bits are coarse near the cap.
        cap = self.config.final_logit_softcapping
        if cap:
            logits = cap * torch.tanh(logits / cap)
        loss = None
        if labels is not None:
            loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.vocab_size, **more)
        # The value is minus the expected number of steps that remain: bin k stands for k steps.
        value_logits = self.value_head(states).float()
        bins = torch.arange(self.config.value_bins, dtype=torch.float32, device=states.device)
        output = ProofmeshOutput(
            loss=loss,
            logits=logits,
            past_key_values=out.past_key_values,
            hidden_states=out.hidden_states,
            value_logits=value_logits,
            value=-(value_logits.softmax(-1) @ bins),
        )
        as_dict = self.config.return_dict if return_dict is None else return_dict
        return output if as_dict else output.to_tuple()
