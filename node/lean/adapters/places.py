"""Limits how many batches run at the same time, with a bounded queue, for backends that use one process per batch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from node.lean.backend import BackendFull, BatchResult


class Places:
    """Places for running batches. Use it from one event loop."""

    def __init__(self, places: int, queue: int) -> None:
        """`places`: most batches that run at the same time. `queue`: most waiting batches."""
        self.waiting = 0
        self._queue = queue
        self._free = asyncio.Semaphore(places)
        self._open: set[asyncio.Task[BatchResult]] = set()

    async def attend(self, attempt: Coroutine[Any, Any, BatchResult], name: str) -> BatchResult:
        """Run an attempt and return its result. `cancel`, or the end of the caller, also ends the attempt."""
        task = asyncio.create_task(attempt, name=name)
        self._open.add(task)
        try:
            return await task
        finally:
            task.cancel()  # matters only if the caller was cancelled
            self._open.discard(task)

    async def cancel(self) -> None:
        """Cancel all open attempts, and wait for their end."""
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @asynccontextmanager
    async def hold(self, retry_after: float) -> AsyncIterator[None]:
        """Wait for a place and hold it. Raises BackendFull with `retry_after` (seconds) if the queue is full."""
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
