"""The worker thread that runs forward passes. The event loop sends it commands and gets answers through a callback."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from common.life import faults
from common.protocol.messages import Failure, FailureKind, TacticReply, TacticRequest
from node.inference.engine.batch import Counters, FinishedJob, Job
from node.inference.engine.engine import Engine, EngineSet, JobAnswer, WeightsId

Command = Callable[[], None]


@dataclass(frozen=True)
class Snapshot:
    """The thread's state after its latest pass; the thread writes it, other threads may read it."""

    counters: Counters
    waiting: int = 0
    running: int = 0
    prefilled: int = 0
    """Prefilled states kept, over all engines."""
    prefilled_bytes: int = 0


class Worker:
    """Runs an EngineSet in a thread. The thread calls `deliver` and the callbacks of `park` and `install`, so they must
    be thread-safe.

    A batch starts as soon as there is a job and room; an idle thread sleeps on a condition, without a timeout.
    """

    def __init__(
        self,
        threads: int,
        deliver: Callable[[list[JobAnswer]], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._threads = threads
        self._deliver, self._failed = deliver, failed
        self._engines = EngineSet()
        self._commands: deque[Command] = deque()
        self._wake = threading.Condition()
        self._parked = False
        self._stopping = False
        self.snapshot = Snapshot(Counters())
        self._thread = threading.Thread(target=self._run, name="inference", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end after its current pass; waiting and running jobs are dropped."""

        def stop() -> None:
            self._stopping = True

        self._command(stop)

    def join(self, timeout: float | None = None) -> None:
        self._thread.join(timeout)

    def submit(self, job: Job, version: WeightsId | None) -> None:
        """Queue a job. It must be within the engine's limits (`Engine.submit`)."""
        self._command(lambda: self._engines.submit(job, version))

    def install(self, version: WeightsId, engine: Engine, done: Callable[[], object]) -> None:
        """Serve a version from the next pass on. The engine belongs to the thread from now on."""

        def install() -> None:
            self._engines.install(version, engine)
            done()

        self._command(install)

    def promote(self, version: WeightsId) -> None:
        """Make a version that is installed the latest."""

        def promote() -> None:
            self._engines.latest = version

        self._command(promote)

    def keep(self, versions: set[WeightsId]) -> None:
        self._command(lambda: self._engines.keep(versions))

    def park(self, done: Callable[[], object]) -> None:
        """Stop between two passes and keep the batch; `done` is called when no pass is running."""

        def park() -> None:
            self._parked = True
            done()

        self._command(park)

    def resume(self) -> None:
        def resume() -> None:
            self._parked = False

        self._command(resume)

    def _command(self, command: Command) -> None:
        with self._wake:
            self._commands.append(command)
            self._wake.notify()

    def _run(self) -> None:
        import torch

        torch.set_num_threads(self._threads)  # holds for the calling thread, so it is set here
        try:
            while not self._stopping:
                for command in self._next():
                    command()
                if not self._parked and not self._stopping:
                    answers = self._engines.step()
                    if self._engines.running:
                        faults.reach("inference:batch-running")
                    if answers:
                        self._deliver(answers)
                self.snapshot = self._snapshot()
        except BaseException as error:  # any error must stop the node
            self._failed(error)

    def _snapshot(self) -> Snapshot:
        kept = [engine.prefixes for engine in self._engines.engines.values()]
        return Snapshot(
            self._engines.counters(),
            self._engines.waiting,
            self._engines.running,
            prefilled=sum(map(len, kept)),
            prefilled_bytes=sum(prefixes.size for prefixes in kept),
        )

    def _next(self) -> list[Command]:
        """The queued commands. Waits for one if there is no other work."""
        with self._wake:
            while not self._commands and (self._parked or not self._engines.busy):
                self._wake.wait()
            commands = list(self._commands)
            self._commands.clear()
        return commands


class Jobs:
    """The jobs that an event loop has given to its worker thread."""

    def __init__(self, threads: int, failed: Callable[[BaseException], None]) -> None:
        """`threads`: for forward passes. `failed` is called on the event loop when the thread has ended with an
        error."""
        self._loop = asyncio.get_running_loop()
        self.worker = Worker(
            threads,
            deliver=lambda answers: self._on_loop(self._answered, answers),
            failed=lambda error: self._on_loop(failed, error),
        )
        self._numbers = itertools.count()
        self._open: dict[int, asyncio.Future[JobAnswer]] = {}

    def job(self, request: TacticRequest) -> Job:
        """The job of a request."""
        return Job(
            next(self._numbers),
            request.state,
            request.samples,
            request.seed,
            request.sampling,
            request.proof,
            request.conjecture,
        )

    async def done(self, job: Job, version: WeightsId | None) -> JobAnswer:
        """The worker's answer to a job, with these weights; None: the latest. Raises the error of `fail`."""
        future = self._open[job.key] = self._loop.create_future()
        try:
            self.worker.submit(job, version)
            return await future
        finally:
            del self._open[job.key]

    def fail(self, error: Exception) -> None:
        """Fail all open jobs."""
        for future in self._open.values():
            if not future.done():
                future.set_exception(error)

    def _answered(self, answers: list[JobAnswer]) -> None:
        for answer in answers:
            future = self._open.get(answer.job.key)
            if future is not None and not future.done():  # its asker may have gone
                future.set_result(answer)

    def _on_loop(self, callback: Callable[..., object], *arguments: object) -> None:
        """Call on the event loop, from the worker thread. A loop that is closed already needs no answers."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(callback, *arguments)


def reply_of(finished: FinishedJob, version: WeightsId) -> TacticReply | Failure:
    """The reply to the request of a finished job."""
    if finished.problem:
        return Failure(reason=finished.problem, kind=FailureKind.MALFORMED)
    return TacticReply(tactics=finished.tactics, value=finished.value, weights=version.version, tokens=finished.tokens)
