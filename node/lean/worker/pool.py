"""A pool of Lean workers with one bounded queue: the `worker` backend.

A free worker takes a request for the theorem that it ran last, because Lean has already elaborated that statement (the
worker is "warm"). Otherwise it takes the oldest request. A slow tactic blocks one worker, never the queue. When the
queue is full, a request gets Busy with an estimate of the seconds before a retry."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar

from cachetools import LRUCache

from common.lean import BadStatement, Theorem
from common.machine import LEAN_SHARE, LEAN_WORKER_MB, Machine
from node.lean.backend import BackendDown, BackendFull, BatchResult, TacticBatch, state_key
from node.lean.process.child import Ending
from node.lean.text.lexing import lex
from node.lean.text.statement import imports
from node.lean.toolchain.advice import advice, damaged_module, with_advice
from node.lean.toolchain.lean_toolchain import LeanProblem, LeanToolchain
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import LeanProcess, WorkerEnded, WorkerOptions
from node.lean.worker.runner import BadHeader, Runner, Spares

LOOK_AHEAD = 8
"""Number of oldest waiting requests among which a free worker looks for its warm theorem. With more, the oldest request
would wait too long."""

FIRST_GUESS = 0.02
"""Seconds per request before the first measurement."""

CHEAP_START_SECONDS = 1.0
"""If a worker starts faster than this, another one is started for a new theorem, so that the others stay warm."""

LOADING_RETRY_SECONDS = 2.0
"""Seconds before a retry, in the Busy reply while a header is being imported."""

AVERAGING = 0.05
"""Weight of a request in the running mean of seconds per request: about the last 20 count."""

PROBE_ABOVE = 1.0
"""Expected number of unparsable candidates in a batch above which all candidates are probed first. An unparsable
candidate in a batch costs an edit of about 4 ms. The probe costs one edit, and 0.2 ms for each candidate."""

SLOW_SECONDS = 0.1
"""Default of `Pool.slow_seconds`."""

SLOW_THEOREMS = 1000
"""Most slow theorems that are known as such; the least recently met one is forgotten."""

GARBAGE_AVERAGING = 0.02
"""Weight of a candidate in the running share of unparsable candidates: about the last 50 count."""


ANY_THEOREM = Theorem("ready", "", "True")
"""A theorem with the configured header."""


class StillLoading(BackendFull):
    """Lean is still importing a header: retry after `retry_after` seconds."""

    def __init__(self) -> None:
        super().__init__(LOADING_RETRY_SECONDS, reason="Lean is still importing this theorem's header")


@dataclass
class _Job:
    """A request in the pool."""

    plan: BatchPlan
    timeout: float
    """Seconds for a candidate alone."""
    warm_key: object
    """Identifies the theorem: a worker whose last job had an equal key is warm for this one."""
    result: asyncio.Future[float]
    """Resolves to the seconds that Lean worked."""
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    """Of its asker: what is logged about the job names the asker's attempt."""

    def answer_loading(self) -> None:
        """Fail the request with StillLoading, unless it is already done."""
        if not self.result.done():
            self.result.set_exception(StillLoading())


@dataclass
class _PoolSlot:
    """One worker process and the job that it runs."""

    runner: Runner
    warm_key: object = None
    """The key of its last job's theorem."""
    job: _Job | None = None
    task: asyncio.Task[None] | None = None
    last_used: int = 0
    """Number of its last job."""


