"""The network of `node.model`, laid out for generation: fused matrices and a cache of keys and values.

One pass carries one token of each running completion, and all tokens of new prompts. Dense layers see one flat list of
rows without padding. A state has one list of keys: its prompt, then every token of every completion. A mask says which
of them a completion may see. So completions share the prompt, and common prefixes of completions are computed once
("tree attention").
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from node.inference.engine.sampling import BLOCK, WIDE
from node.model.transformer import NORM_FLOOR, Block, Transformer, visible


@dataclass(frozen=True)
class Grid:
    """A rectangle of the cache that running completions attend to; see `layout.Segment`."""

    slot: int
    slots: int
    cells: int
    keys: int
    rows: slice
    at: Tensor
    """(rows,) position of each row in the flattened rectangle."""


@dataclass(frozen=True)
class Padded:
    """The prompts of a pass as one batch (P, L), padded on the right to the longest one."""

    rows: Tensor
    """(P * L,) the prompt row at each place; padding repeats a row of another."""
    places: Tensor
    """(rows of prompts,) the place of each row."""
    longest: int
    """L."""


@dataclass(frozen=True)
class Pass:
    """The input of one forward pass: R decode rows, then the tokens of the prompts one after another; N rows in all."""

    tokens: Tensor
    """(N,) token ids."""
    positions: Tensor
    """(N,) positions in the sequence, for the rotary angles."""
    keys_at: Tensor
    """(N,) index in the flattened (slots * capacity) cache of each row's key and value."""
    grids: Sequence[Grid]
    """The rectangles of the decode rows."""
    prompts: Sequence[int]
    """Lengths of the prompts."""
    ends: Sequence[Tensor] = ()
    """Final states (width,) of prompts that were read before."""
    padded: Padded | None = None
    """How the prompts become one batch; None: each is attended to by itself."""

    @property
    def rows(self) -> int:
        """R."""
        return sum(grid.rows.stop - grid.rows.start for grid in self.grids)


@dataclass(frozen=True)
class PassOutput:
    """The output of a pass."""

    logits: Tensor
    """(R + prompts + ends, vocabulary, padded with -inf if it is wide) float32. With a wide vocabulary, the next pass
    overwrites them."""
    values: Tensor
    """(prompts, bins) value logits, float32."""
    ends: Tensor
    """(prompts, width) final states: see `Pass.ends`."""


@dataclass
class _Layer:
    into: Tensor
    """(width, width + 2 * kv width): query, key, value."""
    gain: Tensor
    """(heads + kv heads, 1): scale of normalised queries (learnt) and keys."""
    out: Tensor
    up: Tensor
    down: Tensor
    window: int


