"""One Lean process for one file, within limits: wall clock, CPU, memory, size of what it writes and says."""

from __future__ import annotations

import asyncio
import contextlib
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.process import kill_group, spawn_child
from node.lean.worker.process import own_mb

OUTPUT_BYTES = 4 * 2**20
"""Read of a process's output; a flood beyond it ends the process."""

FILE_BYTES = 256 * 2**20
"""Largest file that it may write: an .olean of a single theorem takes a few KB."""

WATCH_SECONDS = 0.05


@dataclass(frozen=True)
class Limits:
    seconds: float = 60.0
    memory_mb: int = 2048
    """Of its own: without the compiled modules that it maps."""


@dataclass(frozen=True)
class FinishedProcess:
    """A process that came to its end."""

    code: int
    output: str
    errors: str


class OutOfLimits(Exception):
    """The process was killed because it passed a limit; the text says which."""


async def run_fresh(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    limits: Limits,
    keeper: Sequence[str] = (),
) -> FinishedProcess:
    """Run a command in a folder and return what it said. `keeper`: as for `spawn_child`. Raises OutOfLimits."""
    process = await spawn_child(
        command,
        env=environment,
        cwd=folder,
        keeper=keeper,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _limit(process.pid, limits)
    watch = asyncio.create_task(_watch_memory(process, limits.memory_mb))
    try:
        async with asyncio.timeout(limits.seconds):
            assert process.stdout is not None and process.stderr is not None
            output, errors = await asyncio.gather(_read(process.stdout), _read(process.stderr))
            code = await process.wait()
    except TimeoutError:
        raise OutOfLimits(f"not done after {limits.seconds:g} s") from None
    finally:
        watch.cancel()
        await kill_group(process, grace=0)
    await asyncio.gather(watch, return_exceptions=True)
    if not watch.cancelled():
        raise OutOfLimits(f"more than {limits.memory_mb} MB of memory")
    return FinishedProcess(code, output, errors)


def _limit(pid: int, limits: Limits) -> None:
    """Kernel limits, which hold even if this process is stopped. They take effect on the running child."""
    cpu = int(2 * limits.seconds) + 5
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_CPU, (cpu, cpu))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))


async def _read(stream: asyncio.StreamReader) -> str:
    """All of a stream. Raises OutOfLimits."""
    parts, size = [], 0
    while data := await stream.read(65536):
        parts.append(data)
        size += len(data)
        if size > OUTPUT_BYTES:
            raise OutOfLimits(f"more than {OUTPUT_BYTES >> 20} MB of output")
    return b"".join(parts).decode(errors="replace")


async def _watch_memory(process: asyncio.subprocess.Process, memory_mb: int) -> None:
    """Kill the process when it takes more memory than it may; ends only then."""
    while own_mb(process.pid) <= memory_mb:  # noqa: ASYNC110 - the kernel tells nobody when memory grows
        await asyncio.sleep(WATCH_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        process.kill()
