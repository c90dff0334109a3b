"""Starts and kills confined child processes: every Lean, REPL and probe.

A child runs in a new process group. The `keeper` confines it before it becomes the program. It has resource limits of
the operating system, and a guard for its memory. It is killed with its group, and when this process ends."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import resource
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import psutil

from common.life import timeline
from common.life.process import close_pipes, kill_group, spawn_child

# --- Measures the memory of processes, and kills a process that exceeds its limit ------------------------------------
#
# The limit is for a process's own memory: its resident memory without the pages of mapped files. Lean maps the compiled
# modules that it imports (gigabytes for Mathlib). All processes share these pages, and the operating system frees them
# when it needs memory.


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
        self._task = asyncio.create_task(self._watch(), name="memory guard", context=timeline.unbound())

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


STDERR_LINES = 50
"""Last lines of a child's standard error that are stored, for the message when it ends."""

STDERR_CHARACTERS = 400
"""Last characters of these lines that the message shows."""

READ_BYTES = 65536


class Ending(enum.StrEnum):
    """The reason why a process did not answer."""

    DIED = "died"
    TIMEOUT = "timeout"
    MEMORY = "memory"


class ConfinedChild:
    """A running child. Call `start`, and at the end `kill`, also if it has ended before."""

    def __init__(self, process: asyncio.subprocess.Process, memory_mb: float, *, tree: bool) -> None:
        self.process = process
        self._usage = _usage(process.pid)
        self._tree = tree
        self.guard = MemoryGuard(self.own_mb, memory_mb, self.kill_now)
        """Not active yet. Call `guard.start()`, or use `async with child.guard`."""
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._drain: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None,
        keeper: Sequence[str] = (),
        folder: str | Path | None = None,
        memory_mb: float,
        tree: bool = False,
        cpu_seconds: int | None = None,
        file_bytes: int | None = None,
        stdin: int = asyncio.subprocess.DEVNULL,
        stdout: int | IO[Any] = asyncio.subprocess.PIPE,
        stderr: int | IO[Any] = asyncio.subprocess.PIPE,
        line_bytes: int = READ_BYTES,
    ) -> ConfinedChild:
        """Start a program. Raises OSError if it cannot be run.

        `environment`: all variables; None inherits ours. `keeper`: command line that confines the child, from
        `Protections.keeper`. `memory_mb`: limit for `guard`. `tree`: the child's descendants count towards it.
        `cpu_seconds`, `file_bytes` (size of a written file): limits that the operating system enforces, also while this
        process is suspended. `line_bytes`: longest line that the stream reader accepts.
        """
        process = await spawn_child(
            command,
            env=environment,
            cwd=folder,
            keeper=keeper,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            limit=line_bytes,
        )
        child = cls(process, memory_mb, tree=tree)
        child._limit(resource.RLIMIT_CORE, 0)  # core files are large and not used
        if cpu_seconds is not None:
            child._limit(resource.RLIMIT_CPU, cpu_seconds)
        if file_bytes is not None:
            child._limit(resource.RLIMIT_FSIZE, file_bytes)
        return child

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    @property
    def stdin(self) -> asyncio.StreamWriter:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stdout(self) -> asyncio.StreamReader:
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def stderr(self) -> asyncio.StreamReader:
        assert self.process.stderr is not None
        return self.process.stderr

    def resident_mb(self) -> float:
        """Resident memory in MB, including mapped files; 0 if the process has ended."""
        return resident_mb(self._usage) if self._usage is not None else 0.0

    def own_mb(self) -> float:
        """Resident memory in MB without mapped files, with `tree` also of its descendants; 0 if it has ended."""
        if self._usage is None:
            return 0.0
        return tree_mb(self._usage) if self._tree else own_mb(self._usage)

    def cpu_seconds(self) -> float:
        """CPU seconds that the process has used so far; 0 if it has ended."""
        try:
            times = self._usage.cpu_times() if self._usage is not None else None
        except psutil.NoSuchProcess:
            return 0.0
        return float(times.user + times.system) if times is not None else 0.0

    def allow_cpu_until(self, seconds: int) -> None:
        """Make the operating system kill the process at this total of CPU seconds. A later call replaces the limit."""
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(self.pid, resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))

    def drain_stderr(self) -> None:
        """Read standard error while the process runs, so that the pipe never fills. Stores the last lines."""
        self._drain = asyncio.create_task(
            self._read_stderr(), name=f"stderr of process {self.pid}", context=timeline.unbound()
        )

    def note(self, line: str) -> None:
        """Add a line to the stored lines of standard error."""
        self._stderr.append(line)

    def with_stderr(self, reason: str) -> str:
        """`reason`, followed by the end of standard error if there is any."""
        text = self.last_errors
        return f"{reason}: {text}" if text else reason

    @property
    def last_errors(self) -> str:
        """The end of standard error, if `drain_stderr` was called."""
        return "; ".join(self._stderr)[-STDERR_CHARACTERS:]

    def kill_now(self) -> None:
        """Kill the process without waiting for its end."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def kill(self) -> None:
        """Kill the process with its group, and wait for its end."""
        await self.guard.stop()
        # For asyncio a process has ended only when its pipes have been read to the end. A full pipe without a reader
        # would make this wait for ever.
        streams = [stream for stream in (self.process.stdout, self.process.stderr) if stream is not None]
        discarding = [asyncio.create_task(_discard(stream)) for stream in streams]
        try:
            await kill_group(self.process, grace=0)
        finally:
            for task in discarding:
                task.cancel()
            await asyncio.gather(*discarding, return_exceptions=True)
        if self._drain is not None:
            await asyncio.gather(self._drain, return_exceptions=True)
        close_pipes(self.process)

    def _limit(self, kind: int, value: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(self.pid, kind, (value, value))

    async def _read_stderr(self) -> None:
        while data := await self.stderr.read(READ_BYTES):
            self._stderr.extend(data.decode(errors="replace").splitlines()[-STDERR_LINES:])


async def _discard(stream: asyncio.StreamReader) -> None:
    """Read a stream to its end, unless another task reads it already."""
    with contextlib.suppress(RuntimeError, OSError):
        while await stream.read(READ_BYTES):
            pass


def _usage(pid: int) -> psutil.Process | None:
    """The psutil handle for memory and CPU time; None if the process has already ended."""
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None
