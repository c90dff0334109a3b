"""Runs a REPL process and exchanges one request and answer at a time. If it misbehaves, it is killed.

Any implementation of the REPL's protocol may run here. A REPL has no time limit, so it is killed after ours. It may
crash at any command, write anything to standard output, and use all memory, together with its child processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from node.lean.adapters.repl.protocol import (
    Answer,
    CommandAnswer,
    Refusal,
    ReplTacticAnswer,
    Request,
    read_answer,
    write,
)
from node.lean.process.child import ConfinedChild, Ending

MOST_OUTPUT = 16 * 2**20
"""Most bytes from a request to the end of its answer. Ordinary answers have kilobytes."""


class ReplEnded(Exception):
    """The process has ended or was killed; the text says why."""

    def __init__(self, ending: Ending, reason: str) -> None:
        super().__init__(reason)
        self.ending = ending


@dataclass
class ReplProcess:
    """A running REPL. Call `start`, then `command` or `tactic`, one request at a time."""

    child: ConfinedChild
    commands: int = 0
    worked: float = 0.0
    """Seconds that it has worked."""

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        memory_mb: float,
        *,
        folder: str | None = None,
        keeper: Sequence[str] = (),
    ) -> ReplProcess:
        """Start a process. Raises OSError if it cannot be run.

        `memory_mb`: memory limit of the process and its descendants, in addition to the memory at `header_done`.
        """
        child = await ConfinedChild.start(
            command,
            environment=environment,
            keeper=keeper,
            folder=folder,
            memory_mb=memory_mb,
            tree=True,  # commands such as `lake env repl` start the REPL as a child process
            stdin=asyncio.subprocess.PIPE,
            line_bytes=MOST_OUTPUT,
        )
        child.drain_stderr()
        return cls(child)

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def alive(self) -> bool:
        return self.child.alive

    def header_done(self) -> None:
        """Record the current memory, after the header and before any proof. It does not count towards the limit."""
        self.child.guard.base_mb = self.child.own_mb()

    async def command(self, request: Request, limit: float) -> CommandAnswer | Refusal:
        """The answer to a `cmd`. Raises ReplEnded."""
        answer = await self._ask(request, limit)
        if isinstance(answer, ReplTacticAnswer):
            raise await self._ended(Ending.DIED, "the REPL answered a command with a proof state")
        return answer

    async def tactic(self, tactic: str, state: int, limit: float) -> ReplTacticAnswer | Refusal:
        """The answer to a `tactic`. Raises ReplEnded."""
        answer = await self._ask(Request(tactic=tactic, proof_state=state), limit)
        if isinstance(answer, CommandAnswer):
            raise await self._ended(Ending.DIED, "the REPL answered a tactic with an environment")
        return answer

    async def kill(self) -> None:
        """Kill the process with its process group, and wait for its end."""
        await self.child.kill()

    def resident_mb(self) -> float:
        """Memory of the process and its descendants in MB, without mapped files."""
        return self.child.own_mb()

    def grown_mb(self) -> float:
        """Memory in MB that it has added since `header_done`."""
        return self.child.guard.grown_mb()

    async def _ask(self, request: Request, limit: float) -> Answer:
        self.commands += 1
        started = time.monotonic()
        try:
            async with self.child.guard, asyncio.timeout(limit):
                # A write error means that the process is dead. Reading the answer reports that, with the reason.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self.child.stdin.write(write(request))
                    await self.child.stdin.drain()
                answer = await self._answer()
        except TimeoutError:
            raise await self._ended(Ending.TIMEOUT, f"no answer in {limit:g} s") from None
        except asyncio.CancelledError:  # the next request would get the answer to this one
            await self.kill()
            raise
        finally:
            self.worked += time.monotonic() - started
        if answer is None:
            raise await self._ended(Ending.MEMORY if self.child.guard.exceeded else Ending.DIED, "the REPL ended")
        return answer

    async def _answer(self) -> Answer | None:
        """The next answer, after any other output; None if the process has ended or wrote too much."""
        block: list[bytes] = []
        written = 0
        while written < MOST_OUTPUT:
            try:
                line = await self.child.stdout.readline()
            except ValueError:  # a line beyond the limit
                break
            written += len(line)
            if line.strip():
                block.append(line)
            elif block:
                answer = read_answer(b"".join(block).decode("utf-8", errors="replace"))
                if answer is not None:
                    return answer
                block.clear()
            if not line:
                return None
        self.child.note(f"no answer in {MOST_OUTPUT} bytes of output")
        return None

    async def _ended(self, ending: Ending, reason: str) -> ReplEnded:
        await self.kill()
        return ReplEnded(ending, self.child.with_stderr(reason))