class Network:
    """Weights for generation. `run` must be called under torch.inference_mode.

    With a `dtype` narrower than float32, matrices, keys and values have it; sums, norms, angles and logits are float32.
    """

    def __init__(self, model: Transformer, dtype: torch.dtype = torch.float32) -> None:
        config = model.config
        self.config, self.dtype = config, dtype
        self.depth, self.width = config.depth, config.width
        self.heads, self.kv_heads, self.head_size = config.heads, config.kv_heads, config.head_size
        self.device = model.embedding.weight.device
        self.batches_prompts = self.device.type == "cuda"
        """Whether the prompts of a pass are attended to as one padded batch; on a CPU padding costs more than calls."""
        with torch.no_grad():
            # RMSNorm divides by |x| / sqrt(width): the root goes into the matrix that follows.
            self.norm_scale = math.sqrt(config.width)
            self.embedding = model.embedding.weight.detach().float()
            blocks = [block for block in model.blocks if isinstance(block, Block)]
            self.layers = [self._layer(block, config.window_of(index)) for index, block in enumerate(blocks)]
            policy = (model.policy.weight.detach().float() * self.norm_scale).t()
            if config.vocab_size >= WIDE:
                policy = F.pad(policy, (0, -config.vocab_size % BLOCK))
            self.policy = policy.contiguous().to(dtype)
            self.value = (model.value.weight.detach().float() * self.norm_scale).t().contiguous()
            self.angles = torch.view_as_complex(model.table.float())[:, None]
        self.windows = {layer.window for layer in self.layers if layer.window}
        self._logits = torch.empty(0, self.policy.shape[1], device=self.device, dtype=dtype)
        narrow_on_cpu = dtype != torch.float32 and self.device.type == "cpu"
        self._wide = torch.empty(0, self.policy.shape[1]) if narrow_on_cpu else None
        """Room for the logits in float32: on a CPU fresh memory for each pass takes as long as the product."""

    def _layer(self, block: Block, window: int) -> _Layer:
        attention, feed_forward = block.attention, block.feed_forward
        weights = [part.weight.detach().float() for part in (attention.query, attention.key, attention.value)]
        gain = torch.cat([attention.gain.detach().float(), torch.ones(self.kv_heads, device=self.device)])
        return _Layer(
            into=(torch.cat(weights) * self.norm_scale).t().contiguous().to(self.dtype),
            gain=gain[:, None] * math.sqrt(self.head_size),
            out=attention.out.weight.detach().float().t().contiguous().to(self.dtype),
            up=(feed_forward.up.weight.detach().float() * self.norm_scale).t().contiguous().to(self.dtype),
            down=feed_forward.down.weight.detach().float().t().contiguous().to(self.dtype),
            window=window,
        )

    def cache(self, slots: int, cells: int, capacity: int) -> Cache:
        """An empty cache for this network."""
        shape = CacheShape(
            depth=self.depth,
            slots=slots,
            cells=cells,
            kv_heads=self.kv_heads,
            head_size=self.head_size,
            dtype=self.dtype,
            device=self.device,
            places=bool(self.windows),
        )
        return Cache(shape, capacity)

    def reserve(self, rows: int) -> Tensor:
        """Allocate the memory for the logits of a wide vocabulary, once for passes of at most `rows`; returns it."""
        if self.config.vocab_size >= WIDE and self._logits.shape[0] < rows:
            self._logits = self._logits.new_empty(rows, self.policy.shape[1])
            if self._wide is not None:
                self._wide = self._wide.new_empty(rows, self.policy.shape[1])
        return self._logits

    def _unit(self, x: Tensor) -> Tensor:
        """x / |x|; the root of the width is in the weights."""
        return x / torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min_(NORM_FLOOR * self.norm_scale)

    def run(self, work: Pass, cache: Cache) -> PassOutput:
        """One forward pass. Rows of logits: decode rows, then the end of each prompt, then `work.ends`."""
        rows = work.rows
        x = self.body(work, cache)
        if work.prompts:
            ends = torch.tensor(work.prompts, device=self.device).cumsum(0) + (rows - 1)
            x = torch.cat([x[:rows], x.index_select(0, ends)])
        x = self._unit(x)
        final = torch.cat([x, torch.stack(list(work.ends))]) if work.ends else x
        return PassOutput(self.head(final), x[rows:] @ self.value, x[rows:])

    def body(self, work: Pass, cache: Cache) -> Tensor:
        """States (N, width) after the last layer, not normalised."""
        angles = self.angles.index_select(0, work.positions)
        x = F.embedding(work.tokens, self.embedding)
        x = self._unit(x).mul_(self.norm_scale)
        if self.windows and work.grids:
            rows = work.rows
            cache.places.view(-1).index_copy_(0, work.keys_at[:rows], work.positions[:rows])
        masks = [self._masks(grid, work.positions, cache) for grid in work.grids]
        for index, layer in enumerate(self.layers):
            mixed = self._attention(self._product(x, layer.into), angles, layer, cache, index, work, masks)
            self._add(x, mixed, layer.out)
            self._add(x, self._product(x, layer.up).relu_().square_(), layer.down)
        return x

    def _product(self, x: Tensor, matrix: Tensor) -> Tensor:
        return self._unit(x).to(self.dtype) @ matrix

    @staticmethod
    def _add(x: Tensor, mixed: Tensor, matrix: Tensor) -> None:
        """x += mixed @ matrix, in float32."""
        if matrix.dtype == x.dtype:
            x.addmm_(mixed, matrix)
        else:
            x.add_(mixed @ matrix)

    def head(self, states: Tensor) -> Tensor:
        """Policy logits of normalised final states."""
        states = states.to(self.dtype)
        if self.config.vocab_size < WIDE:
            logits = (states @ self.policy).float()
        else:
            # 50,000 numbers a row: allocating memory for each pass would take as long as the product.
            rows = states.shape[0]
            self.reserve(rows)
            logits = torch.mm(states, self.policy, out=self._logits[:rows])
            logits = logits.float() if self._wide is None else self._wide[:rows].copy_(logits)
        cap = self.config.softcap
        if cap:
            logits = logits.div_(cap).tanh_().mul_(cap)
        logits[:, self.config.vocab_size :] = -torch.inf
        return logits

    def _masks(self, grid: Grid, positions: Tensor, cache: Cache) -> dict[int, Tensor]:
        """Additive masks (slots, 1, queries, keys) of a rectangle by window; completions of a slot are equally long."""
        slots = slice(grid.slot, grid.slot + grid.slots)
        mask = cache.mask[slots, None, : grid.cells, : grid.keys]
        group = self.heads // self.kv_heads
        masks = {0: mask}
        if self.windows:
            place = torch.zeros(grid.slots * grid.cells, dtype=torch.int64, device=self.device)
            place.index_copy_(0, grid.at, positions[grid.rows])
            latest = place.unflatten(0, (grid.slots, grid.cells)).amax(1)[:, None]
            for window in self.windows:
                gone = cache.places[slots, : grid.keys] <= latest - window
                masks[window] = mask.masked_fill(gone[:, None, None], -torch.inf)
        if group > 1:
            masks = {window: mask.expand(-1, group, -1, -1).flatten(1, 2)[:, None] for window, mask in masks.items()}
        return masks

    def _attention(
        self,
        mixed: Tensor,
        angles: Tensor,
        layer: _Layer,
        cache: Cache,
        index: int,
        work: Pass,
        masks: list[dict[int, Tensor]],
    ) -> Tensor:
        """(N, width + 2 kv) -> (N, width): rotate, store, and attend. Decode rows attend to the cache, prompts to
        themselves."""
        parts = mixed.unflatten(-1, (-1, self.head_size))
        turned = parts[:, : self.heads + self.kv_heads].float()
        floor = NORM_FLOOR * math.sqrt(self.head_size)
        turned *= layer.gain / torch.linalg.vector_norm(turned, dim=-1, keepdim=True).clamp_min_(floor)
        pairs = torch.view_as_complex(turned.unflatten(-1, (-1, 2)))
        pairs *= angles
        if turned.dtype != parts.dtype:  # else it is a view
            parts[:, : self.heads + self.kv_heads] = turned
        cache.entries[index].view(-1, 2, self.kv_heads, self.head_size).index_copy_(
            0, work.keys_at, parts[:, self.heads :].unflatten(1, (2, self.kv_heads))
        )
        if not work.prompts and len(work.grids) == 1:
            return self._decode(parts[:, : self.heads], cache, index, work.grids[0], masks[0][layer.window])
        out = torch.empty(mixed.shape[0], self.width, device=self.device, dtype=self.dtype)
        for grid, mask in zip(work.grids, masks, strict=True):
            out[grid.rows] = self._decode(parts[grid.rows, : self.heads], cache, index, grid, mask[layer.window])
        start = work.rows
        if work.padded is not None:
            out[start:] = self._prefill_batch(parts[start:], work.padded, layer.window)
            return out
        for length in work.prompts:
            out[start : start + length] = self._prefill(parts[start : start + length], layer.window)
            start += length
        return out

    def _prefill(self, parts: Tensor, window: int) -> Tensor:
        """Attention of one prompt (L, heads + 2 kv heads, size) within itself -> (L, width)."""
        return self._attend(parts[None], window)[0]

    def _prefill_batch(self, parts: Tensor, padded: Padded, window: int) -> Tensor:
        """`_prefill` of all prompts at once: (rows of prompts, heads + 2 kv heads, size) -> (rows of prompts, width).

        On a GPU a call takes as long for one prompt as for many. Padding comes after a prompt, where no query of the
        prompt looks.
        """
        batch = parts.index_select(0, padded.rows).unflatten(0, (-1, padded.longest))
        return self._attend(batch, window).flatten(0, 1).index_select(0, padded.places)

    def _attend(self, batch: Tensor, window: int) -> Tensor:
        """Attention of P prompts (P, L, heads + 2 kv heads, size), each within itself -> (P, L, width)."""
        query, key, value = batch.transpose(1, 2).split((self.heads, self.kv_heads, self.kv_heads), dim=1)
        group = self.heads // self.kv_heads
        if group > 1:
            key, value = key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)
        mask = visible(batch.shape[1], window=window, device=self.device)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=mask is None)
        return attended.transpose(1, 2).flatten(2)

    def _decode(self, query: Tensor, cache: Cache, index: int, grid: Grid, mask: Tensor) -> Tensor:
        """One query of each running completion (R, heads, size) against its state's keys -> (R, width)."""
        slots, cells = grid.slots, grid.cells
        group = self.heads // self.kv_heads
        queries = torch.zeros(slots * cells, self.heads, self.head_size, device=self.device, dtype=self.dtype)
        queries.index_copy_(0, grid.at, query)
        queries = queries.view(slots, cells, self.kv_heads, group, self.head_size).permute(0, 2, 3, 1, 4)
        stored = cache.entries[index, grid.slot : grid.slot + slots, : grid.keys].permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(queries.flatten(2, 3), stored[0], stored[1], attn_mask=mask)
        attended = attended.unflatten(2, (group, cells)).permute(0, 3, 1, 2, 4)
        return attended.reshape(slots * cells, self.width).index_select(0, grid.at)


