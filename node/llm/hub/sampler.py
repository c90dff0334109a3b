"""Samples from a language model in this process. One thread draws the samples of many searches in batches.

    async with open_hub(parse_hub_address("hf:ByteDance-Seed/BFS-Prover-V1-7B"), HubSettings()) as sampler:
        samples = await sampler.sample(Prompt(text), 8, seed, Decoding())

Equal arguments give equal samples, whatever else is in the batch, because each sample has a separate random generator.
Only floating-point rounding depends on the batch, so that very rarely a different token becomes the likeliest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial

from common.seeds import derive_seed
from node.llm.address import HubAddress
from node.llm.faults import ContextExceeded, Outcome
from node.llm.hub import beams
from node.llm.hub.engine import Engine
from node.llm.hub.loading import Loaded, in_a_line, load
from node.llm.hub.reading import Reader
from node.llm.hub.rows import Row
from node.llm.sampling import Decoding, Prompt, Sample, SamplerError
from node.llm.settings import ModelSettings
from node.llm.templates import Template
from node.llm.usage import Usage

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
            beams.search, self._loaded, ids, count, self._width, decoding, self._reader.decode, is_cancelled
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
