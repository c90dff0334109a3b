"""Child processes that never outlive their parent, and end with everything that they started.

A child gets a process group of its own, and the kernel kills it when its parent dies (PR_SET_PDEATHSIG), also on
kill -9. The kernel ties that to the thread that forked: children are started from the main thread's event loop,
which lives longest.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

PR_SET_PDEATHSIG = 1
"""From linux/prctl.h."""

_KEEPER = Path(__file__).with_name("keeper.py")
"""Asks for the parent-death signal and then becomes the wanted program: safe in a process with threads, where code
between fork and exec (preexec_fn) is not, and cheap for one with much memory."""


class OrphanedError(RuntimeError):
    """The parent was gone before the child could ask to die with it."""


def die_with_parent(parent: int | None = None) -> None:
    """Ask the kernel to kill this process when its parent dies. `parent`: the expected parent's id, to notice a race.

    Linux only; elsewhere it does nothing. Raises OrphanedError, OSError.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if parent is not None and os.getppid() != parent:
        raise OrphanedError(f"parent {parent} has gone")


def kept() -> list[str]:
    """What stands before a program's command line for it to die with this process."""
    return [sys.executable, "-I", "-S", str(_KEEPER), str(os.getpid())]


async def spawn_child(
    argv: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    stdin: int | IO[Any] | None = asyncio.subprocess.DEVNULL,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
    keeper: Sequence[str] = (),
    **options: Any,
) -> asyncio.subprocess.Process:
    """Start a program in a process group of its own, which dies with this process.

    `env`: the whole environment; None inherits it. `keeper`: a command line that does what `keeper.py` does, and more,
    and then becomes the program (the sandbox of Lean processes does); by default `keeper.py`. Other options go to
    `asyncio.create_subprocess_exec`. Raises FileNotFoundError for a program that does not exist.
    """
    program = str(argv[0])
    if os.sep in program and not Path(program).exists():
        raise FileNotFoundError(f"no such program: {program}")
    keeper = keeper or kept()
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            *keeper,
            *map(str, argv),
            env=None if env is None else dict(env),
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            **options,
        ),
        name=f"start of {program}",
    )
    # Cancelled halfway, asyncio would wait for ever for a process whose pipes are not connected (Python 3.11).
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait({starting})
        if not starting.cancelled() and starting.exception() is None:
            await kill_group(starting.result(), grace=0)
        raise


async def kill_group(process: asyncio.subprocess.Process, grace: float = 5.0) -> int:
    """End a child and all its group: SIGTERM, then SIGKILL after `grace` seconds; returns the child's exit code."""
    if process.returncode is None and grace > 0:
        _signal_group(process.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout(grace):
                await process.wait()
        except TimeoutError:
            pass
    # Also after a clean end: what the child has started may still be there.
    _signal_group(process.pid, signal.SIGKILL)
    return await process.wait()


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return
