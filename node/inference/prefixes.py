"""Prefilled states of one weight version, least recently used dropped first: exact, and bounded in bytes.

A search asks for more samples of a state that it has expanded before, and searches of one theorem meet the same
states. What is kept of a state is all that its samples start from: keys and values of the prompt, the final state at
its end, and V. Weights never change under an engine, so nothing here can be out of date.
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
    """As of Cache.read."""
    end: Tensor
    """(width,) normalised final state at the prompt's end: the first token's logits are made of it."""
    value: float

    @property
    def size(self) -> int:
        """Bytes."""
        return self.entries.nbytes + self.end.nbytes


class Prefixes:
    """See the module's docstring."""

    def __init__(self, limit: int) -> None:
        """`limit` in bytes; 0 keeps nothing."""
        self.limit = limit
        self.size = 0
        self.dropped = 0
        self._kept: OrderedDict[bytes, Prefilled] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, tokens: Sequence[int]) -> Prefilled | None:
        """What is kept of exactly this prompt; that counts as a use."""
        if not self._kept:
            return None
        key = self._key(tokens)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def keep(self, tokens: Sequence[int], prefilled: Prefilled) -> None:
        """Keep a prompt, dropping others for it; one that is larger than the limit is not kept."""
        key = self._key(tokens)
        if prefilled.size > self.limit or key in self._kept:
            return
        self._kept[key] = prefilled
        self.size += prefilled.size
        while self.size > self.limit:
            _, oldest = self._kept.popitem(last=False)
            self.size -= oldest.size
            self.dropped += 1

    @staticmethod
    def _key(tokens: Sequence[int]) -> bytes:
        return np.asarray(tokens, dtype=np.int32).tobytes()
