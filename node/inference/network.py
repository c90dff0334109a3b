"""The network of `node.model`, laid out for generation: fused matrices and a cache of keys and values.

One pass carries rows of any kind: one token of each running completion, and all tokens of prompts that come in. Dense
layers see one flat list of rows without padding. A state's keys are one list to which its prompt and then every token
of every completion is appended; a mask says which of them a completion may see. So completions share the prompt, and
what two of them have in common is computed once ("tree attention").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from node.model.transformer import NORM_FLOOR, Block, Transformer


@dataclass
class Pass:
    """What one forward pass computes. R decode rows come first, then the tokens of the prompts one after another: N
    rows."""

    tokens: Tensor
    """(N,) token ids."""
    positions: Tensor
    """(N,) places in the sequence, for the rotary angles."""
    keys_at: Tensor
    """(N,) where in the flattened (slots * capacity) cache a row's key and value go."""
    cells: Tensor
    """(R,) where in the (slots_used * cells_used) grid of queries a decode row goes."""
    slots_used: int
    cells_used: int
    keys_used: int
    """Extents of the grid and of the key lists in this pass."""
    prompts: Sequence[int]
    """Lengths of the prompts."""


class Cache:
    """Keys and values (layer, slot, key, k|v, kv head, head size) and the mask (slot, cell, key): 0 visible, -inf
    hidden."""

    def __init__(self, network: Network, slots: int, cells: int, capacity: int) -> None:
        shape = (network.depth, slots, capacity, 2, network.kv_heads, network.head_size)
        self.entries = torch.zeros(shape, device=network.device)
        self.mask = torch.full((slots, cells, capacity), -torch.inf, device=network.device)
        self.slots, self.cells, self.capacity = slots, cells, capacity

    def grown(self, network: Network, capacity: int) -> Cache:
        """A copy with room for longer key lists."""
        larger = Cache(network, self.slots, self.cells, capacity)
        larger.entries[:, :, : self.capacity] = self.entries
        larger.mask[:, :, : self.capacity] = self.mask
        return larger

    def open(self, slot: int, prompt: int) -> None:
        """Begin a state: all its completions see the prompt and nothing else."""
        self.mask[slot, :, :prompt] = 0.0
        self.mask[slot, :, prompt:] = -torch.inf

    def copy_rows(self, source: Tensor, target: Tensor) -> None:
        """Let the completions at flattened (slot, cell) `target` see what those at `source` see."""
        flat = self.mask.view(-1, self.capacity)
        flat.index_copy_(0, target, flat.index_select(0, source))

    def show(self, at: Tensor) -> None:
        """Make flattened (slot, cell, key) entries visible."""
        self.mask.view(-1).index_fill_(0, at, 0.0)


@dataclass
class _Layer:
    into: Tensor
    """(width, width + 2 * kv width): query, key, value."""
    gain: Tensor
    """(heads + kv heads, 1): scale of normalised queries (learnt) and keys."""
    out: Tensor
    up: Tensor
    down: Tensor


