"""Runs plans on a Lean process, and starts another process when one has ended."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from node.lean_proxy.toolchain import LeanToolchain
from node.lean_proxy.worker.document import Document, opening
from node.lean_proxy.worker.framing import Diagnostic
from node.lean_proxy.worker.plan import Plan
from node.lean_proxy.worker.process import Ending, LeanProcess, WorkerEnded, WorkerOptions
from node.lean_proxy.worker.reading import parser_refused, read, suspect_at

RECYCLE_EDITS = 5000
"""Edits after which a process is replaced, should it have a leak that the memory limit is too high to show."""


class BadHeader(ValueError):
    """Lean refuses the header; the text is Lean's own message."""


_IMPORT = re.compile(r"^[ \t]*(?:(?:public|meta|private)\s+)*(?:import\b|prelude\b|module\b).*", re.MULTILINE)


def imports(header: str) -> list[str]:
    """The lines of a header that decide what a process has loaded."""
    return [line.group().strip() for line in _IMPORT.finditer(header)]


def header_problem(said: Sequence[Diagnostic]) -> str:
    """What Lean said is wrong with a header; empty when nothing is."""
    errors = [item.message for item in said if item.is_error]
    return f"Lean refuses the header: {errors[0]}" if errors else ""


@dataclass
class Runner:
    """One worker slot: a process that is started when needed, for whichever header the next plan has."""

    toolchain: LeanToolchain
    options: WorkerOptions
    restarts: int = 0
    """Processes that ended on their own or were killed by a limit."""
    _process: LeanProcess | None = None
    _header: str = ""
    _on_start: list[Callable[[LeanProcess | None], None]] = field(default_factory=list)

    @property
    def process(self) -> LeanProcess | None:
        return self._process

    async def run(self, plan: Plan, *, timeout: float) -> float:
        """Carry out a plan; returns the seconds that Lean worked. `timeout`: seconds for a candidate alone.

        Raises BadHeader, and WorkerEnded when no process can be started.
        """
        started = time.monotonic()
        header = self.toolchain.header(plan.theorem.header)
        while (document := plan.document(header)) is not None:
            await self._step(plan, document, header, timeout)
        return time.monotonic() - started

    async def _step(self, plan: Plan, document: Document, header: str, timeout: float) -> None:
        process = await self._ready(header)
        blocks = max(1, len(document.blocks))
        try:
            diagnostics = await process.edit(document.text, silence=timeout, limit=timeout * blocks)
        except WorkerEnded as end:
            self.restarts += 1
            self._process = None
            stuck = end.ending is Ending.TIMEOUT and end.seconds_stuck >= timeout
            suspect = suspect_at(document, end.lines)
            refused = "" if suspect is None else parser_refused(document, end.diagnostics, suspect)
            plan.ended(end.ending, end.reason, suspect, stuck=stuck, refused=refused)
        else:
            plan.take(read(document, diagnostics))

    async def _ready(self, header: str) -> LeanProcess:
        """A live process with this header. Raises BadHeader, WorkerEnded."""
        process = self._process
        if process is not None and (not process.alive or self._worn(process)):
            await self.stop()
            process = None
        if process is not None and header != self._header:
            process = await self._turned(process, header)
        if process is None:
            process = await LeanProcess.start(self.toolchain, self.options, opening(header))
            if problem := header_problem(process.opening):
                await process.kill()
                raise BadHeader(problem)
            self._process, self._header = process, header
        return process

    async def _turned(self, process: LeanProcess, header: str) -> LeanProcess | None:
        """The process with another header, if it imports the same: a library is not imported twice. None: it ended.

        Raises BadHeader.
        """
        if imports(header) != imports(self._header):
            await self.stop()
            return None
        seconds = self.options.start_seconds
        try:
            said = await process.edit(opening(header), silence=seconds, limit=seconds)
        except WorkerEnded as end:
            self.restarts += 1
            self._process = None
            if end.ending is not Ending.DIED:
                raise BadHeader(f"Lean came to no end with the header: {end.reason}") from end
            return None
        if problem := header_problem(said):
            raise BadHeader(problem)  # the process stays as good as it was: the next edit replaces the whole text
        self._header = header
        return process

    def _worn(self, process: LeanProcess) -> bool:
        return process.edits >= RECYCLE_EDITS or process.resident_mb() > self.options.memory_mb / 2

    async def stop(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            await process.kill()
