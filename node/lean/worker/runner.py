"""Runs plans on a Lean process, and restarts the process if it ended."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from common.lean import Step, Theorem
from node.lean.backend import state_key
from node.lean.process.child import Ending
from node.lean.toolchain.advice import HEADER_REFUSED
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.document import Frame, LeanDocument, Opening
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import Diagnostic, LeanProcess, WorkerEnded, WorkerOptions
from node.lean.worker.reading import echoed, parser_refused, read, suspect_at

# --- Idle Lean processes that wait for a request with their imports, so that a library is imported only once ---------


NEAR = 0.25
"""Share of a path's steps that a process may have to run again for a request to go on from its states; one step always.
Otherwise the request takes the process that was used least recently, so that several keep several parts of a search."""


@dataclass(frozen=True)
class Kept:
    """The states that Lean has kept of a process's last document: those of a path."""

    theorem: object = None
    """The key of a slow theorem; None: nothing is kept."""
    path: tuple[Step, ...] = ()

    def serves(self, other: Kept) -> bool:
        """True if a request for the other path should go on from this one's states."""
        again = len(other.path) - shared_steps(self.path, other.path)
        return other.theorem == self.theorem and again <= max(1, NEAR * len(other.path))


NOTHING = Kept()


def shared_steps(one: Sequence[Step], other: Sequence[Step]) -> int:
    """How many steps two paths have in common, from the root."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (step, its) in pairs if step != its), min(len(one), len(other)))


@dataclass(frozen=True)
class _Parked:
    """An idle process, the frame of its document, and what it has kept of the document."""

    process: LeanProcess
    frame: Frame
    kept: Kept = NOTHING


class Spares:
    """Parked processes, shared by all workers of a pool. If there are more than `most`, the oldest ones are killed."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._parked: list[_Parked] = []
        """The least recently parked first."""

    async def park(self, parked: _Parked) -> None:
        """Keep a process for later."""
        self._parked.append(parked)
        for old in self._drop(len(self._parked) - self.most):
            await old.process.kill()

    def take(self, needed: Frame) -> _Parked | None:
        """Remove and return a process that fits a frame, the most recently parked one; None if no process fits."""
        return self._pop(reversed(self._fitting(needed)))

    def take_near(self, needed: Frame, wanted: Kept) -> _Parked | None:
        """Remove and return the process from whose states a request should go on; None if there is none."""
        near = [each for each in self._fitting(needed) if each.frame == needed and each.kept.serves(wanted)]
        return self._pop(sorted(near, key=lambda each: -shared_steps(each.kept.path, wanted.path)))

    def take_oldest(self, needed: Frame) -> _Parked | None:
        """Remove and return the least recently parked process that fits a frame, unless there is room for another."""
        return self._pop(self._fitting(needed)) if len(self._parked) >= self.most else None

    def processes(self) -> list[LeanProcess]:
        """The parked processes."""
        return [each.process for each in self._parked]

    async def stop(self) -> None:
        """Kill all parked processes."""
        for each in self._drop(len(self._parked)):
            await each.process.kill()

    def _fitting(self, needed: Frame) -> list[_Parked]:
        return [each for each in self._parked if each.process.alive and each.frame.fits(needed)]

    def _pop(self, wanted: Iterable[_Parked]) -> _Parked | None:
        first = next(iter(wanted), None)
        if first is not None:
            self._parked.remove(first)
        return first

    def _drop(self, number: int) -> list[_Parked]:
        """Remove and return the `number` least recently parked processes."""
        dropped = self._parked[: max(0, number)]
        self._parked = self._parked[len(dropped) :]
        return dropped


def _wanted(plan: BatchPlan) -> Kept:
    """The states that serve a plan, and that its documents leave."""
    return Kept(state_key(plan.theorem, ()), plan.path) if plan.resumable else NOTHING


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
    return f"{HEADER_REFUSED}: {errors[0]}" if errors else ""


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
    cpu: float = 0.0
    """CPU seconds of its edits."""
    _process: LeanProcess | None = None
    _frame: Frame = Frame("")  # noqa: RUF009
    """The frame that the process has elaborated."""
    _kept: Kept = NOTHING

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

    def near(self, plan: BatchPlan) -> bool:
        """True if a request should go on from states that its process has kept."""
        return self._kept.serves(_wanted(plan))

    async def load(self, theorem: Theorem) -> None:
        """Load the frame of a theorem. Raises BadHeader, WorkerEnded."""
        await self._ready(self.frame(theorem))

    async def run(self, plan: BatchPlan, *, timeout: float) -> float:
        """Run a plan. Returns the seconds that Lean worked. `timeout`: seconds for a candidate alone.

        Raises BadHeader, and WorkerEnded if no process can be started.
        """
        started = time.monotonic()
        frame = self.frame(plan.theorem)
        await self._choose_process(frame, _wanted(plan))
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
            try:
                diagnostics = await process.edit(document.text, silence=silence, limit=limit, work=work)
            finally:
                self.cpu += process.edit_cpu
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
            self._kept = _wanted(plan)
            if echoed(document, diagnostics):
                plan.take(read(document, diagnostics))
            else:
                plan.stop_brief_documents()

    async def _recall_or_drop(self, process: LeanProcess, end: WorkerEnded, frame: Frame) -> None:
        """After an edit without final diagnostics: keep the process if it lives and cancels the edit, else drop it."""
        self._kept = NOTHING
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
        await self._replace_process(self.spares.take(frame))

    async def _choose_process(self, frame: Frame, wanted: Kept) -> None:
        """Go on with the process whose states are nearest to those of a request. States of another path that the own
        process has kept are not overwritten while another process can be had."""
        if self._process is None or not self._process.alive or not self._frame.fits(frame):
            return  # `_ready` finds another one
        if self._kept.serves(wanted):
            return
        near = self.spares.take_near(frame, wanted) if wanted is not NOTHING else None
        if near is not None or (self._kept is not NOTHING and self.spares.most):
            await self._replace_process(near or self.spares.take_oldest(frame))
            if self._process is None:
                await self._start(frame)  # not one that is parked, as `_ready` would

    async def _replace_process(self, spare: _Parked | None) -> None:
        """Park the process, and go on with a spare one, or without one until the next start."""
        parked = _Parked(self._process, self._frame, self._kept) if self._process is not None else None
        self._process, self._frame, self._kept = (
            (spare.process, spare.frame, spare.kept) if spare is not None else (None, Frame(""), NOTHING)
        )
        if parked is not None:
            await self.spares.park(parked)

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
        process, self._process, self._kept = self._process, None, NOTHING
        if process is not None:
            await process.kill()
