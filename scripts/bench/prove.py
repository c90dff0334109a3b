"""Bench `prove`: proofs for people: the time of a command, gaps of files, evaluations."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from rich.progress import track

from common.limits import Positive
from common.output.terminal import Console
from common.output.visible import say
from common.protocol.attempts import AttemptOutcome, AttemptResult
from common.settings import LeanSettings
from node.bank.bank import BankError
from node.bank.benchmarks import check_lean, load_benchmark
from node.command.evaluate.command import EvalSettings, plan_of
from node.eval.alone import LoneVenue
from node.eval.folder import EvaluationFolder, Plan, Standing, StatementRecord, read
from node.eval.live import LiveView
from node.eval.outputs import write_outputs
from node.eval.player import Runner, Slots, attempt_of, due, open_player
from node.eval.statements import chosen
from node.lean.check.files.commands import PROOFS
from node.lean.check.files.compiling import Compiler
from node.lean.check.files.verifier import FileVerifier
from node.lean.gaps.gap import CommandSpan, spans
from node.lean.process.fresh import Limits
from node.lean.settings import LeanProcessSettings
from node.lean.text.lexing import blanked, mentions, outside_brackets
from node.lean.toolchain.find import confined_toolchain
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.prover.policies.names import BadPolicy
from scripts.bench.harness import CLI, Part, Results, machine, memory_below

# ----------------------------------------------------------------------------------------------------------------------
# The time of the command.

STATEMENTS = (
    "theorem t (p q : Prop) : p ∧ q → q ∧ p",
    "theorem t (n : Nat) : n + 0 = n",
    "theorem t (α : Type) (p : α → Prop) : (∀ x, p x) ↔ ¬ ∃ x, ¬ p x",
    "theorem t (a b c : Nat) (h : a ≤ b) : a + c ≤ b + c",
)
"""Easy statements, so that the search itself takes little of the time."""

LOOK_SECONDS = 0.05
"""Seconds between two measurements of memory."""

CONDITIONS = ("idle", "busy", "one core")


@dataclass
class Latency(Part):
    """Measures the latency of `proofmesh prove` from the shell: wall time and memory; idle, busy, and on one core.

    Each run is its own process, as if typed into a shell. `busy`: at the same time, an endless computation runs on each
    core. Memory is the peak of the private memory of the command and its Lean processes.
    """

    runs: int = 5
    """Runs of each statement in each condition."""

    def measure(self) -> Results:
        """Medians and extremes in each condition."""
        once([], STATEMENTS[0])  # warm-up: loads the files from the disk
        numbers = {name: self.under(name) for name in CONDITIONS}
        return {"asked": self.asked(), "machine": machine(), **numbers}

    def under(self, name: str) -> Results:
        """Medians and extremes in a condition."""
        with condition(name) as before:
            rows = [once(before, statement) for _ in range(self.runs) for statement in STATEMENTS]
        seconds = sorted(row.seconds for row in rows)
        return {
            "runs": len(rows),
            "proved": sum(row.proved for row in rows),
            "seconds_median": round(statistics.median(seconds), 2),
            "seconds_longest": round(seconds[-1], 2),
            "megabytes_most": round(max(row.megabytes for row in rows)),
        }


@dataclass(frozen=True)
class Run:
    seconds: float
    megabytes: float
    proved: bool


@contextmanager
def condition(name: str) -> Iterator[list[str]]:
    """Create a condition while the block runs, and yield the prefix of the command."""
    load: list[subprocess.Popen[bytes]] = []
    if name == "busy":
        cores = os.sched_getaffinity(0)
        load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in cores]
    try:
        yield ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if name == "one core" else []
    finally:
        for process in load:
            process.kill()
            process.wait()


def once(before: list[str], statement: str) -> Run:
    """Run the command once."""
    command = [*before, *CLI, "prove", statement]
    started, most = time.monotonic(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        most = max(most, sum(memory_below(process.pid)))
        time.sleep(LOOK_SECONDS)
    return Run(time.monotonic() - started, most, process.returncode == 0)


# ----------------------------------------------------------------------------------------------------------------------
# Gaps of files.

FIXTURES = Path(__file__).parents[2] / "tests" / "node" / "lean" / "toolchain" / "pocket" / "ordinary"


@dataclass
class Fill(Part):
    """Measures how many gaps `proofmesh fill` fills if every second proof of a file is replaced by `sorry`.

        proofmesh bench fill [FILE...] [--seconds 20] [--every 2] [--json OUT]

    `proofmesh fill --write --again` runs in its own process on a copy of each file. Then the result is checked
    independently: `verify` must accept every theorem of the file, and all bytes outside the gaps must be unchanged.
    Without files, it uses the fixtures of the tests of `verify`.
    """

    files: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Lean files without `sorry`; empty: the fixtures of `verify`."""
    seconds: float = 20.0
    """Time budget for each gap."""
    every: int = 2
    """Replace every n-th proof, beginning with the first one."""
    flags: tuple[str, ...] = ()
    """More flags for `proofmesh fill`."""

    async def measure(self) -> Results:
        """Measure all files."""
        files = self.files or tuple(sorted(FIXTURES.glob("*.lean")))
        verifier = FileVerifier(LeanToolchain.pocket(), at_once=1, seconds=120, memory_mb=2048)
        results: Results = {"asked": self.asked(), "machine": machine(), "files": {}}
        try:
            with tempfile.TemporaryDirectory() as folder:
                for file in files:
                    row = results["files"][file.name] = await filled_file(self, file, Path(folder), verifier)
                    counts = f"{row['filled']:>3} of {row['gaps']:<3}"
                    say(f"{file.name:<28}{counts} {row['wall_s']:>6} s", file=sys.stderr)
        finally:
            await verifier.close()
        rows = results["files"].values()
        gaps, filled = sum(row["gaps"] for row in rows), sum(row["filled"] for row in rows)
        results["all"] = {
            "gaps": gaps,
            "filled": filled,
            "share": round(filled / gaps, 3) if gaps else None,
            "verified": all(row["verified"] for row in rows),
            "bytes_equal_elsewhere": all(row["bytes_equal_elsewhere"] for row in rows),
        }
        return results