# ----------------------------------------------------------------------------------------------------------------------
# The KV cache of the running states, with a mask of the keys that each completion sees.


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


# ----------------------------------------------------------------------------------------------------------------------
# The prefix cache: prefilled prompts of one weight version, in an LRU cache that is bounded in bytes.


@dataclass(frozen=True)
class Prefilled:
    """A prompt that has been read."""

    entries: Tensor
    """Keys and values, as `Cache.read` returns them."""
    end: Tensor
    """(width,) normalised final state at the prompt's end, from which the first token's logits are computed."""
    value: float

    @property
    def size(self) -> int:
        """Bytes."""
        return self.entries.nbytes + self.end.nbytes


class Prefixes:
    """See the module's docstring."""

    def __init__(self, limit: int) -> None:
        """`limit`: bytes; 0 switches the cache off."""
        self.limit = limit
        self.size = 0
        self.dropped = 0
        self._entries: OrderedDict[bytes, Prefilled] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, tokens: Sequence[int]) -> Prefilled | None:
        """The entry of exactly this prompt, if any; it becomes the most recently used one."""
        if not self._entries:
            return None
        key = self._key(tokens)
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def keep(self, tokens: Sequence[int], prefilled: Prefilled) -> None:
        """Add a prompt, and evict old entries to make room. A prompt larger than the limit is not added."""
        key = self._key(tokens)
        if prefilled.size > self.limit or key in self._entries:
            return
        self._entries[key] = prefilled
        self.size += prefilled.size
        while self.size > self.limit:
            _, oldest = self._entries.popitem(last=False)
            self.size -= oldest.size
            self.dropped += 1

    @staticmethod
    def _key(tokens: Sequence[int]) -> bytes:
        return np.asarray(tokens, dtype=np.int32).tobytes()
