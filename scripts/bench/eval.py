"""Measures the overhead of `proofmesh eval`: times of the same searches bare, with verification, and as an evaluation.

    proofmesh bench eval [--policy tactics] [--limit 60] [--simulations 16] [--rounds 3] [--json OUT]

`bare` runs only the searches, with the same concurrency. `verified` adds one verification of all their proofs together.
`evaluated` does everything that the command does: it verifies each proof while other searches go on, saves records,
draws a live table and writes results. In each round, all three run one after another; ratios are within a round. The
median of the rounds is reported.
"""

from __future__ import annotations

import asyncio
import io
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.progress import track

from common.config import ConfigError, check_flags
from common.limits import Positive
from common.output.terminal import Console
from common.output.visible import say
from common.protocol.attempts import AttemptOutcome, AttemptResult
from node.bank.benchmarks import BenchmarkError, check_lean, load_benchmark
from node.command.evaluate.command import EvalSettings
from node.command.evaluate.run import plan_of
from node.eval.alone import TACTIC_SECONDS, LonePlayer, LoneVenue
from node.eval.folder import EvaluationFolder, read
from node.eval.live import LiveView
from node.eval.outputs import write_outputs
from node.eval.plan import Plan
from node.eval.player import attempt_of
from node.eval.records import Standing, StatementRecord
from node.eval.running import Runner, due
from node.eval.statements import chosen
from node.lean.settings import LeanProcessSettings
from node.lean.text.script import proof_script
from node.prover.agents.agent import Agent
from node.prover.methods.by_name import needs_messages
from node.prover.policies.names import BadPolicy
from node.proving.local_lean import LocalLean, local_lean
from node.proving.policies import OpenedPolicy, open_policy
from node.proving.starting import confined_toolchain
from scripts.bench._report import asked, machine, report


@dataclass
class EvalBenchSettings:
    """Compare the time of an evaluation with that of its searches."""

    policy: str = "tactics"
    """The policy, as for `proofmesh eval`."""
    bench: str = "pocket:valid"
    limit: Positive = 60
    """Number of statements."""
    simulations: Positive = 16
    """Budget of a search."""
    rounds: Positive = 3
    json: Path | None = None
    """Also write the results to this file."""


@dataclass(frozen=True)
class Work:
    """The searches of every round."""

    venue: LoneVenue
    plan: Plan
    statements: Sequence[StatementRecord]
    settings: LeanProcessSettings


async def bare(work: Work) -> tuple[float, float, int]:
    """Seconds of the searches alone, seconds to verify all their proofs at once, and the number of accepted proofs."""
    opening = open_policy(work.venue.parts, strict=True)
    async with local_lean(work.settings, work.venue.toolchain) as lean, opening as policy:
        slots = LonePlayer(work.plan, lean, policy, searches=work.venue.searches).slots
        began = time.perf_counter()

        async def search(statement: StatementRecord) -> AttemptResult:
            await slots.enter()
            try:
                return await played(work, statement, lean, policy)
            finally:
                slots.give_back()

        results = await asyncio.gather(*map(search, work.statements))
        searched = time.perf_counter()
        proofs = [
            (statement.theorem.renamed(), proof_script(result.proof))
            for statement, result in zip(work.statements, results, strict=True)
            if result.outcome is AttemptOutcome.PROVED and result.proof is not None
        ]
        verdicts = await asyncio.gather(*(lean.verifier.verify(*proof) for proof in proofs))
        return searched - began, time.perf_counter() - searched, sum(each.accepted for each in verdicts)


async def played(work: Work, statement: StatementRecord, lean: LocalLean, policy: OpenedPolicy) -> AttemptResult:
    """Play one search."""
    attempt = attempt_of(work.plan, statement, 0, statement.name)
    environment = lean.environment(statement.theorem, TACTIC_SECONDS, messages=needs_messages(attempt.method))
    parameters, leaves = policy.parameters, work.plan.leaves
    return await Agent(
        attempt, policy.policy, environment, prover_id="bench", leaves=leaves, parameters=parameters
    ).play()


async def evaluated(work: Work) -> tuple[float, int]:
    """Seconds of the same searches as an evaluation, and the number of solved statements."""
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with tempfile.TemporaryDirectory() as path, EvaluationFolder(Path(path) / "eval") as folder:
        folder.begin(work.plan)
        folder.write(work.plan, work.statements)
        async with work.venue.player(work.plan) as player:
            began = time.perf_counter()
            with LiveView(work.plan, work.statements, (), len(work.statements), console) as live:
                await Runner(player, folder, asyncio.Event(), live.recorded).run(due(work.statements, (), 1))
            results = write_outputs(read(folder.path), 1)
            return time.perf_counter() - began, results.standings[Standing.SOLVED]


async def measure(arguments: EvalBenchSettings) -> dict[str, Any]:
    """Measure all rounds. Raises BenchmarkError, BadPolicy."""
    settings = LeanProcessSettings()
    toolchain = await confined_toolchain(settings.lean)
    venue = LoneVenue(toolchain, settings, arguments.policy)
    benchmark = load_benchmark(arguments.bench)
    check_lean(benchmark, toolchain)
    statements = chosen(benchmark, arguments.limit)
    plan = plan_of(EvalSettings(arguments.bench, simulations=arguments.simulations), benchmark, statements, venue)
    work = Work(venue, plan, statements, settings)
    rounds = []
    for _ in track(range(arguments.rounds), "rounds", transient=True):
        search, verify, accepted = await bare(work)
        seconds, solved = await evaluated(work)
        rounds.append(
            {
                "bare_s": round(search, 2),
                "verification_s": round(verify, 2),
                "evaluated_s": round(seconds, 2),
                "solved": [accepted, solved],
                "over_bare": round(seconds / search, 3),
                "over_verified": round(seconds / (search + verify), 3),
            }
        )
    medians = {
        name: statistics.median(float(str(each[name])) for each in rounds) for name in ("over_bare", "over_verified")
    }
    return {"rounds": rounds, "medians": medians}


def main() -> int:
    arguments = tyro.cli(EvalBenchSettings, description=__doc__)
    try:
        check_flags(arguments)
        numbers = asyncio.run(measure(arguments))
    except (ConfigError, BenchmarkError, BadPolicy) as error:
        say(f"proofmesh bench eval: {error}", file=sys.stderr)
        return 2
    report({"asked": asked(arguments), "machine": machine(), **numbers}, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
