"""Measures the memory of processes, and kills a process that exceeds its limit.

The limit is for a process's own memory: its resident memory without the pages of mapped files. Lean maps the compiled
modules that it imports (gigabytes for Mathlib). All processes share these pages, and the operating system frees them
when it needs memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

import psutil

WATCH_SECONDS = 0.05
"""Seconds between two measurements. Lean allocates at most about 1 GB/s, so a process may exceed its limit by 50 MB."""

MIB = 2**20


def resident_mb(process: psutil.Process) -> float:
    """Resident memory of a process in MB, including mapped files; 0 if it has ended."""
    try:
        return float(process.memory_info().rss / MIB)
    except psutil.NoSuchProcess:
        return 0.0


def own_mb(process: psutil.Process) -> float:
    """Resident memory of a process in MB without mapped files; 0 if it has ended.

    It reads /proc/PID/statm once, in 13 µs. (`memory_full_info` takes 60 µs, `memory_maps` 600 µs, with Mathlib more.)
    """
    try:
        memory = process.memory_info()
    except psutil.NoSuchProcess:
        return 0.0
    return float((memory.rss - memory.shared) / MIB)


def descendants(pid: int) -> Iterator[int]:
    """Ids of all descendants of a process.

    It reads /proc/PID/task/*/children in 70 µs. psutil's `children` reads every process of the machine, 20 µs each.
    """
    try:
        lists = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # the process has ended
        return
    for child in map(int, " ".join(lists).split()):
        yield child
        yield from descendants(child)


def tree_mb(process: psutil.Process) -> float:
    """The sum of `own_mb` of a process and its descendants, in MB."""
    total = own_mb(process)
    for pid in descendants(process.pid):
        try:
            total += own_mb(psutil.Process(pid))
        except psutil.NoSuchProcess:
            continue
    return total


class MemoryGuard:
    """Kills a process that exceeds its memory limit.

    It measures every WATCH_SECONDS between `start` and `stop`, or inside `async with`.
    """

    def __init__(self, measure: Callable[[], float], limit_mb: float, end: Callable[[], None]) -> None:
        """`measure`: the memory in MB. `limit_mb`: most memory in addition to `base_mb`. `end`: kills the process."""
        self.measure = measure
        self.limit_mb = limit_mb
        self.base_mb = 0.0
        """Memory that does not count towards the limit, such as that of a header."""
        self.exceeded = False
        """True when the guard has killed the process."""
        self._end = end
        self._task: asyncio.Task[None] | None = None

    def grown_mb(self) -> float:
        """Memory in addition to `base_mb`, in MB."""
        return self.measure() - self.base_mb

    def start(self) -> None:
        """Start to measure."""
        self._task = asyncio.create_task(self._watch(), name="memory guard")

    async def stop(self) -> None:
        """Stop measuring."""
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
        while self.grown_mb() <= self.limit_mb:  # noqa: ASYNC110 - the kernel has no event for growing memory
            await asyncio.sleep(WATCH_SECONDS)
        self.exceeded = True
        self._end()
