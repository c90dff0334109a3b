"""What does a policy prove? Statements of the bank, searched in one process: no broker, no mesh, no verification.

    proofmesh bench solve CHECKPOINT [--split valid] [--samples 6] [--temperature 1.0] [--json OUT]

The same searches as an evaluation of the mesh, with the same seeds, so settings can be chosen and checkpoints compared
in a minute each. CHECKPOINT is a weights file or a checkpoint folder. Choose on `valid`, never on `test`.
"""

from __future__ import annotations

import asyncio
import collections
import itertools
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import tyro
from rich.progress import Progress

from common.config import ConfigError, check_flags
from common.lean import Theorem
from common.limits import Natural, Nucleus, Positive, Temperature
from common.messages import Attempt, AttemptOutcome, AttemptResult, Purpose
from common.sampling import SAMPLES, Sampling
from node.bank import bank
from node.inference.engine import Engine
from node.inference.engine_set import JobAnswer
from node.inference.job import Job
from node.inference.shelf import WeightsId
from node.inference.worker import Worker
from node.learner.data import SAMPLE_SEED
from node.model import checkpoint, weights
from node.model.checkpoint import CheckpointError
from node.model.weights import Weights, WeightsError
from node.prover.agent import Agent
from node.prover.exploration import ExploringPolicy
from node.prover.policy import Advice, Policy
from node.prover.prior import merge_samples
from node.prover.settings import ProverSettings
from node.proving.local_lean import LocalEnvironment
from scripts.bank.fixed_search import TACTIC_SECONDS, local_requests
from scripts.bench._report import asked, machine, report

T = TypeVar("T")


@dataclass
class SolveBenchSettings:
    """Share of statements that a policy proves."""

    checkpoint: Annotated[Path, tyro.conf.Positional]
    """A weights file or a checkpoint folder."""
    split: str = "valid"
    """`valid`, or `train`; `test` is for the end."""
    statements: Positive = 160
    """How many, spread over families and levels."""
    simulations: Positive = 16
    """Budget of a search."""
    samples: Positive = SAMPLES
    """Tactics sampled in an expansion."""
    temperature: Temperature = 1.0
    top_p: Nucleus = 1.0
    distinct: bool = False
    """First tokens without replacement."""
    explore: Natural = 0
    """Candidates of the fixed list that join an expansion."""
    searches: Positive = 8
    """At once."""
    workers: Positive = 2
    """Lean processes."""
    threads: Positive = 1
    """Of forward passes."""
    seed: Natural = 0
    json: Path | None = None
    """Write the numbers here as well."""


class LocalPolicy:
    """`node.prover.policy.Policy` with the inference node's own worker in this process."""

    def __init__(self, worker: Worker, arguments: SolveBenchSettings) -> None:
        self._worker = worker
        self._sampling = Sampling(arguments.temperature, arguments.top_p, arguments.distinct)
        self._numbers = itertools.count()
        self._open: dict[int, asyncio.Future[JobAnswer]] = {}

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        key = next(self._numbers)
        future = self._open[key] = asyncio.get_running_loop().create_future()
        self._worker.submit(Job(key, state, samples, seed, self._sampling), None)
        finished = (await future).finished
        assert finished is not None  # the only version is never put away
        return Advice(merge_samples(finished.tactics), finished.value)

    def answered(self, answers: list[JobAnswer]) -> None:
        for answer in answers:
            future = self._open.pop(answer.job.key)
            if not future.done():  # its search may have ended before
                future.set_result(answer)

    def failed(self, error: BaseException) -> None:
        """The worker's thread has ended."""
        for future in self._open.values():
            if not future.done():
                future.set_exception(RuntimeError(f"forward passes failed: {error}"))


def read(path: Path) -> Weights:
    """Weights of a file, or of a checkpoint folder. Raises WeightsError, CheckpointError."""
    if not path.is_dir():
        return weights.read(path)
    loaded = checkpoint.load(path, optimizer=False)
    return Weights(loaded.model.eval().requires_grad_(False), loaded.tokenizer, {})


