"""What does a policy prove? Statements of the bank, searched in one process: no broker, no mesh, no verification.

    proofmesh bench solve CHECKPOINT [--split valid] [--samples 6] [--temperature 1.0] [--json OUT]

The same searches as an evaluation of the mesh, with the same seeds, so settings can be chosen and checkpoints compared
in a minute each. CHECKPOINT is a weights file or a checkpoint folder. Choose on `valid`, never on `test`.
"""

from __future__ import annotations

import asyncio
import collections
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.progress import Progress

from common.config import ConfigError, check_flags
from common.lean import Theorem
from common.limits import Natural, Nucleus, Positive, Temperature
from common.messages import Attempt, AttemptOutcome, AttemptResult, Purpose
from common.sampling import SAMPLES, Sampling
from node.bank import bank
from node.learner.data import SAMPLE_SEED
from node.model.checkpoint import CheckpointError
from node.model.weights import WeightsError
from node.prover.agent import Agent
from node.prover.exploration import ExploringPolicy
from node.prover.policy import Policy
from node.prover.settings import ProverSettings
from node.proving.local_lean import LocalEnvironment
from node.proving.own_policy import own_policy
from scripts.bank.fixed_search import TACTIC_SECONDS, local_requests
from scripts.bench._report import asked, machine, report


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
        sampling = Sampling(arguments.temperature, arguments.top_p, arguments.distinct)
        network = own_policy(arguments.checkpoint, threads=arguments.threads, sampling=sampling)
        async with local_requests(arguments.workers) as requests, network as policy:
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
