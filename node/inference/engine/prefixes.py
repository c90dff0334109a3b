"""The prefix cache: prefilled prompts of one weight version in an LRU cache that is bounded in bytes.

A search requests more samples of states that it has expanded before, and searches of one theorem meet the same states.
An entry holds everything that samples start from: keys and values of the prompt, the final state at its end, and V. The
weights of an engine never change, so entries are never out of date.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor


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
