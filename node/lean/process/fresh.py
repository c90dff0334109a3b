"""Runs one process for one task, with limits, and makes the temporary folders that such processes write to."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import tempfile
import tty
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.lean.process.child import ConfinedChild

# --- Makes temporary folders, and removes those of processes that were killed ----------------------------------------


def scratch_folder(prefix: str) -> Path:
    """A new private folder for this process. Removes this user's folders of the same prefix whose process has ended."""
    root = Path(tempfile.gettempdir())
    for old in root.glob(f"{prefix}*"):
        match = re.fullmatch(rf"{re.escape(prefix)}(\d+)-.*", old.name)
        if match and not Path(f"/proc/{match.group(1)}").exists() and _is_own(old):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-"))


def _is_own(folder: Path) -> bool:
    """True when a folder belongs to this user; False also if another process has just removed it."""
    try:
        return folder.stat().st_uid == os.getuid()
    except FileNotFoundError:
        return False


# --- Runs one process for one task, with limits: wall-clock time, CPU time, memory, size of its files and its --------


OUTPUT_BYTES = 4 * 2**20
"""Most output of a process. It is killed if it writes more."""

FILE_BYTES = 256 * 2**20
"""Largest file that a process may write. The .olean file of a single theorem has a few KB."""

READ_BYTES = 65536


@dataclass(frozen=True)
class Limits:
    seconds: float = 60.0
    """Wall-clock time."""
    memory_mb: int = 2048
    """Resident memory without mapped files such as compiled modules."""

    @property
    def cpu_seconds(self) -> int:
        """CPU time at which the operating system kills the process: two threads for the whole time, plus 5 s."""
        return int(2 * self.seconds) + 5


@dataclass(frozen=True)
class FinishedProcess:
    """A process that ended within its limits."""

    code: int
    """Exit code; minus the signal's number if a signal ended it."""
    output: str
    errors: str


class OutOfLimits(Exception):
    """The process was killed because it exceeded a limit; the text says which."""


class NotStarted(OutOfLimits):
    """The process could not start: this says nothing about the data that it was to read."""


async def run_fresh(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None,
    folder: Path | None = None,
    limits: Limits,
    keeper: Sequence[str] = (),
    output_bytes: int = OUTPUT_BYTES,
    file_bytes: int = FILE_BYTES,
) -> FinishedProcess:
    """Run a command in a folder until it ends, and return its output. Raises OutOfLimits, OSError.

    `environment`: all variables; None inherits ours. `keeper`: command line that confines the process, from
    `Protections.keeper`. `file_bytes`: size of the largest file that it may write.
    """
    child = await ConfinedChild.start(
        command,
        environment=environment,
        keeper=keeper,
        folder=folder,
        memory_mb=limits.memory_mb,
        cpu_seconds=limits.cpu_seconds,
        file_bytes=file_bytes,
    )
    output, errors = bytearray(), bytearray()
    try:
        async with child.guard, asyncio.timeout(limits.seconds):
            await asyncio.gather(_read(child.stdout, output, output_bytes), _read(child.stderr, errors, output_bytes))
            code = await child.process.wait()
    except TimeoutError:
        raise OutOfLimits(f"not done after {limits.seconds:g} s") from None
    finally:
        await child.kill()
    if child.guard.exceeded:
        raise OutOfLimits(f"more than {limits.memory_mb} MB of memory")
    return FinishedProcess(code, output.decode(errors="replace"), errors.decode(errors="replace"))


async def _read(stream: asyncio.StreamReader, into: bytearray, most: int) -> None:
    """Read a stream to its end. Raises OutOfLimits after more than `most` bytes."""
    while data := await stream.read(READ_BYTES):
        into += data
        if len(into) > most:
            raise OutOfLimits(f"more than {most >> 20} MB of output")


