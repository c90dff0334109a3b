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
from node.eval.alone import LoneVenue
from node.eval.folder import EvaluationFolder, read
from node.eval.live import LiveView
from node.eval.outputs import write_outputs
from node.eval.plan import Plan
from node.eval.player import Slots, attempt_of, open_player
from node.eval.records import Standing, StatementRecord
from node.eval.running import Runner, due
from node.eval.statements import chosen
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.find import confined_toolchain
from node.prover.policies.names import BadPolicy
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


async def bare(work: Work) -> tuple[float, float, int]:
    """Seconds of the searches alone, seconds to verify all their proofs at once, and the number of accepted proofs."""
    async with work.venue.attempts(work.plan) as attempts:
        slots = Slots(work.venue.searches)
        began = time.perf_counter()

        async def search(statement: StatementRecord) -> AttemptResult:
            await slots.enter()
            try:
                attempt = attempt_of(work.plan, statement, 0, statement.name, policy=work.venue.asked)
                return await attempts.play(attempt)
            finally:
                slots.give_back()

        results = await asyncio.gather(*map(search, work.statements))
        searched = time.perf_counter()
        proofs = [
            (statement.theorem, result.proof)
            for statement, result in zip(work.statements, results, strict=True)
            if result.outcome is AttemptOutcome.PROVED and result.proof is not None
        ]
        verdicts = await asyncio.gather(*(attempts.verify(*proof) for proof in proofs))
        return searched - began, time.perf_counter() - searched, sum(each.accepted for each in verdicts)


async def evaluated(work: Work) -> tuple[float, int]:
    """Seconds of the same searches as an evaluation, and the number of solved statements."""
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with tempfile.TemporaryDirectory() as path, EvaluationFolder(Path(path) / "eval") as folder:
        folder.begin(work.plan)
        folder.write(work.plan, work.statements)
        async with open_player(work.venue, work.plan) as player:
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
    work = Work(venue, plan, statements)
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
