"""One process for one task, within limits: wall clock, CPU, memory, size of the files and of the output it writes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.lean.process.child import ConfinedChild

OUTPUT_BYTES = 4 * 2**20
"""Read of a process's output; a flood beyond it ends the process."""

FILE_BYTES = 256 * 2**20
"""Largest file that it may write: an .olean of a single theorem takes a few KB."""

READ_BYTES = 65536


@dataclass(frozen=True)
class Limits:
    seconds: float = 60.0
    """Wall-clock time."""
    memory_mb: int = 2048
    """Memory of its own: without the compiled modules that it maps."""

    @property
    def cpu_seconds(self) -> int:
        """CPU time at which the kernel ends the process: two threads for all of its time, and some to spare."""
        return int(2 * self.seconds) + 5


@dataclass(frozen=True)
class FinishedProcess:
    """A process that came to its end."""

    code: int
    """Exit code; minus the signal's number when a signal ended it."""
    output: str
    errors: str


class OutOfLimits(Exception):
    """The process was killed because it passed a limit; the text says which."""


async def run_fresh(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None,
    folder: Path | None = None,
    limits: Limits,
    keeper: Sequence[str] = (),
    output_bytes: int = OUTPUT_BYTES,
) -> FinishedProcess:
    """Run a command in a folder to its end, and return what it wrote. Raises OutOfLimits, OSError.

    `environment`: all variables; None inherits ours. `keeper`: what confines it, from `Protections.keeper`.
    """
    child = await ConfinedChild.start(
        command,
        environment=environment,
        keeper=keeper,
        folder=folder,
        memory_mb=limits.memory_mb,
        cpu_seconds=limits.cpu_seconds,
        file_bytes=FILE_BYTES,
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
    """Read all of a stream. Raises OutOfLimits beyond `most` bytes."""
    while data := await stream.read(READ_BYTES):
        into += data
        if len(into) > most:
            raise OutOfLimits(f"more than {most >> 20} MB of output")
