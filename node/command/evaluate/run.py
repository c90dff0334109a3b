"""Runs `proofmesh eval`: reads the benchmark, plays the missing attempts, writes the results."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import importlib.metadata
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from common.life.waiting import ended_by
from common.output.terminal import Console, line, lines
from common.output.visible import escaped_json
from node.bank.benchmarks import POCKET, Benchmark, check_lean, load_benchmark
from node.command.evaluate.command import DONE, EVALUATIONS, INTERRUPTED, EvalSettings
from node.eval import cost
from node.eval.folder import Evaluation, EvaluationFolder, read
from node.eval.live import LiveView
from node.eval.outputs import PICTURE, PROOFS, REPORT, RESULTS, summary_lines, write_outputs
from node.eval.plan import Budgets, LeanFacts, Plan, identity
from node.eval.player import open_player
from node.eval.records import StatementRecord
from node.eval.results import Results
from node.eval.running import Runner, due
from node.eval.statements import chosen, facts_of, with_refusals
from node.eval.venue import Venue
from node.prover.service import GC_THRESHOLDS

SESSION_EVERY = 5.0
"""Seconds between notes of the time and CPU that this process has used. After a kill, at most this much is not
counted."""


async def evaluate(settings: EvalSettings) -> int:
    """The command; returns the exit code. Raises BankError, FolderError, BadPolicy, LeanProblem, UsageProblem,
    EvaluationFailed, ProvingFailed, BusError."""
    gc.set_threshold(*GC_THRESHOLDS)  # the same as in a prover
    call = _Call(settings, Console(stderr=True), asyncio.Event())
    with ended_by(signal.SIGINT, signal.SIGTERM, stopping=call.stopping):
        # Names are often mistyped: they are checked before Lean starts and before the broker is asked.
        policy = settings.policy if settings.url else call.checked_policy()
        benchmark = load_benchmark(settings.bench, data=settings.data, revision=settings.revision)
        async with _venue(call, policy) as venue:
            if venue.toolchain is not None:
                check_lean(benchmark, venue.toolchain)
            return await call.evaluate(venue, benchmark)


@dataclass
class _Call:
    """One call of the command."""

    settings: EvalSettings
    console: Console
    """For messages to the user; results go to standard output."""
    stopping: asyncio.Event

    def note(self, text: str) -> None:
        """Print a message to the user."""
        self.console.print(lines(f"proofmesh eval: {text}"), soft_wrap=True)

    def checked_policy(self) -> str:
        """The policy that this process evaluates, after a check that it can be opened. Raises BadPolicy."""
        from node.play.policies import check, of_the_demo

        settings = self.settings
        policy = settings.policy or (f"own:{settings.checkpoint}" if settings.checkpoint else "")
        if not policy:
            demo = of_the_demo(self.note)
            policy = f"own:{demo}" if demo else "tactics"
            self.note(f"no --policy given: evaluating {policy}")
        check(policy, settings.method, settings.then, settings.correct)
        return policy

    async def evaluate(self, venue: Venue, benchmark: Benchmark) -> int:
        """Play the missing attempts, and write the results."""
        settings = self.settings
        for note in benchmark.notes:
            self.note(f"{benchmark.spec}: {note}")
        if benchmark.unread:
            self.note(describe_unread(benchmark))
        statements = chosen(benchmark, settings.limit)
        plan = plan_of(settings, benchmark, statements, venue)
        with EvaluationFolder(settings.out or EVALUATIONS / name_of(plan)) as folder:
            evaluation = folder.begin(plan)
            if not evaluation.statements:
                statements = await self._elaborated(venue, benchmark, statements)
                folder.write(plan, statements)
                evaluation = Evaluation(folder.path, plan, tuple(statements), ())
            await self._play(venue, folder, evaluation)
            # In a thread: drawing takes seconds, and a second Ctrl-C must still work.
            results = await asyncio.to_thread(write_outputs, read(folder.path), settings.passes)
        printed(results, folder.path, json=settings.json)
        if self.stopping.is_set():
            self.note(f"interrupted; {results.missing} attempts are missing: the same command plays them")
            return INTERRUPTED
        return DONE

    async def _elaborated(
        self, venue: Venue, benchmark: Benchmark, statements: Sequence[StatementRecord]
    ) -> list[StatementRecord]:
        """Elaborate all statements, and add Lean's error to those that it refuses. Statements of our own bank are known
        to be accepted and are not elaborated; if one is refused, its attempt reports it."""
        refused = {} if benchmark.spec.partition(":")[0] == POCKET else await venue.refusals(statements)
        if refused:
            self.note(describe_refusals(refused, len(statements), venue.lean))
        return with_refusals(statements, refused)

    async def _play(self, venue: Venue, folder: EvaluationFolder, evaluation: Evaluation) -> None:
        """Play the missing attempts."""
        plan, passes = evaluation.plan, self.settings.passes
        missing = due(evaluation.statements, evaluation.attempts, passes)
        if not missing or self.stopping.is_set():
            return
        if evaluation.attempts:
            self.note(f"{folder.path}: resuming, {len(missing)} attempts are missing")
        total = sum(not each.refused for each in evaluation.statements) * passes
        live = LiveView(plan, evaluation.statements, evaluation.attempts, total, self.console)
        async with open_player(venue, plan) as player, _session(venue, folder):
            with live:
                await Runner(player, folder, self.stopping, live.recorded).run(missing)


@asynccontextmanager
async def _venue(call: _Call, policy: str) -> AsyncIterator[Venue]:
    """The venue that plays the attempts: a mesh, or this process. Raises LeanProblem, BadPolicy, ProvingFailed,
    UsageProblem."""
    settings = call.settings
    if settings.url:
        from node.eval.over_mesh import mesh_venue

        plays = (settings.method, settings.then, settings.correct)
        async with mesh_venue(settings.url, settings.run, policy, settings.searches, call.note, plays) as venue:
            yield venue
        return
    # Imported only here, because with a mesh (--url) this process needs no Lean and no policy.
    from node.eval.alone import LoneVenue
    from node.lean.settings import LeanProcessSettings
    from node.lean.toolchain.find import confined_toolchain

    processes = LeanProcessSettings(lean=settings.lean, workers=settings.workers)
    toolchain = await confined_toolchain(settings.lean)
    yield LoneVenue(
        toolchain,
        processes,
        policy,
        searches=settings.searches,
        models=settings.models,
        premises=settings.premises,
        progress=settings.progress,
        guidance=settings.guidance,
        note=call.note,
    )


def describe_unread(benchmark: Benchmark) -> str:
    """How many rows are not statements, and the reason for the first of them."""
    name, reason = benchmark.unread[0][:2]
    first = "the first is" if len(benchmark.unread) > 1 else "it is"
    return f"{len(benchmark.unread)} of {benchmark.rows} rows are not statements; {first} {name}: {reason}"


def describe_refusals(refused: Mapping[str, str], statements: int, lean: LeanFacts) -> str:
    """How many statements Lean refuses, its most frequent error, and a hint."""
    reasons = Counter(reason.strip().partition("\n")[0][:160] for reason in refused.values())
    reason, count = reasons.most_common(1)[0]
    which = f"most frequent error ({count} times)" if count > 1 else "for example" if len(refused) > 1 else "error"
    text = f"this Lean refuses {len(refused)} of {statements} statements; {which}: {reason}"
    if "unknown module" in reason and "project" not in lean.library:
        text += " (use --lean.project with a Lake project that has these modules)"
    return text


def plan_of(settings: EvalSettings, benchmark: Benchmark, statements: Sequence[StatementRecord], venue: Venue) -> Plan:
    """The plan of the evaluation, from flags and venue."""
    return Plan(
        benchmark=facts_of(benchmark, statements),
        lean=venue.lean,
        policy=venue.policy,
        label=venue.label,
        weights=venue.weights,
        method=settings.method,
        budgets=Budgets(
            simulations=settings.simulations, lean_attempts=settings.lean_attempts, seconds=settings.seconds
        ),
        samples=settings.samples,
        correct=settings.correct,
        then=settings.then,
        sampling=venue.sampling or settings.sampling,
        leaves=venue.leaves,
        seed=settings.seed,
        passes=settings.passes,
        mesh=venue.mesh,
        proofmesh=importlib.metadata.version("proofmesh"),
    )


def name_of(plan: Plan) -> str:
    """The default folder name of an evaluation. Equal plans, which may continue in the same folder, get equal names."""
    digest = hashlib.blake2b(identity(plan), digest_size=3).hexdigest()
    parts = (plan.benchmark.name, plan.benchmark.split, plan.policy, plan.method)
    words = (re.sub(r"[^\w.+]+", "-", Path(part).name if "/" in part else part).strip("-") for part in parts)
    return "-".join([*filter(None, words), digest])[-120:]


@asynccontextmanager
async def _session(venue: Venue, folder: EvaluationFolder) -> AsyncIterator[None]:
    """Record the time and CPU seconds of this process, every few seconds and at the end."""
    began = time.monotonic()

    def note() -> None:
        folder.note_session(time.monotonic() - began, cost.own_cpu(), venue.lean_cpu())

    async def keep() -> None:
        while True:
            await asyncio.sleep(SESSION_EVERY)
            note()

    keeping = asyncio.create_task(keep())
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        note()


# --- the final output of `proofmesh eval`: the results and their files, or one JSON object ----------------------------

MANY = 4
"""From this number of additional proof files on, only their number is printed."""


def printed(results: Results, folder: Path, *, json: bool) -> None:
    """Print the results. They must already be in the folder."""
    if json:
        sys.stdout.write(escaped_json((folder / RESULTS).read_text(encoding="utf-8")))
        return
    console = Console()
    console.print(summary_lines(results))
    more_files = sorted(file.name for file in folder.glob(f"{Path(PROOFS).stem}-*.lean"))
    many = f"{PROOFS} and {len(more_files)} more files of proofs"
    shown = [PROOFS, *more_files] if len(more_files) < MANY else [many]
    console.print(line(f"in {folder}: {', '.join([REPORT, PICTURE, RESULTS, *shown])}"))
