"""Child processes that end with their parent, together with all processes that they started.

Each child gets its own process group. The kernel kills the child when its parent ends (PR_SET_PDEATHSIG), also after
kill -9. For the kernel, the parent is the thread that forked. So children are started from the event loop of the main
thread, which lives longest.
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
"""A small program that sets the parent-death signal and then executes the requested program. Unlike code between fork
and exec (preexec_fn), this is safe in a process with threads, and cheap in a process with much memory."""


class OrphanedError(RuntimeError):
    """The parent had ended before the child could set the parent-death signal."""


def die_with_parent(parent: int | None = None) -> None:
    """Ask the kernel to kill this process when its parent ends. `parent`: the expected id of the parent, to detect that
    it has ended already.

    Linux only; does nothing on other systems. Raises OrphanedError, OSError.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if parent is not None and os.getppid() != parent:
        raise OrphanedError(f"the parent process {parent} has ended")


def kept() -> list[str]:
    """A command-line prefix for programs that must end with this process."""
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
    """Start a program in its own process group. It is killed when this process ends.

    `env`: the whole environment; None inherits it. `keeper`: the command line to use instead of `keeper.py`, such as
    the sandbox of Lean processes. It must also set the parent-death signal before it executes the program. Other
    options go to `asyncio.create_subprocess_exec`. Raises FileNotFoundError if the program does not exist.
    """
    program = str(argv[0])
    if os.sep in program and not Path(program).exists():
        raise FileNotFoundError(f"no such program: {program}; check its path")
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
    # In Python 3.11, cancelling this task midway would leave asyncio waiting for a process without connected pipes.
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait({starting})
        if not starting.cancelled() and starting.exception() is None:
            await kill_group(starting.result(), grace=0)
            close_pipes(starting.result())
        raise


async def kill_group(process: asyncio.subprocess.Process, grace: float = 5.0) -> int:
    """End a child and its process group: SIGTERM, then SIGKILL after `grace` seconds. Returns the child's exit code."""
    if process.returncode is None and grace > 0:
        _signal_group(process.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout(grace):
                await process.wait()
        except TimeoutError:
            pass
    # Also after a clean exit, since processes that the child started may still run.
    _signal_group(process.pid, signal.SIGKILL)
    return await process.wait()


def close_pipes(process: asyncio.subprocess.Process) -> None:
    """Close the pipes of a process that has ended, whose rest nobody reads. asyncio closes them when it hears of their
    end, but the loop may end before that, and then they would complain when they are collected."""
    process._transport.close()  # type: ignore[attr-defined]


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return
