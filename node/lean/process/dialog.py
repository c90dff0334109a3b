"""A child process of our own Python code that reads hostile data, and answers requests about it.

Each request and each reply is one line of JSON. The child runs in its own process group, with limits of time and
memory, so that data which is made to take for ever takes only the child. It starts no other process.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from node.lean.process.child import ConfinedChild
from node.lean.process.fresh import FILE_BYTES, Limits, NotStarted, OutOfLimits

REPLY_BYTES = 256 * 2**20
"""Longest reply."""

_ROOT = Path(__file__).parents[3]

_START = (
    "import importlib, sys; sys.path.insert(0, sys.argv[1]); module = importlib.import_module(sys.argv[2]); "
    "print(flush=True); module.main()"
)
"""The empty line says that all modules are there. A child that ends before it has met no data."""

_START_SECONDS = 60.0

R = TypeVar("R")


class Dialog:
    """A running child. It ends when a request exceeds a limit; the next request starts another one."""

    def __init__(self, module: str, limits: Limits, keeper: Sequence[str] = ()) -> None:
        """`module`: its function `main` answers requests (`dialog_child.answer`); `limits`: of one request."""
        self._command = [sys.executable, "-I", "-c", _START, str(_ROOT), module]
        self._limits = limits
        self._keeper = keeper
        self._child: ConfinedChild | None = None
        self._turn = asyncio.Lock()
        self.starts = 0
        """Number of children so far. What a child has in memory is lost when it grows."""

    async def ask(self, request: object, reply: type[R], more_seconds: float = 0.0) -> R:
        """The child's reply. Raises OutOfLimits, also when the child died, and NotStarted."""
        async with self._turn:
            try:
                return await self._ask(msgspec.json.encode(request), reply, self._limits.seconds + more_seconds)
            except BaseException:
                await self.close()
                raise

    async def start(self) -> None:
        """Start the child ahead of the first request."""
        async with self._turn:
            try:
                await self._running()
            except BaseException:
                await self.close()
                raise

    async def _ask(self, request: bytes, reply: type[R], seconds: float) -> R:
        child = await self._running()
        try:
            async with asyncio.timeout(seconds):
                child.stdin.write(request + b"\n")
                await child.stdin.drain()
                line = await child.stdout.readline()
        except TimeoutError:
            raise OutOfLimits(f"not done after {seconds:g} s") from None
        except (ConnectionError, ValueError):
            line = b""
        if child.guard.exceeded:
            raise OutOfLimits(f"more than {self._limits.memory_mb} MB of memory")
        if not line.endswith(b"\n"):
            raise OutOfLimits(child.with_stderr("the process that reads compiled files ended"))
        return msgspec.json.decode(line, type=reply)

    async def _running(self) -> ConfinedChild:
        if self._child is None or not self._child.alive:
            self.starts += 1
            self._child = await ConfinedChild.start(
                self._command,
                environment={},
                keeper=self._keeper,
                memory_mb=self._limits.memory_mb,
                file_bytes=FILE_BYTES,
                stdin=asyncio.subprocess.PIPE,
                line_bytes=REPLY_BYTES,
            )
            self._child.guard.start()
            self._child.drain_stderr()
            try:
                async with asyncio.timeout(_START_SECONDS):
                    begun = await self._child.stdout.readline()
            except TimeoutError:
                raise NotStarted(
                    f"the process that reads compiled files has not begun after {_START_SECONDS:g} s"
                ) from None
            if begun != b"\n":
                raise NotStarted(self._child.with_stderr("the reader of compiled files cannot start"))
        return self._child

    def own_mb(self) -> float:
        """The child's memory in MB without mapped files; 0 if there is none."""
        return self._child.own_mb() if self._child is not None else 0.0

    async def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is not None:
            await child.kill()
