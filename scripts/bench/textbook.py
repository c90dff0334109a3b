"""Measures how many statements of introductory courses are proved and verified within 20 s each.

    proofmesh bench textbook [--file second.txt] [--policy own:runs/demo] [--seconds 20] [--json OUT]

The statements are proved one after another in one process, as by `proofmesh prove`. The list of tactics was developed
with scripts/bench/textbook/first.txt; second.txt was held out.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tyro

from common.config import ConfigError, check_flags
from common.lean import Theorem
from common.limits import Positive, Timeout
from common.output.visible import say
from node.lean.opened import open_lean
from node.lean.settings import LeanProcessSettings
from node.lean.text.statement import StatementError, parse_statement
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanProblem
from node.play.attempts import ProvingFailed
from node.play.checkpoints import BadPolicy
from node.proving.prover import Budget, TheoremProver, local_prover
from node.proving.settings import ProvingSettings
from scripts.bench._report import asked, machine, report

HERE = Path(__file__).parent / "textbook"


@dataclass
class TextbookSettings:
    """Measure the share of textbook statements that are proved."""

    file: Path = HERE / "second.txt"
    """File with one statement per line; lines that do not begin with `theorem` are skipped."""
    policy: str = "tactics"
    """The policy, as for `proofmesh prove`; empty: the newest checkpoint of runs/demo and the list of tactics."""
    seconds: Timeout = 20.0
    """Seconds for each statement."""
    simulations: Positive = 2000
    """Most simulations for each statement."""
    workers: Positive = 2
    """Lean processes."""
    only: tuple[str, ...] = field(default=())
    """Names of statements to prove; empty: all."""
    show: bool = False
    """Print the proofs."""
    json: Path | None = None
    """Also write the results to this file."""


@dataclass
class Row:
    """The result of a statement."""

    name: str
    proved: bool
    by: str
    seconds: float
    simulations: int
    lines: int
    reason: str = ""


def statements(arguments: TextbookSettings) -> list[Theorem]:
    """Read the statements. Raises ConfigError, StatementError."""
    file = arguments.file if arguments.file.exists() else HERE / arguments.file
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    theorems = [parse_statement(line) for line in text.splitlines() if line.startswith("theorem ")]
    return [theorem for theorem in theorems if not arguments.only or theorem.name in arguments.only]


async def prove_all(theorems: list[Theorem], arguments: TextbookSettings) -> list[Row]:
    """Prove the theorems one after another, and verify each proof in fresh processes. Raises ProvingFailed, BadPolicy,
    LeanProblem."""
    lean_settings = LeanProcessSettings(workers=arguments.workers)
    rows = []
    async with (
        open_lean(lean_settings, find(lean_settings.lean)) as lean,
        local_prover(lean, ProvingSettings(policy=arguments.policy), note=print) as prover,
    ):
        for theorem in theorems:
            row, script = await prove_one(prover, theorem, Budget(arguments.seconds, arguments.simulations))
            rows.append(row)
            say(
                f"{'proved' if row.proved else 'failed':<7} {row.seconds:5.1f} s  {row.name:<32} {row.by or row.reason}"
            )
            if arguments.show:
                say("".join(f"    {line}\n" for line in script), end="")
    return rows


async def prove_one(prover: TheoremProver, theorem: Theorem, budget: Budget) -> tuple[Row, tuple[str, ...]]:
    """Prove one theorem; returns the result and the proof script. Raises ProvingFailed, BadPolicy."""
    result = await prover.find(theorem, budget)
    reason = result.reason
    proved = bool(result.script)
    if proved:
        verdict = await prover.verify(theorem, result.script)
        proved, reason = verdict.accepted, verdict.reason
    row = Row(theorem.name, proved, result.by, result.seconds, result.simulations, len(result.script), reason)
    return row, result.script


def table(rows: list[Row]) -> dict[str, Any]:
    """Counts and times."""
    won = [row for row in rows if row.proved]
    times = sorted(row.seconds for row in won)
    return {
        "statements": len(rows),
        "proved": len(won),
        "one_line": sum(row.lines == 1 for row in won),
        "median_seconds": round(times[len(times) // 2], 2) if times else None,
        "simulations": sum(row.simulations for row in rows),
        "by": {by: sum(row.by == by for row in won) for by in sorted({row.by for row in won})},
        "failed": [row.name for row in rows if not row.proved],
    }


def main() -> int:
    arguments = tyro.cli(TextbookSettings, description=__doc__)
    started = time.monotonic()
    try:
        check_flags(arguments)
        rows = asyncio.run(prove_all(statements(arguments), arguments))
    except (ConfigError, StatementError, LeanProblem, BadPolicy, ProvingFailed) as error:
        say(f"proofmesh bench textbook: {error}", file=sys.stderr)
        return 2
    numbers = {**table(rows), "seconds": round(time.monotonic() - started, 1)}
    report({"asked": asked(arguments), "machine": machine(), **numbers}, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
