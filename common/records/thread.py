"""Runs the database in a separate thread: SQLite's calls wait for the disk, and the event loop must not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from common.records.store import Store

P = ParamSpec("P")
R = TypeVar("R")


class StoreThread:
    """Runs methods of one Store one after another in one thread."""

    def __init__(self, store: Store, executor: ThreadPoolExecutor) -> None:
        self._store = store
        self._executor = executor

    @classmethod
    async def open(cls, path: Path) -> StoreThread:
        """Raises RunDirectoryError."""
        executor = ThreadPoolExecutor(1, thread_name_prefix="store")
        store = await asyncio.get_running_loop().run_in_executor(executor, Store, path)
        return cls(store, executor)

    async def call(self, method: Callable[Concatenate[Store, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a method, as in `await thread.call(Store.record, result, verdict, now)`. A call that has begun finishes
        even if the caller is cancelled. Raises what the method raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, lambda: method(self._store, *args, **kwargs))

    async def close(self) -> None:
        """Finish what is queued and close the database."""
        await self.call(Store.close)
        self._executor.shutdown()
