"""A REPL process of any make, and one exchange with it. Its known faults end it, and are told apart.

It has no time limit of its own, so it is killed at ours; it may die at any command; it may write anything to its
standard output; and it and what it has started may take all memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common.process import kill_group, spawn_child
from node.lean.adapters.repl.protocol import (
    Answer,
    CommandAnswer,
    Refusal,
    ReplTacticAnswer,
    Request,
    read_answer,
    write,
)
from node.lean.worker.process import Ending

MOST_OUTPUT = 16 * 2**20
"""Bytes between a request and its answer: a flood beyond that. Answers have kilobytes."""

STDERR_LINES = 50
"""Kept of the process's standard error, for the message when it ends."""

WATCH_SECONDS = 0.1
"""Between two looks at its memory while it works."""


class ReplEnded(Exception):
    """The process is gone; the text says why."""

    def __init__(self, ending: Ending, reason: str) -> None:
        super().__init__(reason)
        self.ending = ending


@dataclass
class ReplProcess:
    """A running REPL. `start`, then `ask` one thing at a time."""

    process: asyncio.subprocess.Process
    memory_mb: float
    """Memory beyond `base_mb` at which it is killed."""
    commands: int = 0
    worked: float = 0.0
    """Seconds that it has worked."""
    base_mb: float = 0.0
    """Memory of its own before it had anything to prove."""
    _stderr: deque[str] = field(default_factory=lambda: deque(maxlen=STDERR_LINES))
    _drain: asyncio.Task[None] | None = None
    _over_memory: bool = False

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        memory_mb: float,
        *,
        cwd: str | None = None,
        keeper: Sequence[str] = (),
    ) -> ReplProcess:
        """Start a process. Raises OSError when there is no such program."""
        pipe = asyncio.subprocess.PIPE
        process = await spawn_child(
            command,
            env=environment,
            cwd=cwd,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            keeper=keeper,
            limit=MOST_OUTPUT,
        )
        repl = cls(process, memory_mb)
        repl._drain = asyncio.create_task(repl._drain_stderr(), name=f"stderr of REPL {process.pid}")
        return repl

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

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
        await kill_group(self.process, grace=0)
        if self._drain is not None:
            await asyncio.gather(self._drain, return_exceptions=True)

    def resident_mb(self) -> float:
        """Memory of its own, and of what it has started, in MB."""
        return sum(own_mb(pid) for pid in family(self.process.pid))

    def grown_mb(self) -> float:
        """Memory that it has taken since it had something to prove."""
        return self.resident_mb() - self.base_mb

    async def _ask(self, request: Request, limit: float) -> Answer:
        self.commands += 1
        started = time.monotonic()
        watcher = asyncio.create_task(self._watch(), name="memory of REPL")
        try:
            assert self.process.stdin is not None
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # reading finds its end, with the reason
                self.process.stdin.write(write(request))
                await self.process.stdin.drain()
            async with asyncio.timeout(limit):
                answer = await self._answer()
        except TimeoutError:
            raise await self._ended(Ending.TIMEOUT, f"no answer in {limit:g} s") from None
        except asyncio.CancelledError:  # in the middle of an exchange it cannot be used again
            await self.kill()
            raise
        finally:
            watcher.cancel()
            self.worked += time.monotonic() - started
        if answer is None:
            raise await self._ended(Ending.MEMORY if self._over_memory else Ending.DIED, "the REPL ended")
        return answer

    async def _answer(self) -> Answer | None:
        """The next answer, past whatever else was written; None when the process wrote its last, or too much."""
        assert self.process.stdout is not None
        block: list[bytes] = []
        written = 0
        while written < MOST_OUTPUT:
            try:
                line = await self.process.stdout.readline()
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
        self._stderr.append(f"more than {MOST_OUTPUT} bytes and no answer")
        return None

    async def _watch(self) -> None:
        """Kill the process when it takes more memory than it may."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if self.grown_mb() > self.memory_mb:
                self._over_memory = True
                await kill_group(self.process, grace=0)
                return

    async def _ended(self, ending: Ending, reason: str) -> ReplEnded:
        await self.kill()
        said = "; ".join(self._stderr)[-400:]
        return ReplEnded(ending, f"{reason}: {said}" if said else reason)

    async def _drain_stderr(self) -> None:
        """Read standard error for ever, so that the pipe never fills; keep the last lines."""
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            self._stderr.extend(data.decode(errors="replace").splitlines()[-STDERR_LINES:])


def family(pid: int) -> Iterator[int]:
    """A process and all that it and its children have started (/proc/PID/task/*/children)."""
    yield pid
    try:
        lists = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # it has ended meanwhile
        return
    for child in " ".join(lists).split():
        yield from family(int(child))


def own_mb(pid: int) -> float:
    """Resident memory without pages of files, which processes share, in MB; 0 when there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * resource.getpagesize() / 2**20
    except (OSError, IndexError):
        return 0.0
