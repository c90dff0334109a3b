"""One process for one task, read line by line while it runs: what it had written before it was ended is known.

Its standard output is a pseudo-terminal. Into a pipe, a program writes only when its buffer is full or it ends, and
what stands in the buffer is lost with a process that is killed.
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
    """A process that came to its end, by itself or not."""

    code: int
    """Exit code; minus the signal's number when a signal ended it."""
    output: str
    cut: str = ""
    """Which limit it passed, and was killed for; empty when it ended by itself. Then `code` means nothing."""
    errors: str = ""
    """The end of what it wrote to standard error."""


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
    """Run a command in a folder to its end or to a limit, and return what it wrote until then. Raises OSError.

    `patience`: what the process has written last to the seconds that it may now take to write more; without it, the
    limits alone count. `environment`, `keeper` and `output_bytes`: as of `run_fresh`.
    """
    ours, theirs = os.openpty()
    try:
        tty.setraw(theirs)  # else line ends become two characters
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
        os.close(theirs)  # the last one that closes it ends the output
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
    """Read until the process closes its output; returns the limit that it passed before, if it did."""
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
        """What has been written; empty when nobody can write any more."""
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