# --- Runs one process for one task and reads its output while it runs, so that a killed process loses no output ------
#
# Its standard output is a pseudo-terminal. To a pipe, a program writes only when its buffer is full or when it ends,
# and killing the process would lose the content of the buffer.


@dataclass(frozen=True)
class WatchedProcess:
    """A process that has ended or was killed."""

    code: int
    """Exit code; minus the signal's number if a signal ended it. Meaningless if `cut` is set."""
    output: str
    cut: str = ""
    """The exceeded limit for which it was killed; empty if it was not killed."""
    errors: str = ""
    """The end of its standard error."""
    timed_out: bool = False
    """Whether the limit was the whole time, not the patience."""


async def run_watched(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None,
    folder: Path | None = None,
    limits: Limits,
    patience: Callable[[bytes], float] | None = None,
    keeper: Sequence[str] = (),
    output_bytes: int = OUTPUT_BYTES,
) -> WatchedProcess:
    """Run a command in a folder until it ends or exceeds a limit. Returns its output until then. Raises OSError.

    `patience`: gets the latest output, and returns the seconds within which the process must write more; without it,
    only the limits apply. `environment`, `keeper`, `output_bytes`: as in `run_fresh`.
    """
    ours, theirs = os.openpty()
    try:
        tty.setraw(theirs)  # otherwise line ends become two characters
        child = await ConfinedChild.start(
            command,
            environment=environment,
            keeper=keeper,
            folder=folder,
            memory_mb=limits.memory_mb,
            cpu_seconds=limits.cpu_seconds,
            file_bytes=FILE_BYTES,
            stdout=theirs,
        )
        os.close(theirs)  # the output ends when all copies of the descriptor are closed
        theirs = -1
        return await _read_to_the_end(child, _Terminal(ours), limits, patience, output_bytes)
    finally:
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)


async def _read_to_the_end(
    child: ConfinedChild,
    output: _Terminal,
    limits: Limits,
    patience: Callable[[bytes], float] | None,
    output_bytes: int,
) -> WatchedProcess:
    written: list[bytes] = []
    cut, code, timed_out = "", -1, False
    child.drain_stderr()
    try:
        async with child.guard, asyncio.timeout(limits.seconds):
            cut = await _follow(output, written, limits, patience, output_bytes)
            if not cut:
                code = await child.process.wait()
    except TimeoutError:
        cut, timed_out = f"not done after {round(limits.seconds, 2):g} s", True
    finally:
        output.close()
        await child.kill()
    if child.guard.exceeded:
        cut = f"more than {limits.memory_mb} MB of memory"
    text = b"".join(written).decode(errors="replace")
    return WatchedProcess(code, text, cut, child.last_errors, timed_out)


async def _follow(
    output: _Terminal,
    written: list[bytes],
    limits: Limits,
    patience: Callable[[bytes], float] | None,
    output_bytes: int,
) -> str:
    """Read until the process closes its output or exceeds a limit. Returns the exceeded limit, or an empty text."""
    size, seconds = 0, limits.seconds if patience else None
    while True:
        try:
            async with asyncio.timeout(seconds):
                data = await output.read()
        except TimeoutError:
            return f"nothing new for {seconds:g} s"
        if not data:
            return ""
        written.append(data)
        size += len(data)
        if size > output_bytes:
            return f"more than {output_bytes >> 20} MB of output"
        seconds = patience(data) if patience else None


class _Terminal:
    """Our end of a pseudo-terminal."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._readable = asyncio.Event()
        self._loop.add_reader(descriptor, self._readable.set)

    async def read(self) -> bytes:
        """Wait for output and return it; empty when all processes have closed the other end."""
        while True:
            self._readable.clear()
            with contextlib.suppress(BlockingIOError):
                try:
                    return os.read(self._descriptor, READ_BYTES)
                except BlockingIOError:
                    raise
                except OSError:  # EIO: every process has closed the other end
                    return b""
            await self._readable.wait()

    def close(self) -> None:
        self._loop.remove_reader(self._descriptor)