@asynccontextmanager
async def local_policy(arguments: SolveBenchSettings) -> AsyncIterator[LocalPolicy]:
    """A policy with the checkpoint's weights. Raises WeightsError, CheckpointError."""
    loop = asyncio.get_running_loop()

    def deliver(callback: Callable[[T], object], what: T) -> None:
        loop.call_soon_threadsafe(callback, what)

    engine = Engine(read(arguments.checkpoint))
    worker = Worker(
        arguments.threads,
        deliver=lambda answers: deliver(policy.answered, answers),
        failed=lambda error: deliver(policy.failed, error),
    )
    policy = LocalPolicy(worker, arguments)
    worker.start()
    version = WeightsId(1, "")
    worker.install(version, engine, lambda: None)
    worker.promote(version)
    try:
        yield policy
    finally:
        worker.stop()
        await asyncio.to_thread(worker.join)


async def play(theorems: Sequence[Theorem], arguments: SolveBenchSettings) -> list[AttemptResult]:
    """One attempt at each theorem, in their order."""
    gate = asyncio.Semaphore(arguments.searches)
    leaves = ProverSettings().leaves

    async def one(theorem: Theorem, policy: Policy) -> AttemptResult:
        async with gate:
            attempt = Attempt(
                attempt_id=theorem.name,
                theorem_id=theorem.name,
                theorem=theorem,
                purpose=Purpose.EVAL,
                simulations=arguments.simulations,
                seed=arguments.seed,
                samples=arguments.samples,
            )
            environment = LocalEnvironment(requests, theorem, TACTIC_SECONDS)
            result = await Agent(attempt, policy, environment, prover_id="bench", leaves=leaves).play()
            progress.advance(task)
            return result

    with Progress(transient=True) as progress:
        task = progress.add_task("searching", total=len(theorems))
        async with local_requests(arguments.workers) as requests, local_policy(arguments) as policy:
            chosen: Policy = ExploringPolicy(policy, arguments.explore) if arguments.explore else policy
            return await asyncio.gather(*(one(theorem, chosen) for theorem in theorems))


def table(rows: Sequence[bank.BankTheorem], results: Sequence[AttemptResult]) -> dict[str, Any]:
    """Solved of all, in all and by level."""
    solved = collections.Counter(row.level for row, result in zip(rows, results, strict=True) if won(result))
    total = collections.Counter(row.level for row in rows)
    return {
        "statements": len(rows),
        "solved": solved.total(),
        "by_level": {level: f"{solved[level]}/{total[level]}" for level in sorted(total)},
        "expansions": sum(result.statistics.expansions for result in results),
        "tactics_tried": sum(result.statistics.tactics_tried for result in results),
        "tactics_failed": sum(result.statistics.tactics_failed for result in results),
        "errors": sum(result.outcome is AttemptOutcome.ERROR for result in results),
        "undecided": sum(result.outcome is AttemptOutcome.UNDECIDED for result in results),
    }


def won(result: AttemptResult) -> bool:
    return result.outcome is AttemptOutcome.PROVED


def main() -> int:
    arguments = tyro.cli(SolveBenchSettings, description=__doc__)
    started = time.monotonic()
    try:
        check_flags(arguments)
        rows = bank.load_statements(arguments.split)
        rows = bank.stratified(rows, min(arguments.statements, len(rows)), SAMPLE_SEED)
        results = asyncio.run(play([row.theorem for row in rows], arguments))
    except (ConfigError, WeightsError, CheckpointError, bank.BankError) as error:
        print(f"proofmesh bench solve: {error}", file=sys.stderr)
        return 2
    numbers = {**table(rows, results), "seconds": round(time.monotonic() - started, 1)}
    report({"asked": asked(arguments), "machine": machine(), **numbers}, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
