"""The scheduler of the model's thread: chooses which rows to sample next, batches them, and returns finished ones."""

from __future__ import annotations

import gc
import threading
from collections import deque
from collections.abc import Iterable, Sequence

import torch

from node.llm.hub.group import Group, begin
from node.llm.hub.loading import Loaded
from node.llm.hub.rows import Row
from node.llm.settings import HubSettings

STEPS = 8
"""Tokens that a group is run for before rows leave and join. With rows that end at different times, 8, 16 and 32 drew
2.8, 2.2 and 1.9 times the tokens per second of processor time that `generate` draws. With rows of one length there was
no difference (the batches of `proofmesh bench models`, three pairs each, on a CPU with other work)."""

FIRST_READ = 8192
"""Maximum prompt tokens, including padding, that are read together. They keep a GPU busy; more only take memory."""

PADDED = 2
"""Groups are not joined if padding would make their tokens more than this many times as many."""

MOST_GROUPS = 3
"""Maximum groups that take turns because they cannot be joined. Further rows wait until a group ends: each group costs
a run of the model, however few rows it has."""


class Engine:
    """The rows of one model. All methods but `close` belong to one thread."""

    def __init__(self, loaded: Loaded, settings: HubSettings) -> None:
        self._loaded = loaded
        self._share = settings.share_prompts
        self._batch = settings.batch
        self._batch_tokens = settings.batch_tokens
        self._waiting: deque[Row] = deque()
        self._groups: deque[Group] = deque()
        self._closed = threading.Event()
        self.shrunk = ""
        """Why batches are smaller than configured; empty if they are not."""

    @property
    def busy(self) -> bool:
        """Whether some row is unfinished."""
        return bool(self._waiting or self._groups)

    def close(self) -> None:
        """Stop running rows at their next token."""
        self._closed.set()

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def turn(self, new: Iterable[Row]) -> list[Row]:
        """Accept new rows, run the next group, and return the finished rows with their samples."""
        over = self._turn(new)
        for row in over:
            if row.end is not None and not row.left:
                row.drawn = row.sample()  # decoding is slow: do it in this thread, not on the event loop
        return over

    def _turn(self, new: Iterable[Row]) -> list[Row]:
        self._waiting.extend(new)
        over = [row for row in self._waiting if row.is_over]
        self._waiting = deque(row for row in self._waiting if not row.is_over)
        drawn: Sequence[Row] = ()
        try:
            drawn = admitted = self._admitted()
            # For an encoder padding hardly matters: it is read once, and costs no step of the decoder.
            for rows in chunks(admitted, float("inf") if self._loaded.encodes else PADDED):
                self._add(begin(self._loaded, rows, share=self._share))
            if self._groups:
                group = self._groups[0]
                drawn = group.rows
                group.run(STEPS, self._closed.is_set)
                over += group.drop_finished()
                self._groups.rotate(-1)
                self._groups = deque(each for each in self._groups if each.rows)
            return over
        except torch.OutOfMemoryError:
            return [*over, *self._smaller(drawn)]

    def _admitted(self) -> list[Row]:
        """Take waiting rows in order, as many as there is room for; at least one if nothing runs."""
        rows = sum(len(group.rows) for group in self._groups)
        longest, tokens = 0, sum(group.tokens for group in self._groups)
        admitted: list[Row] = []
        if len(self._groups) >= MOST_GROUPS:
            return admitted
        while self._waiting and rows + len(admitted) < self._batch:
            longest = max(longest, self._waiting[0].most_tokens)
            if (rows or admitted) and tokens + (len(admitted) + 1) * longest > self._batch_tokens:
                break
            admitted.append(self._waiting.popleft())
        return admitted

    def _add(self, new: Group) -> None:
        """Join the group with one of similar length, or let it take turns with the other groups."""
        for group in self._groups if new.can_join else ():
            lengths = [group.ids.shape[1], new.ids.shape[1]]
            alone = len(group.rows) * lengths[0] + len(new.rows) * lengths[1]
            if group.can_join and (len(group.rows) + len(new.rows)) * max(lengths) <= PADDED * alone:
                group.join(new)
                return
        self._groups.append(new)

    def _smaller(self, drawn: Sequence[Row]) -> list[Row]:
        """Recover from out of memory: restart all rows with half the batch size. Returns rows that cannot be drawn."""
        rows = [row for group in self._groups for row in group.rows]
        again = [*rows, *(row for row in drawn if row not in rows)]
        self._groups.clear()
        gc.collect()
        torch.cuda.empty_cache()
        if len(again) == 1:
            again[0].error = f"out of memory with one sample of {again[0].most_tokens:,} tokens"
            return again
        self._batch = max(1, min(self._batch, len(again)) // 2)
        self._batch_tokens = max(1, min(self._batch_tokens, sum(row.most_tokens for row in again)) // 2)
        self.shrunk = f"out of memory: the batch size is {self._batch} samples from now on"
        for row in again:
            if not row.is_over:
                row.restart()
        self._waiting.extendleft(reversed(again))
        return []


def chunks(rows: Sequence[Row], padded: float = PADDED) -> list[list[Row]]:
    """Split rows into batches to be read together: sorted by length, so that the longest prompt has at most `padded`
    times the tokens of the shortest, and limited in size. Rows with equal prompts stay together: it is read once."""
    batches: list[list[Row]] = []
    prompts: set[tuple[int, ...]] = set()
    for row in sorted(rows, key=lambda row: (len(row.prompt), row.prompt)):
        length = len(row.prompt)
        new = row.prompt not in prompts
        full = (len(prompts) + 1) * length > FIRST_READ
        if not batches or (new and (full or length > padded * len(batches[-1][0].prompt))):
            batches.append([])
            prompts.clear()
        batches[-1].append(row)
        prompts.add(row.prompt)
    return batches
