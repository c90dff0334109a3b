"""Checks snippets on several workers, each with a warm Lean process. Further processes stay idle with the headers of
earlier snippets, as far as memory allows.

A worker elaborates the snippet and gives the answer that a REPL would give. If this answer has no error and no `sorry`,
a judge checks the snippet in fresh processes. The judge's verdict counts, and its faults become error messages of the
answer.

Snippets do not affect each other. If one runs out of time or memory, or crashes its process, this is reported, and the
worker continues with a new process.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import msgspec
import structlog

from common.life import metrics
from common.machine import LEAN_WORKER_MB
from node.lean.adapters.repl.protocol import LEAN_ERROR, Answer, Refusal, Request
from node.lean.adapters.repl.session import ReplSession
from node.lean.gaps.finder import RECYCLE_EDITS, Elaborator, ReplOptions, TextProcess
from node.lean.process.child import Ending
from node.lean.snippets.judge import FileJudge, NoJudgement
from node.lean.snippets.snippet import (
    Diagnostics,
    QueueFull,
    Snippet,
    SnippetLimits,
    SnippetResult,
    Verdict,
    failed,
    timed_out,
    unproved,
    with_faults,
    with_old_spelling,
    with_sorry_shown,
)
from node.lean.text.statement import leading_imports
from node.lean.toolchain.lean_toolchain import LeanProblem, LeanToolchain
from node.lean.worker.pool import explained
from node.lean.worker.process import WorkerEnded
from node.lean.worker.runner import BadHeader, header_problem

MOST_SORRIES = 500
"""Most `sorry`s in one snippet. For each, Lean is asked for a proof state."""

MOST_CHARACTERS = 2**20
"""Most characters of one snippet. This process also scans the text, and other snippets wait meanwhile."""

GRACE_SECONDS = 5.0
"""Added to a snippet's time limit for the work besides elaboration, such as the goals of its `sorry`s."""

RETRY_SECONDS = 1.0
"""Seconds after which a client that found the queue full may retry."""

PENDING = Verdict(False, reason="not verified yet")
"""The verdict on a snippet without errors until the judge has checked it."""

_ENDED = re.compile(rf"{LEAN_ERROR}({'|'.join(Ending)}): (.*)", re.DOTALL)
"""Matches the session's message that its Lean process did not finish."""

log = structlog.get_logger("snippets")


class Workbench(Elaborator):
    """An elaborator that also reports the CPU time and memory of its process.

    Its process is started with the imports that Lean would read as imports. A later line that begins with `import`, for
    example in a comment, is part of the text and of its time limit.
    """

    async def _ready(self, text: str) -> TextProcess:
        imports = "".join(line + "\n" for line in leading_imports(text))
        process = self._process
        if process is None or imports != self._imports or not process.alive or process.edits >= RECYCLE_EDITS:
            await self._kill()
            process = self._process = await TextProcess.start(self.toolchain, self.options, imports)
            self._imports = imports
        return process

    def cpu_seconds(self) -> float:
        """CPU seconds of the process; 0 if there is none."""
        return self._process.cpu_seconds() if self._process is not None else 0.0

    def resident_mb(self) -> float:
        """Resident memory of the process; 0 if there is none."""
        return self._process.resident_mb() if self._process is not None else 0.0

    @property
    def header_mb(self) -> float:
        """Memory in MB that its process's own pages take after its header; 0 if there is no process."""
        return self._process.header_mb if self._process is not None else 0.0

    @property
    def pid(self) -> int:
        """Id of the process; 0 if there is none."""
        return self._process.pid if self._process is not None else 0

    @property
    def live(self) -> bool:
        """True if there is a process that can take work."""
        return self._process is not None and self._process.alive


@dataclass(eq=False)
class Worker:
    """Checks one snippet at a time in its Lean process."""

    lean: Workbench
    name: str = field(default_factory=lambda: str(uuid.uuid4()))
    imports: tuple[str, ...] | None = None
    """The imports that its process has loaded; None if it has no process."""