async def without_proofs(text: str, every: int, folder: Path) -> str:
    """A file with every n-th proof replaced by `sorry`. Lean gives the positions of its commands."""
    compiler = Compiler(LeanToolchain.pocket(), Limits())
    compiled = await compiler.compile("Main", text, folder, [], salvage=False)
    if compiled.olean is None:
        raise SystemExit(f"proofmesh bench fill: a file does not compile: {compiled.problem or compiled.messages[:1]}")
    pieces, at, code = [], 0, blanked(text)
    commands = spans(compiled.text, compiled.commands, [], text, 0)
    for command in [each for each in commands if each.keyword in PROOFS][::every]:
        place = proof(text, code, command)
        if place is not None:
            pieces += [text[at : place[0]], " := sorry"]
            at = place[1]
    return "".join([*pieces, text[at:]])


def proof(text: str, code: str, command: CommandSpan) -> tuple[int, int] | None:
    """Start (with the spaces before it) and end of a theorem's proof. `code`: the text without comments."""
    end = command.start + len(code[command.start : command.end].rstrip())
    for at in outside_brackets(code, command.start, end):
        cases = code[at] == "|" and not code[code.rfind("\n", 0, at) + 1 : at].strip()
        if code.startswith(":=", at) or cases:
            return command.start + len(text[command.start : at].rstrip()), end
    return None


def equal_elsewhere(gapped: str, filled: str) -> bool:
    """Whether a file is unchanged outside its gaps, except for spaces before a gap."""
    pieces, at = [], 0
    for mention in mentions(gapped):
        pieces.append(re.escape(gapped[at : mention.start].rstrip(" ")))
        at = mention.end
    return re.fullmatch(".*?".join([*pieces, re.escape(gapped[at:])]), filled, re.DOTALL) is not None


