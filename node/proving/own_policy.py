"""A network in this process, as a policy and as a source of whole proofs. Both share one thread with the inference
node's worker. Imports torch."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from common.sampling import Sampling
from node.inference.engine.job import FinishedJob, Job
from node.prover.policies.policy import Advice, BadAdvice
from node.prover.policies.proofs.drafts import Draft, ProofRequest, ProofsUnavailable
from node.prover.policies.proofs.inference_proofs import drafts_of
from node.prover.search.prior import merge_samples

if TYPE_CHECKING:
    from node.inference.engine.engine_set import JobAnswer
    from node.inference.worker import Worker

T = TypeVar("T")


class NetworkFailed(RuntimeError):
    """The network of this process gave no samples. The message has the reason."""


class OwnNetwork:
    """A worker of this process and its open requests. Create it with `own_network`."""

    def __init__(self, worker: Worker, cells: int) -> None:
        """`cells`: most samples for one state."""
        self._worker = worker
        self._cells = cells
        self._numbers = itertools.count()
        self._open: dict[int, asyncio.Future[JobAnswer]] = {}
        self._problem = ""

    async def sampled(
        self, state: str, samples: int, seed: int, sampling: Sampling, *, proof: bool = False
    ) -> FinishedJob:
        """Samples for a state; with `proof`, whole proofs of a statement. Raises NetworkFailed if the forward passes
        failed, or if the network does not support these sampling settings or this many samples."""
        if self._problem:
            raise NetworkFailed(self._problem)
        job = Job(next(self._numbers), state, samples, seed, sampling, proof)
        if problem := job.problem(self._cells):
            raise NetworkFailed(problem)
        future = self._open[job.key] = asyncio.get_running_loop().create_future()
        self._worker.submit(job, None)
        finished: FinishedJob | None = (await future).finished
        assert finished is not None  # the only version is never put away
        if finished.problem:
            raise NetworkFailed(finished.problem)
        return finished

    def answered(self, answers: list[JobAnswer]) -> None:
        """Complete the open requests with the worker's replies."""
        for answer in answers:
            future = self._open.pop(answer.job.key)
            if not future.done():  # its search may have ended already
                future.set_result(answer)

    def failed(self, error: BaseException) -> None:
        """Fail all open requests, because the worker's thread has ended."""
        self._problem = f"forward passes failed: {error}"
        for future in self._open.values():
            if not future.done():
                future.set_exception(NetworkFailed(self._problem))


class OwnPolicy:
    """`node.prover.policies.policy.Policy` with a network in this process."""

    def __init__(self, network: OwnNetwork, sampling: Sampling) -> None:
        self._network = network
        self._sampling = sampling

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """Raises BadAdvice."""
        try:
            finished = await self._network.sampled(state, samples, seed, self._sampling)
        except NetworkFailed as error:
            raise BadAdvice(str(error)) from error
        return Advice(
            merge_samples(finished.tactics),
            finished.value,
            samples=len(finished.tactics),
            tokens=finished.tokens,
        )


class OwnProofs:
    """`node.prover.policies.proofs.drafts.ProofSource` with a network in this process."""

    def __init__(self, network: OwnNetwork, sampling: Sampling) -> None:
        self._network = network
        self._sampling = sampling

    async def propose(self, request: ProofRequest) -> Sequence[Draft]:
        """Empty for a statement that is longer than the network's context, and for corrections, for which the network
        is not trained. Raises ProofsUnavailable."""
        if request.correct:
            return ()
        statement = request.theorem.signature
        try:
            finished = await self._network.sampled(statement, request.count, request.seed, self._sampling, proof=True)
        except NetworkFailed as error:
            raise ProofsUnavailable(str(error)) from error
        return drafts_of(finished.tactics)


@asynccontextmanager
async def own_network(path: Path, *, threads: int = 1) -> AsyncIterator[OwnNetwork]:
    """Load a network for the block. `threads`: number of threads for forward passes.

    Raises WeightsError, CheckpointError.
    """
    from node.inference.engine.engine import Engine
    from node.inference.weights.shelf import WeightsId
    from node.inference.worker import Worker
    from node.model.loading import read_weights

    loop = asyncio.get_running_loop()

    def deliver(callback: Callable[[T], object], what: T) -> None:
        loop.call_soon_threadsafe(callback, what)

    engine = Engine(await asyncio.to_thread(read_weights, path))
    worker = Worker(
        threads,
        deliver=lambda answers: deliver(network.answered, answers),
        failed=lambda error: deliver(network.failed, error),
    )
    network = OwnNetwork(worker, engine.settings.cells)
    worker.start()
    version = WeightsId(1, "")
    worker.install(version, engine, lambda: None)
    worker.promote(version)
    try:
        yield network
    finally:
        worker.stop()
        await asyncio.to_thread(worker.join)
