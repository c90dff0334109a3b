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
"""Edits after which a process is replaced: it may leak too slowly for the memory limit to notice."""

RECYCLE_STARTS = 100
"""A process is replaced only when it has also worked this many times as long as its start took. So the starts take a
hundredth of the time at most, however large the imported library is."""

BRIEF_SECONDS = 2.0
"""Silence that ends a brief document, if Lean has used half of it as CPU time. The heartbeats of a declaration run out
in about this time, so what is silent for longer is mostly the kernel, or a tactic that needs no heartbeats."""


class BadHeader(ValueError):
    """Lean refuses the header; the text is Lean's own message."""


def header_problem(diagnostics: Sequence[Diagnostic]) -> str:
    """Why Lean refuses a header, by its diagnostics; empty when it does not."""
    errors = [item.message for item in diagnostics if item.is_error]
    return f"Lean refuses the header: {errors[0]}" if errors else ""


@dataclass
class Runner:
    """Runs one plan at a time, on a process that is started when it is needed, for the header of the plan."""

    toolchain: LeanToolchain
    options: WorkerOptions
    spares: Spares = field(default_factory=lambda: Spares(0))
    """Where its process waits while the runner works with another header; shared by the runners of a pool."""
    restarts: int = 0
    """Processes that ended on their own or were killed by a limit."""
    _process: LeanProcess | None = None
    _header: str = ""
    """The header that the process has elaborated."""

    @property
    def process(self) -> LeanProcess | None:
        """Its process, if it has one."""
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
        """Run one document of a plan, and hand what Lean reports to the plan."""
        process = await self._ready(header)
        blocks = max(1, len(document.blocks))
        # Lean shows each line that it finishes, so a candidate counts as stuck after its own time without progress.
        silence, limit, work = timeout, timeout * blocks, 0.0
        if document.brief:  # Lean shows nothing before its end. If it takes long, the document is run again in full.
            silence, limit, work = min(timeout, BRIEF_SECONDS), timeout, BRIEF_SECONDS / 2
        try:
            diagnostics = await process.edit(document.text, silence=silence, limit=limit, work=work)
        except WorkerEnded as end:
            await self._recall_or_drop(process, end, header)
            if document.brief:  # it does not show who is to blame
                plan.stop_brief_documents()
                return
            stuck = end.ending is Ending.TIMEOUT and end.seconds_stuck >= timeout
            suspect = suspect_at(document, end.lines)
            parser_error = "" if suspect is None else parser_refused(document, end.diagnostics, suspect)
            plan.ended(end.ending, end.reason, suspect, stuck=stuck, parser_error=parser_error)
        else:
            if echoed(document, diagnostics):
                plan.take(read(document, diagnostics))
            else:
                plan.stop_brief_documents()

    async def _recall_or_drop(self, process: LeanProcess, end: WorkerEnded, header: str) -> None:
        """After an edit without final diagnostics: keep the process if it is alive and gives up what it elaborates."""
        if end.ending is Ending.TIMEOUT and await process.recall(opening(header, RECALL_PREAMBLE)):
            return
        self.restarts += 1
        self._process = None

    async def _ready(self, header: str) -> LeanProcess:
        """A live process with this header. Raises BadHeader, WorkerEnded."""
        if self._process is not None and (not self._process.alive or self._worn(self._process)):
            await self.stop()
        if self._process is None or imports(header) != imports(self._header):
            await self._swap(header)
        if self._process is not None and header != self._header:
            await self._replace_header(self._process, header)
        return self._process or await self._start(header)

    async def _swap(self, header: str) -> None:
        """Park the process, and take a spare one that has loaded what this header imports, if there is one."""
        parked, parked_header = self._process, self._header
        self._process, self._header = self.spares.take(imports(header)) or (None, "")
        if parked is not None:
            await self.spares.park(parked, parked_header)

    async def _start(self, header: str) -> LeanProcess:
        """A new process. Raises BadHeader, WorkerEnded."""
        process = await LeanProcess.start(self.toolchain, self.options, opening(header))
        self._process, self._header = process, header
        if problem := header_problem(process.opening):
            # Where Lean accepts the imports, the process stays: the next header replaces the rest of this one.
            if any(item.is_error and item.range.start.line < import_lines(header) for item in process.opening):
                await self.stop()
            else:
                self._header = "\n".join(imports(header))
            raise BadHeader(problem)
        return process

    async def _replace_header(self, process: LeanProcess, header: str) -> None:
        """Replace the process's header by one with the same imports, so that no library is imported again.

        If the process dies over it there is none afterwards. Raises BadHeader.
        """
        seconds = self.options.start_seconds
        try:
            diagnostics = await process.edit(opening(header), silence=seconds, limit=seconds)
        except WorkerEnded as end:
            await self._recall_or_drop(process, end, self._header)
            if end.ending is not Ending.DIED:
                raise BadHeader(f"Lean came to no end with the header: {end.reason}") from end
            return
        if problem := header_problem(diagnostics):
            raise BadHeader(problem)  # the process is as good as before: the next edit replaces the whole document
        self._header = header

    def _worn(self, process: LeanProcess) -> bool:
        """Whether a process should be replaced before its next document."""
        old = process.edits >= RECYCLE_EDITS and process.worked >= RECYCLE_STARTS * process.started_in
        return old or process.grown_mb() > self.options.memory_mb / 2

    async def stop(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            await process.kill()
