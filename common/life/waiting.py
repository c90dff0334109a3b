"""Helpers for asyncio: wait for the first of several events or tasks, stop on signals, run work concurrently, gather
callers that come shortly after each other."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

R = TypeVar("R")
T = TypeVar("T")


async def wait_first(*waited: asyncio.Event | asyncio.Future[Any], timeout: float | None = None) -> None:
    """Return when one of the events is set or one of the futures (or tasks) is done, or after `timeout` seconds.

    The futures keep running, also if this is cancelled. The caller checks which event or future ended the wait.
    """
    events = [asyncio.ensure_future(each.wait()) for each in waited if isinstance(each, asyncio.Event)]
    futures = [each for each in waited if not isinstance(each, asyncio.Event)]
    try:
        await asyncio.wait([*events, *futures], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in events:
            each.cancel()
        await asyncio.gather(*events, return_exceptions=True)


async def unless_stopped(work: Coroutine[Any, Any, R], stopping: asyncio.Event) -> R | None:
    """The result of `work`; None if `stopping` is set first. In that case the work is cancelled before this returns.

    Raises the exception of the work.
    """
    task = asyncio.ensure_future(work)
    try:
        await wait_first(task, stopping)
        return task.result() if task.done() else None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def together(first: Coroutine[Any, Any, R], second: Coroutine[Any, Any, T]) -> tuple[R, T]:
    """Both results. If one fails or this is cancelled, waits until both have ended: asyncio cannot shut down while a
    process is starting that no task awaits (`common.life.process`)."""
    first_task, second_task = asyncio.create_task(first), asyncio.create_task(second)
    try:
        return await first_task, await second_task
    finally:
        first_task.cancel()
        second_task.cancel()
        await asyncio.gather(first_task, second_task, return_exceptions=True)


class Overdue:
    """Tells what has been there for too long, by looks now and then."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def look(self, there: Iterable[str], seconds: float) -> list[str]:
        """Those of `there` that all looks of the last `seconds` have seen. Each is told once: its time begins anew."""
        now = time.monotonic()
        self._since = {each: self._since.get(each, now) for each in there}
        overdue = [each for each, since in self._since.items() if now - since >= seconds]
        for each in overdue:
            del self._since[each]
        return overdue


@contextmanager
def ended_by(
    *signals: signal.Signals, stopping: asyncio.Event, heard: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """The first of these signals calls `heard` and sets `stopping`. The next one cancels the task in this block, which
    ends everything at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def interrupted() -> None:
        if stopping.is_set():
            task.cancel()
            return
        heard()
        stopping.set()

    for each in signals:
        loop.add_signal_handler(each, interrupted)
    try:
        yield
    finally:
        for each in signals:
            loop.remove_signal_handler(each)


async def all_results(works: Iterable[Coroutine[Any, Any, R]]) -> list[R]:
    """The results of coroutines that run concurrently, in the given order.

    Raises the exception of the first that fails. The others are then cancelled, and have ended.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


async def as_they_end(*tasks: asyncio.Future[R]) -> AsyncIterator[asyncio.Future[R]]:
    """The tasks in the order in which they end; those that end at the same time in the given order. They are not
    awaited: a task's `result` raises its exception."""
    waiting = set(tasks)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task in done:
                yield task


async def side_by_side(work: Callable[[T], Awaitable[R]], items: Iterable[T], at_once: int) -> AsyncGenerator[R, None]:
    """The results of `work` on each item, in the order in which they finish. At most `at_once` items run concurrently.

    Raises the exception of the work. Then, and when the caller closes this iterator, all running work is cancelled.
    """
    # All workers draw from one iterator: a slow item holds up only its own worker.
    todo = iter(items)
    # None in the queue says that one worker has nothing left to do.
    ended: asyncio.Queue[asyncio.Future[R] | None] = asyncio.Queue()

    async def worker() -> None:
        for item in todo:
            task = asyncio.ensure_future(work(item))
            try:
                await asyncio.wait({task})
            finally:
                task.cancel()  # in case this worker was cancelled; otherwise the task has ended
            ended.put_nowait(task)
        ended.put_nowait(None)

    workers = [asyncio.create_task(worker()) for _ in range(at_once)]
    try:
        running_workers = len(workers)
        while running_workers:
            task = await ended.get()
            if task is None:
                running_workers -= 1
            else:
                # Raises what the work raised, in the caller; `finally` then ends the others.
                yield task.result()
    finally:
        for each in workers:
            each.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


class _Window:
    """A time window of `Gathering`."""

    def __init__(self) -> None:
        self.closing = asyncio.Event()
        """Set to wake the caller that opened it."""
        self.closed = asyncio.Event()
        """Set by that caller, for all others."""


class Gathering:
    """The first caller of `wait` opens a time window. When the window closes, all waiting callers go on together.

    So a lean-proxy verifies proofs that are found shortly after each other in one batch.
    """

    def __init__(self, seconds: float, stopping: asyncio.Event) -> None:
        """`seconds`: length of a window; 0: `wait` returns at once, as it does while `stopping` is set."""
        self.seconds = seconds
        """May be changed; an open window keeps its length."""
        self._stopping = stopping
        self._window: _Window | None = None

    async def wait(self) -> None:
        """Wait until the open window closes. Opens one if there is none."""
        if self.seconds <= 0:
            return
        if self._window is not None:
            await self._window.closed.wait()
            return
        if self._stopping.is_set():
            return
        window = self._window = _Window()
        try:
            await wait_first(window.closing, self._stopping, timeout=self.seconds)
        finally:
            window.closed.set()
            if self._window is window:
                self._window = None
        # All go on in the next turn of the event loop, so that what the first one starts takes them all.
        await asyncio.sleep(0)

    def close(self) -> None:
        """Close the open window, if there is one: no further caller will come."""
        if self._window is not None:
            self._window.closing.set()
            self._window = None
