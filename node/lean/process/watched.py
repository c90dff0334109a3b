"""Runs one process for one task and reads its output while it runs, so that a killed process loses no output.

Its standard output is a pseudo-terminal. To a pipe, a program writes only when its buffer is full or when it ends, and
killing the process would lose the content of the buffer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tty
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.lean.process.child import ConfinedChild
from node.lean.process.fresh import FILE_BYTES, OUTPUT_BYTES, READ_BYTES, Limits


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
    cut, code = "", -1
    child.drain_stderr()
    try:
        async with child.guard, asyncio.timeout(limits.seconds):
            cut = await _follow(output, written, limits, patience, output_bytes)
            if not cut:
                code = await child.process.wait()
    except TimeoutError:
        cut = f"not done after {limits.seconds:g} s"
    finally:
        output.close()
        await child.kill()
    if child.guard.exceeded:
        cut = f"more than {limits.memory_mb} MB of memory"
    return WatchedProcess(code, b"".join(written).decode(errors="replace"), cut, child.last_errors)


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
