"""Samples from a language model in this process. One thread draws the samples of many searches in batches.

    async with open_hub(parse_hub_address("hf:ByteDance-Seed/BFS-Prover-V1-7B"), HubSettings()) as sampler:
        samples = await sampler.sample(Prompt(text), 8, seed, Decoding())

Equal arguments give equal samples, whatever else is in the batch, because each sample has a separate random generator.
Only floating-point rounding depends on the batch, so that very rarely a different token becomes the likeliest.
"""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial

import torch

from common.seeds import derive_seed
from node.llm.address import HubAddress
from node.llm.hub.group import Group, Row, begin, search_beams
from node.llm.hub.loading import Loaded, in_a_line, load
from node.llm.hub.reading import Reader
from node.llm.sampling import ContextExceeded, Decoding, Outcome, Prompt, Sample, SamplerError, Usage
from node.llm.settings import HubSettings, ModelSettings
from node.llm.templates import Template

Note = Callable[[str], None]
"""Receives messages about the model for the user."""


class HubSampler:
    """`node.llm.sampling.OpenedModel` with transformers in this process. Make it with `open_hub`."""

    def __init__(
        self, address: HubAddress, loaded: Loaded, settings: ModelSettings, template: Template | None, note: Note
    ) -> None:
        self.usage = Usage(str(address).removeprefix("hf:"), settings)
        self.trouble = ""
        self._name = f"hf:{address.model}"
        self._loaded = loaded
        self._reader = Reader(self._name, loaded, template)
        self._width = (template.sampling.beams if template else 0) if settings.hf.beams is None else settings.hf.beams
        self._note = note
        self._engine = Engine(loaded, settings.hf)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="language-model")
        self._new: list[Row] = []
        self._waiting: dict[Row, asyncio.Event] = {}
        self._wake = asyncio.Event()
        self._runner = asyncio.create_task(self._run())

    async def sample(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Sequence[Sample]:
        """Draw `count` samples. At temperature 0 it is one, because all would be equal, or the results of a beam search
        for families that are published with one.

        Raises SamplerError, and its subclass ContextExceeded.
        """
        with self.usage.request() as request:
            request.outcome = Outcome.REFUSED  # replaced below on success
            try:
                ids = self._reader.ids(prompt)
                decoding = replace(decoding, max_tokens=self._reader.room(len(ids), decoding.max_tokens))
                samples = await self._drawn(ids, count, seed, decoding)
            except ContextExceeded:
                request.outcome = Outcome.TOO_LONG
                raise
            self.usage.answered(len(samples), len(ids), sum(sample.token_count for sample in samples))
            request.outcome = Outcome.ANSWERED
            return samples

    async def _drawn(self, ids: tuple[int, ...], count: int, seed: int, decoding: Decoding) -> Sequence[Sample]:
        """Raises SamplerError."""
        if decoding.temperature == 0 and self._width:
            return await self._beams(ids, count, decoding)
        ends = self._loaded.ends | self._reader.stop_tokens(decoding.stop)
        rows = [
            Row(ids, decoding, derive_seed(seed, number), ends, self._reader.decode)
            for number in range(min(count, 1) if decoding.temperature == 0 else count)
        ]
        try:
            await self._over(rows)
        finally:
            for row in rows:  # if the caller was cancelled, the engine need not finish its rows
                row.left = True
        if error := self.trouble or next((row.error for row in rows if row.error), ""):
            raise SamplerError(f"{self._name}: {error}")
        return [row.drawn for row in rows if row.drawn is not None]

    async def _over(self, rows: Sequence[Row]) -> None:
        """Wait until all rows have ended. Raises SamplerError if the sampler has stopped."""
        if self._runner.done():
            raise SamplerError(f"{self._name}: {self.trouble or 'it is closed'}")
        events = {row: asyncio.Event() for row in rows}
        self._waiting.update(events)
        self._new.extend(rows)
        self._wake.set()
        try:
            for event in events.values():
                await event.wait()
        finally:
            for row in rows:
                self._waiting.pop(row, None)

    async def _beams(self, ids: tuple[int, ...], count: int, decoding: Decoding) -> Sequence[Sample]:
        """Raises SamplerError."""
        left = False

        def is_cancelled() -> bool:
            return left or self._engine.closed

        searching = partial(
            search_beams, self._loaded, ids, count, self._width, decoding, self._reader.decode, is_cancelled
        )
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, searching)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise SamplerError(f"{self._name}: it is closed") from None
        except RuntimeError as error:
            why = "it is closed" if self._engine.closed else in_a_line(error)
            raise SamplerError(f"{self._name}: {why}") from error
        finally:
            left = True

    async def _run(self) -> None:
        """Run the thread's turns while there are rows to draw."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._new or self._engine.busy:
                    new, self._new = self._new, []
                    shrunk = self._engine.shrunk
                    for row in await loop.run_in_executor(self._thread, self._engine.turn, new):
                        if row in self._waiting:
                            self._waiting[row].set()
                    if self._engine.shrunk != shrunk:
                        self._note(f"{self._name}: {self._engine.shrunk}")
        except Exception as error:  # errors of a GPU or of a model's own code have no common type
            self.trouble = f"the model failed: {in_a_line(error)}"
        finally:
            self.trouble = self.trouble or "it is closed"
            for event in self._waiting.values():
                event.set()

    async def close(self) -> None:
        """Stop running rows at their next token, and end the thread."""
        self._engine.close()
        self._runner.cancel()
        with suppress(asyncio.CancelledError):
            await self._runner
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)


@asynccontextmanager
async def open_hub(
    address: HubAddress,
    settings: ModelSettings | None = None,
    *,
    template: Template | None = None,
    note: Note = lambda text: None,
) -> AsyncIterator[HubSampler]:
    """A sampler over a model in this process, for the duration of the block. `template` gives the form of conversations
    if the tokenizer has no chat template, and the width of beams. `note` receives messages about reduced batches.

    Raises BadModel.
    """
    settings = settings or ModelSettings()
    loaded = await asyncio.to_thread(load, address, settings.hf)
    sampler = HubSampler(address, loaded, settings, template, note)
    try:
        yield sampler
    finally:
        await sampler.close()


# ----------------------------------------------------------------------------------------------------------------------
# The scheduler of the model's thread: chooses which rows to sample next, batches them, and returns finished ones.

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