class Network:
    """Weights for generation, float32. `run` must be called under torch.inference_mode."""

    def __init__(self, model: Transformer) -> None:
        config = model.config
        self.config = config
        self.depth, self.width = config.depth, config.width
        self.heads, self.kv_heads, self.head_size = config.heads, config.kv_heads, config.head_size
        self.device = model.embedding.weight.device
        with torch.no_grad():
            # RMSNorm divides by |x| / sqrt(width): the root goes into the matrix that follows.
            self.norm_scale = math.sqrt(config.width)
            self.embedding = model.embedding.weight.detach().float()
            self.layers = [self._layer(block) for block in model.blocks if isinstance(block, Block)]
            self.policy = (model.policy.weight.detach().float() * self.norm_scale).t().contiguous()
            self.value = (model.value.weight.detach().float() * self.norm_scale).t().contiguous()
            table = model.table.float()
            self.angles = torch.complex(table[:, 0], table[:, 1])[:, None]

    def _layer(self, block: Block) -> _Layer:
        attention, feed_forward = block.attention, block.feed_forward
        weights = [part.weight.detach().float() for part in (attention.query, attention.key, attention.value)]
        gain = torch.cat([attention.gain.detach().float(), torch.ones(self.kv_heads, device=self.device)])
        return _Layer(
            into=(torch.cat(weights) * self.norm_scale).t().contiguous(),
            gain=gain[:, None] * math.sqrt(self.head_size),
            out=attention.out.weight.detach().float().t().contiguous(),
            up=(feed_forward.up.weight.detach().float() * self.norm_scale).t().contiguous(),
            down=feed_forward.down.weight.detach().float().t().contiguous(),
        )

    def _unit(self, x: Tensor) -> Tensor:
        """x / |x|; the root of the width is in the weights."""
        return x / torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min_(NORM_FLOOR * self.norm_scale)

    def run(self, work: Pass, cache: Cache) -> tuple[Tensor, Tensor]:
        """Policy logits (R + prompts, vocabulary): decode rows, then the end of each prompt. Value logits (prompts,
        bins)."""
        rows = work.cells.shape[0]
        angles = self.angles.index_select(0, work.positions)
        x = F.embedding(work.tokens, self.embedding)
        x = self._unit(x).mul_(self.norm_scale)
        for index, layer in enumerate(self.layers):
            mixed = self._attention(self._unit(x) @ layer.into, angles, layer, cache, index, work, rows)
            x.addmm_(mixed, layer.out)
            x.addmm_((self._unit(x) @ layer.up).relu_().square_(), layer.down)
        if work.prompts:
            ends = torch.tensor(work.prompts, device=self.device).cumsum(0) + (rows - 1)
            x = torch.cat([x[:rows], x.index_select(0, ends)])
        x = self._unit(x)
        return x @ self.policy, x[rows:] @ self.value

    def _attention(
        self, mixed: Tensor, angles: Tensor, layer: _Layer, cache: Cache, index: int, work: Pass, rows: int
    ) -> Tensor:
        """(N, width + 2 kv) -> (N, width): turn, store, and attend; decode rows through the cache, prompts within
        themselves."""
        parts = mixed.unflatten(-1, (-1, self.head_size))
        turned = parts[:, : self.heads + self.kv_heads]
        floor = NORM_FLOOR * math.sqrt(self.head_size)
        turned *= layer.gain / torch.linalg.vector_norm(turned, dim=-1, keepdim=True).clamp_min_(floor)
        pairs = torch.view_as_complex(turned.unflatten(-1, (-1, 2)))
        pairs *= angles
        cache.entries[index].view(-1, 2, self.kv_heads, self.head_size).index_copy_(
            0, work.keys_at, parts[:, self.heads :].unflatten(1, (2, self.kv_heads))
        )
        if not work.prompts:
            return self._decode(parts[:, : self.heads], cache, index, work)
        out = torch.empty(mixed.shape[0], self.width, device=self.device)
        if rows:
            out[:rows] = self._decode(parts[:rows, : self.heads], cache, index, work)
        start = rows
        for length in work.prompts:
            out[start : start + length] = self._prefill(parts[start : start + length])
            start += length
        return out

    def _prefill(self, parts: Tensor) -> Tensor:
        """Causal attention of one prompt (L, heads + 2 kv heads, size) -> (L, width)."""
        query, key, value = parts.transpose(0, 1)[None].split((self.heads, self.kv_heads, self.kv_heads), dim=1)
        group = self.heads // self.kv_heads
        if group > 1:
            key, value = key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)[0].transpose(0, 1).flatten(1)

    def _decode(self, query: Tensor, cache: Cache, index: int, work: Pass) -> Tensor:
        """One query of each running completion (R, heads, size) against its state's keys -> (R, width)."""
        slots, cells, keys = work.slots_used, work.cells_used, work.keys_used
        group = self.heads // self.kv_heads
        grid = torch.zeros(slots * cells, self.heads, self.head_size, device=self.device)
        grid.index_copy_(0, work.cells, query)
        mask = cache.mask[:slots, None, :cells, :keys]
        asked = grid.view(slots, cells, self.kv_heads, group, self.head_size).permute(0, 2, 3, 1, 4)
        if group > 1:
            mask = mask.expand(-1, group, -1, -1).flatten(1, 2)[:, None]
        stored = cache.entries[index, :slots, :keys].permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(asked.flatten(2, 3), stored[0], stored[1], attn_mask=mask)
        found = found.unflatten(2, (group, cells)).permute(0, 3, 1, 2, 4)
        return found.reshape(slots * cells, self.width).index_select(0, work.cells)
