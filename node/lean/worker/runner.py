"""Runs plans on a Lean process, and restarts the process if it ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from common.lean import Theorem
from node.lean.process.child import Ending
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.document import Frame, LeanDocument, Opening
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import Diagnostic, LeanProcess, WorkerEnded, WorkerOptions
from node.lean.worker.reading import echoed, parser_refused, read, suspect_at

# --- Idle Lean processes that wait for a request with their imports, so that a library is imported only once ---------


class Spares:
    """Parked processes, shared by all workers of a pool. If there are more than `most`, the oldest ones are killed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parked: list[tuple[LeanProcess, Frame]] = []
        """Processes with their frames, the least recently parked first."""

    async def park(self, process: LeanProcess, frame: Frame) -> None:
        """Keep a process for later. `frame`: the frame of its document."""
        self._parked.append((process, frame))
        for old, _ in self._drop(len(self._parked) - self._most):
            await old.kill()

    def take(self, needed: Frame) -> tuple[LeanProcess, Frame] | None:
        """Remove and return a process that fits a frame, with the process's own frame; None if no process fits."""
        for index in reversed(range(len(self._parked))):
            process, frame = self._parked[index]
            if process.alive and frame.fits(needed):
                return self._parked.pop(index)
        return None

    def processes(self) -> list[LeanProcess]:
        """The parked processes."""
        return [process for process, _ in self._parked]

    async def stop(self) -> None:
        """Kill all parked processes."""
        for process, _ in self._drop(len(self._parked)):
            await process.kill()

    def _drop(self, number: int) -> list[tuple[LeanProcess, Frame]]:
        """Remove and return the `number` least recently parked processes."""
        dropped = self._parked[: max(0, number)]
        self._parked = self._parked[len(dropped) :]
        return dropped


RECYCLE_EDITS = 5000
"""Edits after which a process is replaced, because it may leak memory too slowly to reach the memory limit."""

RECYCLE_STARTS = 100
"""A process is replaced only if it has also worked this many times as long as its start took. Starts therefore take at
most a hundredth of the time, even with a large library."""

HEARTBEAT_SECONDS = 2.0 / 40_000
"""Seconds in which Lean uses up one heartbeat, about. A brief document times out when this time has passed for all
heartbeats of a declaration without a report, and Lean has used half of it as CPU time. A longer silence is mostly the
kernel, or a tactic that uses no heartbeats."""


class BadHeader(ValueError):
    """Lean refuses the header; the text is Lean's message."""


def header_problem(diagnostics: Sequence[Diagnostic]) -> str:
    """The error for which Lean refuses a header; empty without one."""
    errors = [item.message for item in diagnostics if item.is_error]
    return f"Lean refuses the header: {errors[0]}" if errors else ""


def _refusal(frame: Frame, diagnostics: Sequence[Diagnostic]) -> str:
    """The error for which Lean refuses a frame; empty without one. For a file's text, only import errors count."""
    if not frame.in_file:
        return header_problem(diagnostics)
    return header_problem([item for item in diagnostics if item.range.start.line < frame.import_lines])


