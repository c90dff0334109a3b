"""An event loop in a separate thread, so that calls work in scripts and in notebooks, which have a running loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar, cast

T = TypeVar("T")

_END = object()


class BackgroundLoop:
    """Runs coroutines for threads that wait for their results. Call `close` at the end."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proofmesh", daemon=True)
        self._thread.start()

    def later(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Starts a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine and returns its result. If the wait is interrupted (Ctrl-C), the coroutine is cancelled."""
        future = self.later(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def each(self, items: AsyncGenerator[T]) -> Iterator[T]:
        """The items of an asynchronous generator, as they come."""

        async def following() -> object:
            return await anext(items, _END)

        async def close() -> None:
            await items.aclose()

        try:
            while (item := self.run(following())) is not _END:
                yield cast(T, item)
        finally:
            self.run(close())

    def close(self) -> None:
        """Ends the loop and its thread. Running coroutines are cancelled."""
        if self._loop.is_closed():
            return
        self.run(_all_others_ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _all_others_ended() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