@dataclass
class Pool:
    """The worker backend: workers that start on demand. Use it from one event loop."""

    in_files: ClassVar[bool] = True

    toolchain: LeanToolchain
    options: WorkerOptions
    workers: int
    queue: int
    """Most waiting requests, of all workers together."""
    machine: Machine | None = None
    """Whose memory must hold all processes, each with as much as the first one's header takes; None: all are wanted.
    Until the first one is ready, no other one starts."""
    fixed: bool = False
    """True if there are as many workers as somebody has chosen: then only spare processes become fewer."""
    slow_seconds: float = SLOW_SECONDS
    """CPU seconds of a request for a state below the root from which on its theorem is slow."""
    garbage: float = 0.0
    """Running share of unparsable candidates."""
    _slots: list[_PoolSlot] = field(default_factory=list)
    _waiting: deque[_Job] = field(default_factory=deque)
    _spares: Spares = field(default_factory=lambda: Spares(0))
    _slow: LRUCache[object, bool] = field(default_factory=lambda: LRUCache(SLOW_THEOREMS))
    """Keys of theorems whose states take long to reach: Lean keeps the states of their documents."""
    _damage: asyncio.Task[str] | None = None
    """The search for a damaged module, after the first process that died at its start."""
    _jobs: int = 0
    """Jobs given to workers so far."""
    _seconds_per_request: float = FIRST_GUESS
    """Running mean."""

    def start(self) -> None:
        """Get ready. Processes start on demand."""
        self._spares = Spares(self.options.spares)
        self._slots = [_PoolSlot(Runner(self.toolchain, self.options, self._spares)) for _ in range(self.workers)]

    async def stop(self) -> None:
        """Kill all workers. Open requests fail with CancelledError."""
        # Includes running jobs: if a task is cancelled before its first step, its own exception handler never runs.
        for job in (*self._waiting, *(slot.job for slot in self._slots if slot.job is not None)):
            job.result.cancel()
        self._waiting.clear()
        tasks = [slot.task for slot in self._slots if slot.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(slot.runner.stop() for slot in self._slots), self._spares.stop())

    async def prepare(self) -> LeanProcess:
        """Make one worker load the configured header. The other workers load it on demand, or in `prepare_all`.

        Returns the worker's process. Raises BadHeader, WorkerEnded, OSError.
        """
        runner = self._slots[0].runner
        await runner.load(ANY_THEOREM)
        assert runner.process is not None
        self._fit(runner.process)
        return runner.process

    def _fit(self, first: LeanProcess) -> None:
        """Have no more processes, spare ones included, than the machine's memory holds of the first one's size."""
        if self.machine is not None:
            processes = workers_that_fit(self.machine, first.header_mb)
            self.machine = None
            if not self.fixed:
                self.workers = min(self.workers, max(1, processes))
            self._spares.most = min(self._spares.most, max(0, processes - self.workers))
            started = [slot for slot in self._slots if slot.job is not None or slot.runner.process is not None]
            self._slots = (started + [slot for slot in self._slots if slot not in started])[: self.workers]

    def prepare_all(self) -> None:
        """Make all idle workers load the configured header, in the background."""
        for slot in self._slots:
            if slot.job is None and slot.runner.process is None:
                plan = BatchPlan(ANY_THEOREM, (), {})
                job = _Job(plan, 60.0, None, asyncio.get_running_loop().create_future())
                # No caller awaits this job. Reading its exception keeps asyncio from logging it.
                job.result.add_done_callback(lambda done: done.cancelled() or done.exception())
                self._give(slot, job)

    async def attempt(self, batch: TacticBatch) -> BatchResult:
        """Run a batch. Raises BackendFull, BackendDown, BadStatement."""
        theorem = state_key(batch.theorem, ())
        plan = self._plan(batch, resumable=theorem in self._slow)
        try:
            elapsed = await self.run(plan, timeout=batch.timeout, warm=theorem)
        except BadHeader as error:
            raise BadStatement(with_advice(str(error))) from error
        except (WorkerEnded, OSError) as error:
            raise BackendDown(f"Lean does not start: {await self._cause(error)}") from error
        if plan.bad_statement:
            raise BadStatement(plan.bad_statement)
        for index in range(len(batch.tactics)):
            self.garbage += GARBAGE_AVERAGING * ((index in plan.unparsable) - self.garbage)
        outcomes = tuple(plan.outcomes[index] for index in range(len(batch.tactics)))
        return BatchResult(plan.state or "", outcomes, elapsed, plan.resumable)

    async def _cause(self, error: WorkerEnded | OSError) -> str:
        """Why no process starts. Compiled modules are searched for a damaged one once."""
        if self._damage is None and isinstance(error, WorkerEnded) and error.ending is Ending.DIED:
            self._damage = asyncio.create_task(damaged_module(self.toolchain.module_folders))
        damage = await asyncio.shield(self._damage) if self._damage is not None else ""
        return f"{error}; {damage}" if damage else str(error)

    def _plan(self, batch: TacticBatch, *, resumable: bool) -> BatchPlan:
        """The plan for a batch."""
        unknown = [index for index, tactic in enumerate(batch.tactics) if tactic not in batch.parsed]
        return BatchPlan(
            batch.theorem,
            batch.path,
            dict(enumerate(batch.tactics)),
            state=batch.state,
            probe=frozenset(unknown) if self.garbage * len(unknown) > PROBE_ABOVE else frozenset(),
            alone=frozenset(index for index, tactic in enumerate(batch.tactics) if lex(tactic).unusual),
            messages=batch.messages,
            resumable=resumable,
        )

    async def run(self, plan: BatchPlan, *, timeout: float, warm: object) -> float:
        """Run a plan. Returns the seconds that Lean worked, without the time in the queue.

        `timeout`: seconds for a candidate alone. `warm`: identifies the plan's theorem (see `_Job.warm_key`).
        Raises BackendFull, BadHeader, WorkerEnded (if Lean cannot be started).
        """
        if len(self._waiting) >= self.queue and not any(slot.job is None for slot in self._slots):
            raise BackendFull(self.retry_after(), len(self._waiting))
        job = _Job(plan, timeout, warm, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._dispatch()
        try:
            return await job.result
        finally:
            if job in self._waiting:  # the caller was cancelled
                self._waiting.remove(job)

    def retry_after(self) -> float:
        """Estimated seconds until half of the queue is done."""
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
        """Workers that crashed, or were killed by a limit."""
        return sum(slot.runner.restarts for slot in self._slots)

    def processes(self) -> list[LeanProcess]:
        """Live worker processes, including spare ones."""
        running = [slot.runner.process for slot in self._slots if slot.runner.process is not None]
        return running + self._spares.processes()

    @property
    def header_seconds(self) -> float:
        """Seconds that the slowest live process took to start with its header; 0 without one."""
        return max((process.started_in for process in self.processes()), default=0.0)

    def resident_mb(self) -> float:
        """Resident memory of all processes in MB, including mapped files."""
        return sum(process.resident_mb() for process in self.processes())

    def _dispatch(self) -> None:
        """Give waiting requests to free workers."""
        if self.machine is not None and any(slot.job is not None for slot in self._slots):
            return  # the first process is not ready
        free = [slot for slot in self._slots if slot.job is None]
        if self.machine is not None:
            free = free[:1]
        while free and self._waiting:
            slot, job = choose(free, self._waiting)
            free.remove(slot)
            self._waiting.remove(job)
            self._give(slot, job)

    def _give(self, slot: _PoolSlot, job: _Job) -> None:
        self._jobs += 1
        slot.job, slot.warm_key, slot.last_used = job, job.warm_key, self._jobs
        slot.task = asyncio.create_task(self._work(slot, job), name="Lean worker", context=job.context)

    async def _work(self, slot: _PoolSlot, job: _Job) -> None:
        try:
            if not slot.runner.has_loaded(job.plan.theorem):
                await self._load(slot, job)
            cpu_before = slot.runner.cpu
            seconds = 0.0 if job.result.done() else await slot.runner.run(job.plan, timeout=job.timeout)
            if job.plan.path and slot.runner.cpu - cpu_before >= self.slow_seconds:
                self._slow[job.warm_key] = True
        except asyncio.CancelledError:
            job.result.cancel()
            raise
        except Exception as error:  # `run` raises it in its caller
            if not job.result.done():
                job.result.set_exception(error)
        else:
            if not job.result.done():
                self._seconds_per_request += AVERAGING * (seconds - self._seconds_per_request)
                job.result.set_result(seconds)
        finally:
            slot.job = slot.task = None
            self._dispatch()

    async def _load(self, slot: _PoolSlot, job: _Job) -> None:
        """Load the imports of a job's header. Raises BadHeader, WorkerEnded.

        Importing a library takes minutes. After `loading_seconds` the request gets Busy while the import continues, so
        that a later retry finds the header loaded.
        """
        waiting = [job, *self._waiting] if self.machine is not None else [job]

        def answer() -> None:
            for each in waiting:
                each.answer_loading()

        timer = asyncio.get_running_loop().call_later(self.options.loading_seconds, answer)
        try:
            await slot.runner.load(job.plan.theorem)
        finally:
            timer.cancel()
        if slot.runner.process is not None:
            self._damage = None
            self._fit(slot.runner.process)


def choose(free: list[_PoolSlot], waiting: deque[_Job]) -> tuple[_PoolSlot, _Job]:
    """A free worker and the request that it takes.

    First choice: a worker that is warm for one of the first LOOK_AHEAD requests; for a slow theorem, one whose process
    has kept the states. Otherwise the oldest request, on a worker that has loaded its imports, else on a worker without
    a process, else on any worker. If starts are cheap, a worker without a process comes first. Among equal workers, the
    least recently used one is taken.
    """
    ahead = [waiting[number] for number in range(min(LOOK_AHEAD, len(waiting)))]
    for job in ahead:
        for slot in free:
            if slot.warm_key == job.warm_key and (not job.plan.resumable or slot.runner.near(job.plan)):
                return slot, job
    oldest = waiting[0]
    loaded = [slot for slot in free if slot.runner.has_loaded(oldest.plan.theorem)]
    idle = [slot for slot in free if slot.runner.process is None]
    start_another = loaded and idle and loaded[0].runner.start_seconds < CHEAP_START_SECONDS
    return min((idle if start_another else loaded) or idle or free, key=lambda slot: slot.last_used), oldest


# --- Checks at the start that the configured header elaborates. The process that loaded it becomes a worker ----------


async def prepare(pool: Pool) -> LeanProcess:
    """Make a worker load the configured header. If the header imports anything, the other workers load it in the
    background. Returns the worker's process. Raises LeanProblem."""
    try:
        process = await pool.prepare()
    except (BadHeader, WorkerEnded, OSError) as error:
        raise LeanProblem(await explained(error, pool.toolchain, pool.options.start_seconds)) from error
    if imports(pool.toolchain.default_header):
        pool.prepare_all()
    return process


def workers_that_fit(machine: Machine, header_mb: float) -> int:
    """How many workers fit into a machine's memory if each needs `header_mb` of its own for the header; 0 if none
    does."""
    return int(machine.memory_mb * LEAN_SHARE / (header_mb + LEAN_WORKER_MB))


async def explained(error: BadHeader | WorkerEnded | OSError, toolchain: LeanToolchain, seconds: float) -> str:
    """The message for the user: the error of the configured Lean or header, and what to do."""
    lean = f"Lean {toolchain.version} ({toolchain.name})"
    header = f"the header is:\n{toolchain.default_header}" if toolchain.default_header else "the header is empty"
    if isinstance(error, BadHeader):
        said = advice(str(error))
        return "\n".join(filter(None, [f"{lean}: {error}", header, said and f"What to do: {said}."]))
    if isinstance(error, WorkerEnded) and error.ending is Ending.TIMEOUT:
        return (
            f"{lean} did not finish the header in {seconds:g} s; {header}\nWhat to do: raise [lean] header_seconds, or "
            "start again: only the first import of a large library reads gigabytes from the disk."
        )
    if isinstance(error, WorkerEnded) and (damage := await damaged_module(toolchain.module_folders)):
        return f"{lean} crashes at the header ({error.reason}); {header}\nWhat to do: {damage}."
    return f"{lean} does not start as `{' '.join(toolchain.command)}`: {error}"
