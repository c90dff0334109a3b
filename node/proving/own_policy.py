"""A network of ours as a policy in this process: the inference node's own worker on a thread. Torch comes with it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from common.sampling import PLAIN, Sampling
from node.inference.job import Job
from node.prover.policy import Advice, BadAdvice
from node.prover.prior import merge_samples

if TYPE_CHECKING:
    from node.inference.engine_set import JobAnswer
    from node.inference.worker import Worker

T = TypeVar("T")


class OwnPolicy:
    """`node.prover.policy.Policy` by a worker of this process. Make it with `own_policy`."""

    def __init__(self, worker: Worker, sampling: Sampling) -> None:
        self._worker = worker
        self._sampling = sampling
        self._numbers = itertools.count()
        self._open: dict[int, asyncio.Future[JobAnswer]] = {}
        self._problem = ""

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """Raises BadAdvice: the forward passes have failed, or this network cannot sample as it was asked to."""
        if self._problem:
            raise BadAdvice(self._problem)
        key = next(self._numbers)
        future = self._open[key] = asyncio.get_running_loop().create_future()
        self._worker.submit(Job(key, state, samples, seed, self._sampling), None)
        finished = (await future).finished
        assert finished is not None  # the only version is never put away
        if finished.problem:
            raise BadAdvice(finished.problem)
        return Advice(
            merge_samples(finished.tactics),
            finished.value,
            samples=len(finished.tactics),
            tokens=finished.tokens,
        )

    def answered(self, answers: list[JobAnswer]) -> None:
        """Hand the worker's answers to those who wait."""
        for answer in answers:
            future = self._open.pop(answer.job.key)
            if not future.done():  # its search may have ended before
                future.set_result(answer)

    def failed(self, error: BaseException) -> None:
        """The worker's thread has ended."""
        self._problem = f"forward passes failed: {error}"
        for future in self._open.values():
            if not future.done():
                future.set_exception(BadAdvice(self._problem))


@asynccontextmanager
async def own_policy(path: Path, *, threads: int = 1, sampling: Sampling = PLAIN) -> AsyncIterator[OwnPolicy]:
    """A policy with these weights, for as long as the block lasts. `threads`: of forward passes.

    Raises WeightsError, CheckpointError.
    """
    from node.inference.engine import Engine
    from node.inference.shelf import WeightsId
    from node.inference.worker import Worker
    from node.model.loading import read_weights

    loop = asyncio.get_running_loop()

    def deliver(callback: Callable[[T], object], what: T) -> None:
        loop.call_soon_threadsafe(callback, what)

    engine = Engine(await asyncio.to_thread(read_weights, path))
    worker = Worker(
        threads,
        deliver=lambda answers: deliver(policy.answered, answers),
        failed=lambda error: deliver(policy.failed, error),
    )
    policy = OwnPolicy(worker, sampling)
    worker.start()
    version = WeightsId(1, "")
    worker.install(version, engine, lambda: None)
    worker.promote(version)
    try:
        yield policy
    finally:
        worker.stop()
        await asyncio.to_thread(worker.join)
