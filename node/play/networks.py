"""Networks in this process: answers `tactic.request` with the inference node's worker thread. Imports torch."""

from __future__ import annotations

import asyncio
from pathlib import Path

from common.bus import Unanswered
from common.protocol.messages import Failure, FailureKind, Message, TacticRequest
from node.inference.engine.engine import Engine
from node.inference.weights.shelf import WeightsId
from node.inference.worker import Jobs, reply_of
from node.model.checkpoint_folders import CheckpointError
from node.model.loading import read_weights
from node.model.weights import WeightsError
from node.prover.policies.names import BadPolicy


class Networks:
    """Networks by version, in one thread. Call `stop` at the end."""

    def __init__(self, threads: int) -> None:
        """`threads`: number of threads for forward passes."""
        self._jobs = Jobs(threads, self._failed)
        self._worker = self._jobs.worker
        self._cells: dict[int, int] = {}
        """Most samples for one state, by version."""
        self._problem = ""
        self._worker.start()

    async def load(self, path: Path, version: int, *, alone: bool = False) -> None:
        """Load a weights file or checkpoint as this version, which becomes the latest. `alone`: put earlier versions
        away once their open requests are answered. Raises BadPolicy."""
        try:
            engine = Engine(await asyncio.to_thread(read_weights, path))
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
        job = self._jobs.job(request)
        if problem := job.problem(self._cells[version]):
            return Failure(reason=problem, kind=FailureKind.MALFORMED)
        answer = await self._jobs.done(job, WeightsId(version, ""))
        if answer.finished is None:
            return Failure(reason=f"version {version} was put away", kind=FailureKind.UNKNOWN_WEIGHTS)
        return reply_of(answer.finished, answer.version)

    async def stop(self) -> None:
        """End the thread."""
        self._worker.stop()
        await asyncio.to_thread(self._worker.join)

    def _failed(self, error: BaseException) -> None:
        """The thread has ended."""
        self._problem = f"forward passes failed: {error}"
        self._jobs.fail(Unanswered(self._problem))
