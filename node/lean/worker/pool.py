"""A pool of Lean workers with one bounded queue: the `worker` backend.

A free worker takes a request for the theorem that it ran last (it is "warm": Lean has elaborated the statement),
or else the oldest request. One slow tactic holds one worker, never the queue. When the queue is full, the answer is
Busy, with a guess when to ask again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar

from common.lean import BadStatement, Theorem
from node.lean.backend import BackendDown, BackendFull, BatchResult, TacticBatch
from node.lean.cache import state_key
from node.lean.text.lexing import lex
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.options import WorkerOptions
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import LeanProcess, WorkerEnded
from node.lean.worker.runner import BadHeader, Runner
from node.lean.worker.spares import Spares

LOOK_AHEAD = 8
"""Waiting requests, from the oldest, among which a free worker looks for its warm theorem. More would let the oldest
wait too long."""

FIRST_GUESS = 0.02
"""Seconds per request before any was measured."""

CHEAP_START_SECONDS = 1.0
"""A worker that starts faster than this is started for a new theorem, so that the others keep theirs warm."""

LOADING_RETRY_SECONDS = 2.0
"""When to ask again for a header that is being imported."""

AVERAGING = 0.05
"""Weight of a request in the running mean of seconds per request: about the last 20 count."""

PROBE_ABOVE = 1.0
"""Expected candidates of a batch that do not parse, above which all are probed first. Each of them costs an edit of
about 4 ms when it is met in the batch; the probe costs one edit, and 0.2 ms for each candidate."""

GARBAGE_AVERAGING = 0.02
"""Weight of a candidate in the running share of those that do not parse: about the last 50 count."""


ANY_THEOREM = Theorem("ready", "", "True")
"""Has the configured header."""


class StillLoading(BackendFull):
    """Lean is importing what a header needs: ask again after `retry_after` seconds."""

    def __init__(self) -> None:
        super().__init__(LOADING_RETRY_SECONDS, reason="Lean is still importing what this theorem's header needs")


@dataclass
class _Job:
    """A request on its way through the pool."""

    plan: BatchPlan
    timeout: float
    """Seconds for a candidate alone."""
    warm_key: object
    """Names the theorem that a worker should have run last; equal keys, equal theorems."""
    done: asyncio.Future[float]
    """The seconds that Lean worked."""

    def answer_loading(self) -> None:
        """Answer that the header is still being imported, if there is no answer yet."""
        if not self.done.done():
            self.done.set_exception(StillLoading())


@dataclass
class _PoolSlot:
    """A place for one worker process and the job that it runs."""

    runner: Runner
    warm_key: object = None
    """The theorem of its last job."""
    job: _Job | None = None
    task: asyncio.Task[None] | None = None
    last_used: int = 0
    """Number of the last job that it took."""


@dataclass
class Pool:
    """The worker backend: workers, started on demand. Used from one event loop."""

    in_files: ClassVar[bool] = True

    toolchain: LeanToolchain
    options: WorkerOptions
    workers: int
    queue: int
    """Requests that may wait, in all."""
    garbage: float = 0.0
    """Running share of candidates that do not parse."""
    _slots: list[_PoolSlot] = field(default_factory=list)
    _waiting: deque[_Job] = field(default_factory=deque)
    _spares: Spares = field(default_factory=lambda: Spares(0))
    _jobs: int = 0
    """Jobs given to workers so far."""
    _seconds_per_request: float = FIRST_GUESS
    """Running mean."""

    def start(self) -> None:
        """Get ready; processes start on demand."""
        self._spares = Spares(self.options.spares)
        self._slots = [_PoolSlot(Runner(self.toolchain, self.options, self._spares)) for _ in range(self.workers)]

    async def stop(self) -> None:
        """Kill all workers; requests that are open fail with CancelledError."""
        # Also the jobs that workers have: a task that is cancelled before its first step runs no handler of its own.
        for job in (*self._waiting, *(slot.job for slot in self._slots if slot.job is not None)):
            job.done.cancel()
        self._waiting.clear()
        tasks = [slot.task for slot in self._slots if slot.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(slot.runner.stop() for slot in self._slots), self._spares.stop())

    async def prepare(self) -> LeanProcess:
        """Have one worker load the configured header; the others do so on demand, or in `prepare_all`.

        Returns its process. Raises BadHeader, WorkerEnded, OSError.
        """
        runner = self._slots[0].runner
        await runner.load(ANY_THEOREM)
        assert runner.process is not None
        return runner.process

    def limit(self, workers: int) -> None:
        """Have no more workers than this. Call it before any but the first has started."""
        self.workers = min(self.workers, max(1, workers))
        self._slots = self._slots[: self.workers]

    def prepare_all(self) -> None:
        """Have every idle worker load the configured header, in the background."""
        for slot in self._slots:
            if slot.job is None and slot.runner.process is None:
                plan = BatchPlan(ANY_THEOREM, (), {})
                job = _Job(plan, 60.0, None, asyncio.get_running_loop().create_future())
                # Nobody awaits this job: an error is marked as seen, or asyncio would log it.
                job.done.add_done_callback(lambda done: done.cancelled() or done.exception())
                self._give(slot, job)

    async def attempt(self, batch: TacticBatch) -> BatchResult:
        """Run a batch. Raises BackendFull, BackendDown, BadStatement."""
        plan = self._plan(batch)
        try:
            elapsed = await self.run(plan, timeout=batch.timeout, warm=state_key(batch.theorem, ()))
        except BadHeader as error:
            raise BadStatement(str(error)) from error
        except (WorkerEnded, OSError) as error:
            raise BackendDown(f"Lean does not start: {error}") from error
        if plan.bad_statement:
            raise BadStatement(plan.bad_statement)
        for index in range(len(batch.tactics)):
            self.garbage += GARBAGE_AVERAGING * ((index in plan.unparsable) - self.garbage)
        return BatchResult(
            plan.state or "", tuple(plan.outcomes[index] for index in range(len(batch.tactics))), elapsed
        )

    def _plan(self, batch: TacticBatch) -> BatchPlan:
        """The plan for a batch."""
        unknown = [index for index, tactic in enumerate(batch.tactics) if tactic not in batch.parsed]
        return BatchPlan(
            batch.theorem,
            batch.path,
            dict(enumerate(batch.tactics)),
            state=batch.state,
            probe=frozenset(unknown) if self.garbage * len(unknown) > PROBE_ABOVE else frozenset(),
            alone=frozenset(index for index, tactic in enumerate(batch.tactics) if lex(tactic).unusual),
        )

    async def run(self, plan: BatchPlan, *, timeout: float, warm: object) -> float:
        """Carry out a plan; returns the seconds that Lean worked, queueing excluded.

        `timeout`: seconds for a candidate alone; `warm`: names the plan's theorem (see `_Job.warm_key`).
        Raises BackendFull, BadHeader, WorkerEnded (when Lean cannot be started).
        """
        if len(self._waiting) >= self.queue and not any(slot.job is None for slot in self._slots):
            raise BackendFull(self.retry_after(), len(self._waiting))
        job = _Job(plan, timeout, warm, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._dispatch()
        try:
            return await job.done
        finally:
            if job in self._waiting:  # cancelled while it waited
                self._waiting.remove(job)

    def retry_after(self) -> float:
        """Seconds until about half of the queue is worked off."""
        return min(5.0, max(0.02, self._seconds_per_request * len(self._waiting) / 2 / max(1, self.workers)))

    @property
    def waiting(self) -> int:
        """Requests that wait for a worker."""
        return len(self._waiting)

    @property
    def live(self) -> int:
        """Live worker processes."""
        return len(self.processes())

    @property
    def restarts(self) -> int:
        """Workers that ended on their own, or were killed by a limit."""
        return sum(slot.runner.restarts for slot in self._slots)

    def processes(self) -> list[LeanProcess]:
        """Live worker processes, and those that are kept for another header."""
        running = [slot.runner.process for slot in self._slots if slot.runner.process is not None]
        return running + self._spares.processes()

    def resident_mb(self) -> float:
        """Resident memory of all its processes in MB, mapped files included."""
        return sum(process.resident_mb() for process in self.processes())

    def _dispatch(self) -> None:
        """Give waiting requests to free workers."""
        free = [slot for slot in self._slots if slot.job is None]
        while free and self._waiting:
            slot, job = choose(free, self._waiting)
            free.remove(slot)
            self._waiting.remove(job)
            self._give(slot, job)

    def _give(self, slot: _PoolSlot, job: _Job) -> None:
        self._jobs += 1
        slot.job, slot.warm_key, slot.last_used = job, job.warm_key, self._jobs
        slot.task = asyncio.create_task(self._work(slot, job), name="Lean worker")

    async def _work(self, slot: _PoolSlot, job: _Job) -> None:
        try:
            if not slot.runner.has_loaded(job.plan.theorem):
                await self._load(slot, job)
            seconds = 0.0 if job.done.done() else await slot.runner.run(job.plan, timeout=job.timeout)
        except asyncio.CancelledError:
            job.done.cancel()
            raise
        except Exception as error:  # whatever it is, `run` raises it to its caller
            if not job.done.done():
                job.done.set_exception(error)
        else:
            if not job.done.done():
                self._seconds_per_request += AVERAGING * (seconds - self._seconds_per_request)
                job.done.set_result(seconds)
        finally:
            slot.job = slot.task = None
            self._dispatch()

    async def _load(self, slot: _PoolSlot, job: _Job) -> None:
        """Load what a job's header imports; raises BadHeader, WorkerEnded.

        The import of a library takes minutes. The request is answered after `loading_seconds`, and the import goes on,
        so that it is done when the same header is asked for again.
        """
        timer = asyncio.get_running_loop().call_later(self.options.loading_seconds, job.answer_loading)
        try:
            await slot.runner.load(job.plan.theorem)
        finally:
            timer.cancel()


def choose(free: list[_PoolSlot], waiting: deque[_Job]) -> tuple[_PoolSlot, _Job]:
    """A free worker and the request that it takes.

    First choice: a worker that has one of the first LOOK_AHEAD requests warm. Else the oldest request, on a worker that
    has loaded what it imports, or on one without a process (preferred where starts are cheap), or on any; of several,
    the least recently used.
    """
    ahead = [waiting[number] for number in range(min(LOOK_AHEAD, len(waiting)))]
    for job in ahead:
        for slot in free:
            if slot.warm_key == job.warm_key:
                return slot, job
    oldest = waiting[0]
    loaded = [slot for slot in free if slot.runner.has_loaded(oldest.plan.theorem)]
    idle = [slot for slot in free if slot.runner.process is None]
    start_another = loaded and idle and loaded[0].runner.start_seconds < CHEAP_START_SECONDS
    return min((idle if start_another else loaded) or idle or free, key=lambda slot: slot.last_used), oldest
