"""Elaborates whole texts in a warm worker process, and returns Lean's diagnostics and the goals at given positions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from node.lean.process.child import Ending
from node.lean.text.statement import import_lines
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.process import URI, Diagnostic, LeanProcess, Position, WorkerEnded, WorkerOptions

RECYCLE_EDITS = 5000
"""Number of edits after which the process is replaced, as in the pool."""

FIRST_QUESTION = 10**9
"""Ids of questions start here, so that they differ from the ids of edits."""


@dataclass(frozen=True)
class ReplOptions(WorkerOptions):
    """Options of a worker for texts by users: Lean's own defaults, for which such texts are written."""

    def arguments(self) -> list[str]:
        ours = ("-Dlinter.all=", "-DautoImplicit=")
        return [argument for argument in super().arguments() if not argument.startswith(ours)]


class _TermGoal(msgspec.Struct):
    goal: str = ""


class _Goals(msgspec.Struct):
    goals: list[str] = []


@dataclass(frozen=True)
class Goals:
    """The goals at a position of a text."""

    term: str | None
    """At a term: its expected type, with the local context."""
    tactic: tuple[str, ...]
    """At a tactic: the goals before it."""


@dataclass(frozen=True)
class ElaboratedCommand:
    """The result of elaborating a text."""

    diagnostics: list[Diagnostic]
    goals: list[Goals]
    """The goals at the requested positions, in order."""


class TextProcess(LeanProcess):
    """A worker process that also answers requests about positions in its document."""

    _questions: int = 0

    async def ask(self, method: str, place: Position, limit: float) -> msgspec.Raw:
        """The response to a language server request about a position. Raises WorkerEnded."""
        self._questions += 1
        number = FIRST_QUESTION + self._questions
        self._send(method, {"textDocument": {"uri": URI}, "position": place}, number)
        try:
            async with asyncio.timeout(limit):
                while (message := await self._receive()) is not None:
                    if message.id == number and not message.method:
                        return message.result
        except TimeoutError:
            raise self._ended(Ending.TIMEOUT, "no answer in time") from None
        raise self._ended(Ending.MEMORY if self.child.guard.exceeded else Ending.DIED, "the Lean process ended")


@dataclass
class Elaborator:
    """Elaborates texts, one at a time. A process that ended is replaced."""

    toolchain: LeanToolchain
    options: WorkerOptions
    seconds: float
    """Time limit for one text."""
    _process: TextProcess | None = None
    _imports: str = ""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self, text: str, places: Sequence[Position] = ()) -> ElaboratedCommand:
        """Elaborate a text. Raises WorkerEnded if Lean did not finish; the next text then gets a new process."""
        async with self._lock:
            try:
                return await self._run(text, places)
            except WorkerEnded as end:
                await self._kill()
                if end.ending is not Ending.DIED:
                    raise
            try:  # the crash may not be this text's fault (the process may have been killed): retry once
                return await self._run(text, places)
            except WorkerEnded:
                await self._kill()
                raise

    async def stop(self) -> None:
        """End the process."""
        await self._kill()

    async def _run(self, text: str, places: Sequence[Position]) -> ElaboratedCommand:
        process = await self._ready(text)
        diagnostics = await process.edit(text, silence=self.seconds, limit=self.seconds)
        end = time.monotonic() + self.seconds
        goals = [await _goals(process, place, max(0.1, end - time.monotonic())) for place in places]
        return ElaboratedCommand(diagnostics, goals)

    async def _ready(self, text: str) -> TextProcess:
        """A process that has loaded the text's imports."""
        imports = "".join(line + "\n" for line in text.split("\n")[: import_lines(text)])
        process = self._process
        if process is None or imports != self._imports or not process.alive or process.edits >= RECYCLE_EDITS:
            await self._kill()
            process = self._process = await TextProcess.start(self.toolchain, self.options, imports)
            self._imports = imports
        return process

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.kill()


async def _goals(process: TextProcess, place: Position, limit: float) -> Goals:
    term = msgspec.json.decode(
        await process.ask("$/lean/plainTermGoal", place, limit) or b"null", type=_TermGoal | None
    )
    tactic = msgspec.json.decode(await process.ask("$/lean/plainGoal", place, limit) or b"null", type=_Goals | None)
    return Goals(term.goal if term else None, tuple(tactic.goals) if tactic else ())