@dataclass
class Runner:
    """Runs one plan at a time, on a process with the plan's header, which starts on demand."""

    toolchain: LeanToolchain
    options: WorkerOptions
    spares: Spares = field(default_factory=lambda: Spares(0))
    """Keeps its process while the runner works with another header; shared by the runners of a pool."""
    restarts: int = 0
    """Processes that crashed or were killed by a limit."""
    _process: LeanProcess | None = None
    _frame: Frame = Frame("")  # noqa: RUF009
    """The frame that the process has elaborated."""

    @property
    def process(self) -> LeanProcess | None:
        """Its process, if it has one."""
        return self._process

    @property
    def start_seconds(self) -> float:
        """Seconds that the start of its process took, with the header; 0 without a process."""
        return self._process.started_in if self._process is not None else 0.0

    def frame(self, theorem: Theorem) -> Frame:
        """The text above a theorem. Raises BadContext."""
        if theorem.place is None:
            return Frame(self.toolchain.header(theorem.header))
        return Frame(self.toolchain.header(theorem.place.context.text), self.options.heartbeats)

    def has_loaded(self, theorem: Theorem) -> bool:
        """True when the process has loaded the imports of the theorem."""
        return self._process is not None and self._frame.fits(self.frame(theorem))

    async def load(self, theorem: Theorem) -> None:
        """Load the frame of a theorem. Raises BadHeader, WorkerEnded."""
        await self._ready(self.frame(theorem))

    async def run(self, plan: BatchPlan, *, timeout: float) -> float:
        """Run a plan. Returns the seconds that Lean worked. `timeout`: seconds for a candidate alone.

        Raises BadHeader, and WorkerEnded if no process can be started.
        """
        started = time.monotonic()
        frame = self.frame(plan.theorem)
        while (document := plan.document(frame)) is not None:
            await self._step(plan, document, frame, timeout)
        return time.monotonic() - started

    async def _step(self, plan: BatchPlan, document: LeanDocument, frame: Frame, timeout: float) -> None:
        """Run one document of a plan, and give Lean's report to the plan."""
        process = await self._ready(frame)
        blocks = max(1, len(document.blocks))
        # Lean reports each line that it finishes, so a candidate is stuck after its time limit without progress.
        silence, limit, work = timeout, timeout * blocks, 0.0
        if document.brief:  # Lean reports only at the end. After a timeout the plan sends a document that is not brief.
            brief_seconds = HEARTBEAT_SECONDS * self.options.heartbeats
            silence, limit, work = min(timeout, brief_seconds), timeout, brief_seconds / 2
        try:
            diagnostics = await process.edit(document.text, silence=silence, limit=limit, work=work)
        except WorkerEnded as end:
            await self._recall_or_drop(process, end, frame)
            if document.brief:  # the report does not show which candidate was running
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

    async def _recall_or_drop(self, process: LeanProcess, end: WorkerEnded, frame: Frame) -> None:
        """After an edit without final diagnostics: keep the process if it lives and cancels the edit, else drop it."""
        if end.ending is Ending.TIMEOUT and await process.recall(frame.opening(Opening.RECALL)):
            return
        self.restarts += 1
        self._process = None

    async def _ready(self, frame: Frame) -> LeanProcess:
        """A live process with this frame. Raises BadHeader, WorkerEnded."""
        if self._process is not None and (not self._process.alive or self._worn(self._process)):
            await self.stop()
        if self._process is None or not self._frame.fits(frame):
            await self._swap(frame)
        if self._process is not None and frame != self._frame:
            await self._replace_frame(self._process, frame)
        return self._process or await self._start(frame)

    async def _swap(self, frame: Frame) -> None:
        """Park the process, and take a spare process that has loaded the imports of this frame, if there is one."""
        parked, parked_frame = self._process, self._frame
        self._process, self._frame = self.spares.take(frame) or (None, Frame(""))
        if parked is not None:
            await self.spares.park(parked, parked_frame)

    async def _start(self, frame: Frame) -> LeanProcess:
        """Start a process with a frame. Raises BadHeader, WorkerEnded."""
        options = replace(self.options, in_file=frame.in_file)
        process = await LeanProcess.start(self.toolchain, options, frame.opening())
        self._process, self._frame = process, frame
        if problem := _refusal(frame, process.opening):
            # If Lean accepts the imports, keep the process: the next frame replaces only the commands after them.
            if any(item.is_error and item.range.start.line < frame.import_lines for item in process.opening):
                await self.stop()
            else:
                self._frame = frame.without_commands()
            raise BadHeader(problem)
        return process

    async def _replace_frame(self, process: LeanProcess, frame: Frame) -> None:
        """Replace the frame of the process by one with the same imports, so that no library is imported again.

        If the process crashes, the runner has no process afterwards. Raises BadHeader.
        """
        seconds = self.options.start_seconds
        try:
            diagnostics = await process.edit(frame.opening(), silence=seconds, limit=seconds)
        except WorkerEnded as end:
            await self._recall_or_drop(process, end, self._frame)
            if end.ending is not Ending.DIED:
                raise BadHeader(f"Lean did not finish the header: {end.reason}") from end
            return
        if problem := _refusal(frame, diagnostics):
            raise BadHeader(problem)  # keep the process: the next edit replaces the whole document
        self._frame = frame

    def _worn(self, process: LeanProcess) -> bool:
        """True when a process should be replaced before its next document."""
        old = process.edits >= RECYCLE_EDITS and process.worked >= RECYCLE_STARTS * process.started_in
        return old or process.grown_mb() > self.options.memory_mb / 2

    async def stop(self) -> None:
        """Kill the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            await process.kill()
