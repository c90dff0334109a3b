"""Runs plans on a Lean process, and starts another process when one has ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from node.lean.process.child import Ending
from node.lean.text.headers import import_lines, imports
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.document import RECALL_PREAMBLE, LeanDocument, opening
from node.lean.worker.framing import Diagnostic
from node.lean.worker.options import WorkerOptions
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import LeanProcess, WorkerEnded
from node.lean.worker.reading import echoed, parser_refused, read, suspect_at
from node.lean.worker.spares import Spares

RECYCLE_EDITS = 5000
"""Edits after which a process is replaced, should it have a leak that the memory limit is too high to show."""

RECYCLE_STARTS = 100
"""It has worked that many times as long as it took to start, too: so a large library costs a hundredth at most."""

BRIEF_SECONDS = 2.0
"""For a document with which Lean says nothing before its end, if it has worked for half of them. As many heartbeats as
a declaration has take as long, so it is mostly the kernel, or a tactic that needs none, that comes to this."""


class BadHeader(ValueError):
    """Lean refuses the header; the text is Lean's own message."""


def header_problem(said: Sequence[Diagnostic]) -> str:
    """What Lean said is wrong with a header; empty when nothing is."""
    errors = [item.message for item in said if item.is_error]
    return f"Lean refuses the header: {errors[0]}" if errors else ""


@dataclass
class Runner:
    """One worker slot: a process that is started when needed, for whichever header the next plan has."""

    toolchain: LeanToolchain
    options: WorkerOptions
    spares: Spares = field(default_factory=lambda: Spares(0))
    """Where its process waits while another header is asked for; shared by the workers of a pool."""
    restarts: int = 0
    """Processes that ended on their own or were killed by a limit."""
    _process: LeanProcess | None = None
    _header: str = ""

    @property
    def process(self) -> LeanProcess | None:
        return self._process

    @property
    def start_seconds(self) -> float:
        """What the start of its process took, with the header; 0 without a process."""
        return self._process.started_in if self._process is not None else 0.0

    def has_loaded(self, header: str) -> bool:
        """Whether a theorem with this header needs no library that is not loaded here."""
        return self._process is not None and imports(self._header) == imports(self.toolchain.header(header))

    async def load(self, header: str) -> None:
        """Get ready for theorems with this header. Raises BadHeader, WorkerEnded."""
        await self._ready(self.toolchain.header(header))

    async def run(self, plan: BatchPlan, *, timeout: float) -> float:
        """Carry out a plan; returns the seconds that Lean worked. `timeout`: seconds for a candidate alone.

        Raises BadHeader, and WorkerEnded when no process can be started.
        """
        started = time.monotonic()
        header = self.toolchain.header(plan.theorem.header)
        while (document := plan.document(header)) is not None:
            await self._step(plan, document, header, timeout)
        return time.monotonic() - started

    async def _step(self, plan: BatchPlan, document: LeanDocument, header: str, timeout: float) -> None:
        process = await self._ready(header)
        blocks = max(1, len(document.blocks))
        silence, limit, work = timeout, timeout * blocks, 0.0
        if document.brief:
            silence, limit, work = min(timeout, BRIEF_SECONDS), timeout, BRIEF_SECONDS / 2
        try:
            diagnostics = await process.edit(document.text, silence=silence, limit=limit, work=work)
        except WorkerEnded as end:
            if end.ending is not Ending.TIMEOUT or not await process.recall(opening(header, RECALL_PREAMBLE)):
                self._lost()
            if document.brief:
                plan.hasty()
                return
            stuck = end.ending is Ending.TIMEOUT and end.seconds_stuck >= timeout
            suspect = suspect_at(document, end.lines)
            refused = "" if suspect is None else parser_refused(document, end.diagnostics, suspect)
            plan.ended(end.ending, end.reason, suspect, stuck=stuck, refused=refused)
        else:
            if echoed(document, diagnostics):
                plan.take(read(document, diagnostics))
            else:
                plan.hasty()

    async def _ready(self, header: str) -> LeanProcess:
        """A live process with this header. Raises BadHeader, WorkerEnded."""
        if self._process is not None and (not self._process.alive or self._worn(self._process)):
            await self.stop()
        if self._process is None or imports(header) != imports(self._header):
            await self._change(header)
        if self._process is not None and header != self._header:
            await self._turn(self._process, header)
        return self._process or await self._start(header)

    async def _change(self, header: str) -> None:
        """Park the process, and take one that has loaded what this header imports, if there is one."""
        (process, old), spare = (self._process, self._header), self.spares.take(imports(header))
        self._process, self._header = spare or (None, "")
        if process is not None:
            await self.spares.park(process, old)

    async def _start(self, header: str) -> LeanProcess:
        """A new process. Raises BadHeader, WorkerEnded."""
        process = await LeanProcess.start(self.toolchain, self.options, opening(header))
        self._process, self._header = process, header
        if problem := header_problem(process.opening):
            # Where the imports are good the process is, too: the next header is put in place of this one.
            if any(item.is_error and item.range.start.line < import_lines(header) for item in process.opening):
                await self.stop()
            else:
                self._header = "\n".join(imports(header))
            raise BadHeader(problem)
        return process

    async def _turn(self, process: LeanProcess, header: str) -> None:
        """Put another header in place of the process's, with the same imports: a library is not imported twice.

        There is no process afterwards if it ended. Raises BadHeader.
        """
        seconds = self.options.start_seconds
        try:
            said = await process.edit(opening(header), silence=seconds, limit=seconds)
        except WorkerEnded as end:
            if end.ending is not Ending.TIMEOUT or not await process.recall(opening(self._header, RECALL_PREAMBLE)):
                self._lost()
            if end.ending is not Ending.DIED:
                raise BadHeader(f"Lean came to no end with the header: {end.reason}") from end
            return
        if problem := header_problem(said):
            raise BadHeader(problem)  # the process stays as good as it was: the next edit replaces the whole text
        self._header = header

    def _lost(self) -> None:
        """The process has ended before it was told to."""
        self.restarts += 1
        self._process = None

    def _worn(self, process: LeanProcess) -> bool:
        old = process.edits >= RECYCLE_EDITS and process.worked >= RECYCLE_STARTS * process.started_in
        return old or process.grown_mb() > self.options.memory_mb / 2

    async def stop(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            await process.kill()
