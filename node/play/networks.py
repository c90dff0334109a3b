"""Networks in this process: answers `tactic.request` with the inference node's worker thread. Imports torch."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from common.bus import Unanswered
from common.protocol.messages import Failure, FailureKind, Message, TacticReply, TacticRequest
from node.inference.engine.job import Job
from node.inference.weights.shelf import WeightsId
from node.model.checkpoint_folders import CheckpointError
from node.model.weights import WeightsError
from node.prover.policies.names import BadPolicy

if TYPE_CHECKING:
    from node.inference.engine.engine import Engine
    from node.inference.engine.engine_set import JobAnswer

T = TypeVar("T")


class Networks:
    """Networks by version, in one thread. Call `stop` at the end."""

    def __init__(self, threads: int) -> None:
        """`threads`: number of threads for forward passes."""
        from node.inference.worker import Worker

        loop = asyncio.get_running_loop()

        def deliver(callback: Callable[[T], object], what: T) -> None:
            loop.call_soon_threadsafe(callback, what)

        self._worker = Worker(
            threads,
            deliver=lambda answers: deliver(self._answered, answers),
            failed=lambda error: deliver(self._failed, error),
        )
        self._cells: dict[int, int] = {}
        """Most samples for one state, by version."""
        self._numbers = itertools.count()
        self._open: dict[int, asyncio.Future[JobAnswer]] = {}
        self._problem = ""
        self._worker.start()

    async def load(self, path: Path, version: int, *, alone: bool = False) -> None:
        """Load a weights file or checkpoint as this version, which becomes the latest. `alone`: put earlier versions
        away once their open requests are answered. Raises BadPolicy."""
        from node.inference.engine.engine import Engine
        from node.model.loading import read_weights

        try:
            engine: Engine = Engine(await asyncio.to_thread(read_weights, path))
        except (WeightsError, CheckpointError, OSError) as error:
            raise BadPolicy(f"cannot use the network {path}: {error}") from error
        self._cells = ({} if alone else self._cells) | {version: engine.settings.cells}
        weights = WeightsId(version, "")
        self._worker.install(weights, engine, lambda: None)
        self._worker.promote(weights)
        if alone:
            self._worker.keep({weights})

    async def answer(self, request: TacticRequest) -> Message:
        """Returns TacticReply, or Failure if no network of that version is loaded, or if it does not support these
        sampling settings or this many samples. Raises Unanswered if the forward passes failed."""
        version = max(self._cells, default=0) if request.weights is None else request.weights
        if version not in self._cells:
            return Failure(reason=f"no network of version {version} is loaded", kind=FailureKind.UNKNOWN_WEIGHTS)
        if self._problem:
            raise Unanswered(self._problem)
        job = Job(
            next(self._numbers),
            request.state,
            request.samples,
            request.seed,
            request.sampling,
            request.proof,
            request.conjecture,
        )
        if problem := job.problem(self._cells[version]):
            return Failure(reason=problem, kind=FailureKind.MALFORMED)
        future = self._open[job.key] = asyncio.get_running_loop().create_future()
        try:
            self._worker.submit(job, WeightsId(version, ""))
            finished = (await future).finished
        finally:
            del self._open[job.key]
        if finished is None:
            return Failure(reason=f"version {version} was put away", kind=FailureKind.UNKNOWN_WEIGHTS)
        if finished.problem:
            return Failure(reason=finished.problem, kind=FailureKind.MALFORMED)
        return TacticReply(tactics=finished.tactics, value=finished.value, weights=version, tokens=finished.tokens)

    async def stop(self) -> None:
        """End the thread."""
        self._worker.stop()
        await asyncio.to_thread(self._worker.join)

    def _answered(self, answers: list[JobAnswer]) -> None:
        for answer in answers:
            future = self._open.get(answer.job.key)
            if future is not None and not future.done():  # its search may have ended already
                future.set_result(answer)

    def _failed(self, error: BaseException) -> None:
        """The thread has ended."""
        self._problem = f"forward passes failed: {error}"
        for future in self._open.values():
            if not future.done():
                future.set_exception(Unanswered(self._problem))
