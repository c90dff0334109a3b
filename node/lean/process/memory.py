"""How much memory a process takes, and the guard that ends it when that is too much.

Counted is a process's own memory: what is resident, without the pages of files that it maps. Lean maps the compiled
modules that it imports (Mathlib's are gigabytes); all processes share these pages, and the system takes them back when
it needs room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

import psutil

WATCH_SECONDS = 0.05
"""Between two looks at a process's memory: Lean allocates at most about 1 GB/s, so a limit may be passed by 50 MB."""

MIB = 2**20


def resident_mb(process: psutil.Process) -> float:
    """Resident memory of a process in MB, mapped files included; 0 when it has ended."""
    try:
        return float(process.memory_info().rss / MIB)
    except psutil.NoSuchProcess:
        return 0.0


def own_mb(process: psutil.Process) -> float:
    """Resident memory of a process in MB without mapped files; 0 when it has ended.

    One read of /proc/PID/statm, 13 µs. (`memory_full_info` takes 60 µs, `memory_maps` 600 µs and more with Mathlib.)
    """
    try:
        memory = process.memory_info()
    except psutil.NoSuchProcess:
        return 0.0
    return float((memory.rss - memory.shared) / MIB)


def descendants(pid: int) -> Iterator[int]:
    """Ids of all processes that a process and its children have started.

    Read from /proc/PID/task/*/children, 70 µs: psutil's `children` reads every process of the machine, 20 µs each.
    """
    try:
        lists = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # it has ended meanwhile
        return
    for child in map(int, " ".join(lists).split()):
        yield child
        yield from descendants(child)


def tree_mb(process: psutil.Process) -> float:
    """`own_mb` of a process and of all its descendants, in MB."""
    total = own_mb(process)
    for pid in descendants(process.pid):
        try:
            total += own_mb(psutil.Process(pid))
        except psutil.NoSuchProcess:
            continue
    return total


class MemoryGuard:
    """Ends a process when it takes more memory than it may.

    It looks every WATCH_SECONDS between `start` and `stop`, or inside `async with`.
    """

    def __init__(self, measure: Callable[[], float], limit_mb: float, end: Callable[[], None]) -> None:
        """`measure` gives the memory in MB; `limit_mb` is what it may grow to beyond `base_mb`; `end` kills."""
        self.measure = measure
        self.limit_mb = limit_mb
        self.base_mb = 0.0
        """Memory that does not count towards the limit: what loading a header took."""
        self.exceeded = False
        """Whether the guard has ended the process."""
        self._end = end
        self._task: asyncio.Task[None] | None = None

    def grown_mb(self) -> float:
        """Memory taken beyond `base_mb`, in MB."""
        return self.measure() - self.base_mb

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._watch(), name="memory guard")

    async def stop(self) -> None:
        """Look no more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def __aenter__(self) -> MemoryGuard:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    async def _watch(self) -> None:
        while self.grown_mb() <= self.limit_mb:  # noqa: ASYNC110 - the kernel has no event for memory that grows
            await asyncio.sleep(WATCH_SECONDS)
        self.exceeded = True
        self._end()