class SnippetChecker:
    """Checks snippets; for use from one event loop. Call `stop` at the end."""

    def __init__(self, toolchain: LeanToolchain, options: ReplOptions, judge: FileJudge, limits: SnippetLimits) -> None:
        self._toolchain = toolchain
        self._options = options
        self._judge = judge
        self._queue = limits.queue
        self._room_mb = limits.room_mb
        self.at_once = limits.workers
        """Number of snippets that are checked in parallel."""
        number = limits.workers + limits.spares
        self.workers = [Worker(Workbench(toolchain, options, options.start_seconds)) for _ in range(number)]
        self._idle = list(self.workers)
        """The one idle for longest first."""
        self._places = asyncio.Semaphore(self.at_once)
        self._waiting = 0
        self._judging = 0
        self.restarts = 0
        """Number of processes that a snippet has ended."""
        self._stages = metrics.histogram("snippet_stage_seconds", "Time of a snippet's stages in Lean", ["stage"])

    @property
    def waiting(self) -> int:
        """Number of snippets that wait for a worker or for the judge."""
        return self._waiting + self._judging

    def resident_mb(self) -> float:
        """Resident memory of all workers' processes."""
        return sum(worker.lean.resident_mb() for worker in self.workers)

    async def prepare(self) -> None:
        """Load the configured header in one worker. Others load it with their first snippet. Raises LeanProblem."""
        limit = self._options.start_seconds
        async with self._worker(()) as worker:
            worker.lean.seconds, worker.imports = limit, ()
            try:
                elaborated = await worker.lean.run(self._toolchain.default_header)
                if problem := header_problem(elaborated.diagnostics):
                    raise BadHeader(problem)
            except (BadHeader, WorkerEnded, OSError) as error:
                raise LeanProblem(await explained(error, self._toolchain, limit)) from error

    def limit(self, workers: int) -> None:
        """Check at most so many snippets in parallel, at least one. Call it before the first snippet."""
        spares = len(self.workers) - self.at_once
        self.at_once = max(1, min(self.at_once, workers))
        self.workers = sorted(self.workers, key=lambda worker: not worker.lean.live)[: self.at_once + spares]
        self._idle = list(self.workers)
        self._places = asyncio.Semaphore(self.at_once)

    async def stop(self) -> None:
        """End all processes."""
        await asyncio.gather(*(worker.lean.stop() for worker in self.workers))
        await self._judge.close()

    def admit(self) -> None:
        """Raises QueueFull while more than `queue` snippets wait. One request may still add more snippets than that."""
        if self.waiting > self._queue:
            raise QueueFull(RETRY_SECONDS)

    async def check(self, snippet: Snippet) -> SnippetResult:
        """Check a snippet. On cancellation, its worker's Lean process is ended."""
        if snippet.seconds <= 0:
            return timed_out(0.0, snippet.seconds)
        if (size := max(len(snippet.code), len(snippet.against))) > MOST_CHARACTERS:
            return failed(0.0, f"the snippet has {size} characters, more than {MOST_CHARACTERS}: split it")
        if snippet.code.count("sorry") > MOST_SORRIES:
            return failed(0.0, f"the snippet has more than {MOST_SORRIES} `sorry`s: split it")
        try:
            async with self._worker(leading_imports(snippet.code)) as worker:
                result = await self._answered(worker, snippet)
            return result if result.verdict is not PENDING else await self._judged(snippet, result)
        except Exception as error:  # an unexpected error must affect this snippet only
            log.exception("a snippet could not be checked")
            return failed(0.0, f"the check failed: {type(error).__name__}: {error}")

    # --- one snippet ------------------------------------------------------------------------------------------------

    async def _answered(self, worker: Worker, snippet: Snippet) -> SnippetResult:
        """The result by the worker's answer. The verdict is PENDING if the answer has no error and no `sorry`."""
        started, cpu = time.monotonic(), worker.lean.cpu_seconds()
        with self._stages.labels("elaborate").time():
            answer = await self._elaborate(worker, snippet)
        seconds = time.monotonic() - started
        if answer is None:
            return timed_out(seconds, snippet.seconds, Diagnostics(worker.name))
        if isinstance(answer, Refusal):
            return self._refused(answer, snippet, seconds, Diagnostics(worker.name))
        load = 100 * max(0.0, worker.lean.cpu_seconds() - cpu) / max(seconds, 0.001)
        diagnostics = Diagnostics(worker.name, round(load, 1), worker.lean.resident_mb() * 2**20)
        response = with_old_spelling(msgspec.to_builtins(answer))
        verdict = unproved(response)
        return SnippetResult(seconds, verdict or PENDING, "", with_sorry_shown(response), diagnostics)

    async def _judged(self, snippet: Snippet, result: SnippetResult) -> SnippetResult:
        """The result with the judge's verdict. Meanwhile the worker can check other snippets."""
        self._judging += 1
        try:
            with self._stages.labels("judge").time():
                judgement = await self._judge.judge(snippet)
        except NoJudgement as failure:
            if failure.timeout is not None:
                return timed_out(result.seconds + failure.timeout, failure.timeout, result.diagnostics)
            return failed(result.seconds, str(failure), result.diagnostics)
        finally:
            self._judging -= 1
        return msgspec.structs.replace(
            result,
            seconds=result.seconds + judgement.seconds,
            verdict=judgement.verdict,
            response=with_faults(result.response or {}, judgement.faults),
        )

    async def _elaborate(self, worker: Worker, snippet: Snippet) -> Answer | None:
        """The REPL's answer; None if it did not come in time."""
        lean, imports = worker.lean, leading_imports(snippet.code)
        if snippet.fresh:
            await lean.stop()
        warm = lean.live and worker.imports == imports
        lean.seconds = snippet.seconds
        worker.imports = imports
        request = msgspec.json.encode(Request(cmd=snippet.code, infotree=snippet.infotree or None)).decode()
        limit = snippet.seconds + GRACE_SECONDS + (0 if warm else self._options.start_seconds)
        try:
            async with asyncio.timeout(limit):
                return await ReplSession(lean, self._toolchain.default_header).answer(request)
        except TimeoutError:
            await lean.stop()
            return None
        finally:
            if not warm:
                await self._make_room()

    async def _make_room(self) -> None:
        """End idle processes, the one idle for longest first, until the headers of the others fit into memory."""
        live = [worker for worker in self.workers if worker.lean.live]
        needed_mb = sum(worker.lean.header_mb + LEAN_WORKER_MB for worker in live)
        for worker in list(self._idle):
            if needed_mb <= self._room_mb:
                break
            if worker not in self._idle or not worker.lean.live:
                continue  # while another one ended, a snippet has taken it
            needed_mb -= worker.lean.header_mb + LEAN_WORKER_MB
            await worker.lean.stop()

    def _refused(self, refusal: Refusal, snippet: Snippet, seconds: float, diagnostics: Diagnostics) -> SnippetResult:
        """The result when the REPL refuses the snippet instead of answering."""
        ended = _ENDED.fullmatch(refusal.message)
        if ended is None:  # the REPL refused the request, and its process is still usable
            verdict = Verdict(False, reason=refusal.message)
            return SnippetResult(seconds, verdict, "", {"message": refusal.message}, diagnostics)
        self.restarts += 1
        if ended.group(1) == Ending.TIMEOUT:
            return timed_out(seconds, snippet.seconds, diagnostics)
        if ended.group(1) == Ending.MEMORY:
            error = f"Lean REPL process exceeded its memory limit of {self._options.memory_mb} MB"
            return failed(seconds, error, diagnostics)
        return failed(seconds, f"Lean REPL process ended: {ended.group(2)}", diagnostics)

    @asynccontextmanager
    async def _worker(self, imports: tuple[str, ...]) -> AsyncIterator[Worker]:
        """Reserve an idle worker: one that has loaded these imports, else one without a process, else the one idle for
        longest."""
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        loaded = [each for each in self._idle if each.lean.live and each.imports == imports]
        empty = [each for each in self._idle if not each.lean.live]
        worker = (loaded or empty or self._idle)[0]
        self._idle.remove(worker)
        try:
            yield worker
        finally:
            self._idle.append(worker)
            self._places.release()


def make_checker(toolchain: LeanToolchain, limits: SnippetLimits) -> SnippetChecker:
    """A checker whose verdicts come from fresh processes."""
    # The same limit for workers and verification: a snippet that elaborates in one must elaborate in the other.
    toolchain = replace(toolchain, command=(*toolchain.command, f"-DmaxHeartbeats={limits.heartbeats}"))
    options = ReplOptions(heartbeats=limits.heartbeats, memory_mb=limits.memory_mb, start_seconds=limits.header_seconds)
    judge = FileJudge(toolchain, at_once=limits.workers, seconds=limits.verify_seconds, memory_mb=limits.memory_mb)
    return SnippetChecker(toolchain, options, judge, limits)