async def filled_file(settings: Fill, file: Path, folder: Path, verifier: FileVerifier) -> Results:
    """Measure one file."""
    # 1. A copy with every n-th proof left out.
    place = Path(tempfile.mkdtemp(dir=folder))
    text = file.read_text(encoding="utf-8")
    gapped = await without_proofs(text, settings.every, place)
    copy = place / file.name
    copy.write_text(gapped, encoding="utf-8")
    # 2. Fill it, as a person would.
    command = [*CLI, "fill", str(copy), "--json", "--write", "--again"]
    command += ["--seconds", str(settings.seconds), *settings.flags]
    started = time.monotonic()
    completed = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    wall = time.monotonic() - started
    if not completed.stdout.startswith("{"):
        raise SystemExit(
            f"proofmesh bench fill: {file}: fill ended with code {completed.returncode}: {completed.stderr[-500:]}"
        )
    gaps = json.loads(completed.stdout)["files"][0]["gaps"]
    # 3. Check the file independently of what `fill` reports.
    written = copy.read_text(encoding="utf-8")
    verdicts = (await verifier.verify_text(written)).declarations
    refused = [verdict for verdict in verdicts if not verdict.accepted and "uses sorry" not in verdict.reason]
    filled = [gap for gap in gaps if gap["state"] == "filled"]
    times = sorted(gap["seconds"] for gap in filled)
    return {
        "gaps": len(gaps),
        "filled": len(filled),
        "median_s": round(statistics.median(times), 2) if times else None,
        "longest_s": round(times[-1], 2) if times else None,
        "wall_s": round(wall, 1),
        "verified": not refused and len(mentions(written)) == len(gaps) - len(filled),
        "bytes_equal_elsewhere": equal_elsewhere(gapped, written),
        "left": {
            f"{gap['theorem']} (line {gap['line']}): {gap['goal'].partition('⊢')[2].strip()}": gap["reason"]
            for gap in gaps
            if gap["state"] != "filled"
        },
    }


# ----------------------------------------------------------------------------------------------------------------------
# Evaluations beside their searches.


@dataclass
class Eval(Part):
    """Measures the overhead of `proofmesh eval`: times of the same searches bare, with verification, and evaluated.

        proofmesh bench eval [--policy tactics] [--limit 60] [--simulations 16] [--rounds 3] [--lean.imports ...]

    `bare` runs only the searches, with the same concurrency. `verified` adds one verification of all their proofs
    together. `evaluated` does everything that the command does: it verifies each proof while other searches go on,
    saves records, draws a live table and writes results. In each round, all three run one after another; ratios are
    within a round. The median of the rounds is reported.
    """

    policy: str = "tactics"
    """The policy, as for `proofmesh eval`."""
    bench: str = "pocket:valid"
    limit: Positive = 60
    """Number of statements."""
    simulations: Positive = 16
    """Budget of a search."""
    rounds: Positive = 3
    lean: LeanSettings = field(default_factory=LeanSettings)
    """Which Lean, and the header of the statements (`--lean.imports`)."""

    problems = (BankError, BadPolicy)

    async def measure(self) -> Results:
        """Measure all rounds."""
        settings = LeanProcessSettings(lean=self.lean)
        toolchain = await confined_toolchain(settings.lean)
        venue = LoneVenue(toolchain, settings, self.policy)
        benchmark = load_benchmark(self.bench)
        check_lean(benchmark, toolchain)
        statements = chosen(benchmark, self.limit)
        plan = plan_of(EvalSettings(self.bench, simulations=self.simulations), benchmark, statements, venue)
        work = Work(venue, plan, statements)
        rounds: list[Results] = []
        for _ in track(range(self.rounds), "rounds", transient=True):
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
        middle = {name: statistics.median(each[name] for each in rounds) for name in ("over_bare", "over_verified")}
        return {"asked": self.asked(), "machine": machine(), "rounds": rounds, "medians": middle}


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
