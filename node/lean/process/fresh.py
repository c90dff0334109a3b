"""Runs one process for one task, with limits: wall-clock time, CPU time, memory, size of its files and its output."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.lean.process.child import ConfinedChild

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


async def run_fresh(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None,
    folder: Path | None = None,
    limits: Limits,
    keeper: Sequence[str] = (),
    output_bytes: int = OUTPUT_BYTES,
) -> FinishedProcess:
    """Run a command in a folder until it ends, and return its output. Raises OutOfLimits, OSError.

    `environment`: all variables; None inherits ours. `keeper`: command line that confines the process, from
    `Protections.keeper`.
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
    """Read a stream to its end. Raises OutOfLimits after more than `most` bytes."""
    while data := await stream.read(READ_BYTES):
        into += data
        if len(into) > most:
            raise OutOfLimits(f"more than {most >> 20} MB of output")
