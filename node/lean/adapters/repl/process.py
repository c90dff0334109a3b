"""A REPL process of any make, and one exchange with it. Its known faults end it, each with an Ending of its own.

It has no time limit of its own, so it is killed at ours; it may die at any command; it may write anything to its
standard output; and it and what it has started may take all memory.
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
"""Bytes between a request and its answer: a flood beyond that. Answers have kilobytes."""


class ReplEnded(Exception):
    """The process is gone; the text says why."""

    def __init__(self, ending: Ending, reason: str) -> None:
        super().__init__(reason)
        self.ending = ending


@dataclass
class ReplProcess:
    """A running REPL. `start`, then `ask` one thing at a time."""

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
        """Start a process. Raises OSError when there is no such program.

        `memory_mb`: what it, and what it starts, may take beyond the memory noted by `header_done`.
        """
        child = await ConfinedChild.start(
            command,
            environment=environment,
            keeper=keeper,
            folder=folder,
            memory_mb=memory_mb,
            tree=True,  # `lake env repl` and its like start the REPL as a child of theirs
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
        """Note the memory that it takes now, before it has anything to prove: it does not count towards the limit."""
        self.child.guard.base_mb = self.child.own_mb()

    async def command(self, request: Request, limit: float) -> CommandAnswer | Refusal:
        """The answer to a `cmd`. Raises ReplEnded."""
        answer = await self._ask(request, limit)
        if isinstance(answer, ReplTacticAnswer):
            raise await self._ended(Ending.DIED, "it answered a command with a proof state")
        return answer

    async def tactic(self, tactic: str, state: int, limit: float) -> ReplTacticAnswer | Refusal:
        """The answer to a `tactic`. Raises ReplEnded."""
        answer = await self._ask(Request(tactic=tactic, proof_state=state), limit)
        if isinstance(answer, CommandAnswer):
            raise await self._ended(Ending.DIED, "it answered a tactic with an environment")
        return answer

    async def kill(self) -> None:
        """Kill the process with its group, and wait for its end."""
        await self.child.kill()

    def resident_mb(self) -> float:
        """Memory of its own, and of what it has started, in MB."""
        return self.child.own_mb()

    def grown_mb(self) -> float:
        """Memory in MB that it has taken since `header_done`."""
        return self.child.guard.grown_mb()

    async def _ask(self, request: Request, limit: float) -> Answer:
        self.commands += 1
        started = time.monotonic()
        try:
            async with self.child.guard, asyncio.timeout(limit):
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # reading finds its end, with why
                    self.child.stdin.write(write(request))
                    await self.child.stdin.drain()
                answer = await self._answer()
        except TimeoutError:
            raise await self._ended(Ending.TIMEOUT, f"no answer in {limit:g} s") from None
        except asyncio.CancelledError:  # its next answer would be the one to this request
            await self.kill()
            raise
        finally:
            self.worked += time.monotonic() - started
        if answer is None:
            raise await self._ended(Ending.MEMORY if self.child.guard.exceeded else Ending.DIED, "the REPL ended")
        return answer

    async def _answer(self) -> Answer | None:
        """The next answer, past whatever else was written; None when the process wrote its last, or too much."""
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
        self.child.note(f"more than {MOST_OUTPUT} bytes and no answer")
        return None

    async def _ended(self, ending: Ending, reason: str) -> ReplEnded:
        await self.kill()
        return ReplEnded(ending, self.child.with_stderr(reason))
