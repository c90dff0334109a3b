"""Places for the batches that run at once, and a bounded queue for those that wait: for backends that give every batch
a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from node.lean.backend import BackendFull, BatchResult


class Places:
    """Used from one event loop."""

    def __init__(self, places: int, queue: int) -> None:
        """`places`: batches that run at once; `queue`: batches that may wait."""
        self.waiting = 0
        self._queue = queue
        self._free = asyncio.Semaphore(places)
        self._open: set[asyncio.Task[BatchResult]] = set()

    async def attend(self, attempt: Coroutine[Any, Any, BatchResult], name: str) -> BatchResult:
        """The attempt's result; it ends with its caller, or by `cancel`."""
        task = asyncio.create_task(attempt, name=name)
        self._open.add(task)
        try:
            return await task
        finally:
            task.cancel()  # when the caller was cancelled; else it is done
            self._open.discard(task)

    async def cancel(self) -> None:
        """End all attempts that are open, and wait for their end."""
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @asynccontextmanager
    async def hold(self, retry_after: float) -> AsyncIterator[None]:
        """One of the places. Raises BackendFull with `retry_after` (seconds) when the queue is full."""
        if self._free.locked() and self.waiting >= self._queue:
            raise BackendFull(retry_after, self.waiting)
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            self._free.release()
