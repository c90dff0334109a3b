"""The KV cache of the running states, with a mask of the keys that each completion sees."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class CacheShape:
    """Sizes of a cache."""

    depth: int
    slots: int
    cells: int
    kv_heads: int
    head_size: int
    dtype: torch.dtype
    device: torch.device
    places: bool
    """Store the position of each key in its sequence: only a sliding window needs it."""


class Cache:
    """Keys and values (layer, slot, key, k|v, kv head, head size) and the mask (slot, cell, key): 0 visible, -inf
    hidden. One extra slot is never read: padding rows write there."""

    def __init__(self, shape: CacheShape, capacity: int) -> None:
        self.shape, self.capacity = shape, capacity
        size = (shape.depth, shape.slots + 1, capacity, 2, shape.kv_heads, shape.head_size)
        self.entries = torch.zeros(size, device=shape.device, dtype=shape.dtype)
        self.mask = torch.full((shape.slots, shape.cells, capacity), -torch.inf, device=shape.device, dtype=shape.dtype)
        places = (shape.slots + 1, capacity) if shape.places else (0, 0)
        self.places = torch.zeros(places, device=shape.device, dtype=torch.int64)
        self._order = torch.arange(capacity, device=shape.device)

    @property
    def scratch(self) -> int:
        """Flattened (slot, key) that is never read."""
        return self.shape.slots * self.capacity

    def grown(self, capacity: int) -> Cache:
        """A copy with room for longer key lists."""
        larger = Cache(self.shape, capacity)
        larger.entries[:, :, : self.capacity] = self.entries
        larger.mask[:, :, : self.capacity] = self.mask
        if self.shape.places:
            larger.places[:, : self.capacity] = self.places
        return larger

    def open(self, slot: int, prompt: int) -> None:
        """Begin a state: all its completions see the prompt and nothing else."""
        self.mask[slot, :, :prompt] = 0.0
        self.mask[slot, :, prompt:] = -torch.inf
        if self.shape.places:
            self.places[slot] = self._order

    def read(self, slot: int, prompt: int) -> Tensor:
        """A copy of a prompt's keys and values (layer, key, k|v, kv head, head size)."""
        return self.entries[:, slot, :prompt].clone()

    def write(self, slot: int, entries: Tensor) -> None:
        """Write keys and values that `read` returned."""
        self.entries[:, slot, : entries.shape[1]] = entries

    def copy_rows(self, source: Tensor, target: Tensor) -> None:
        """Copy the visible keys of the completions at flattened (slot, cell) `source` to those at `target`."""
        flat = self.mask.view(-1, self.capacity)
        flat.index_copy_(0, target, flat.index_select(0, source))

    def show(self, at: Tensor) -> None:
        """Make flattened (slot, cell, key) entries visible."""
        self.mask.view(-1).index_fill_(0, at, 0.0)
