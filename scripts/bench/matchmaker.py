"""What a learner's choice of the next theorem costs, and the memory of a bank: by default 100,000 statements.

    python -m scripts.bench.matchmaker [--statements 100000] [--choices 2000] [--json OUT]

The bank is read as a learner reads it, from files with the lengths of Lean-Workbook's statements. A choice counts with
what it changes: the attempt is outstanding, and later its result is recorded.
"""

from __future__ import annotations

import gzip
import resource
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import tyro

from scripts.bench._report import asked, report

OUTSTANDING = 512
"""Attempts that wait for their results, in a mesh with hundreds of searches."""

OUTCOMES = ("failed", "failed", "failed", "proved")


@dataclass
class MatchmakerBenchSettings:
    """Times of choices, and memory of a bank."""

    statements: int = 100_000
    """Train statements."""
    choices: int = 2_000
    """Choices that are measured."""
    json: Path | None = None
    """Write the numbers here as well."""


def write_bank(folder: Path, statements: int) -> None:
    """A bank without transitions, with one header and statements of about 120 characters."""
    header = "import Mathlib\nimport Aesop\nset_option maxHeartbeats 400000\nopen BigOperators Real Nat Topology Rat"
    with gzip.open(folder / "train.jsonl.gz", "wb", compresslevel=1) as file:
        for number in range(statements):
            row = {
                "name": f"lean_workbook_{number}",
                "binders": "(x y z : ℝ) (hx : 0 < x) (hy : 0 < y) (hz : 0 < z)",
                "conclusion": f"x ^ 2 + y ^ 2 + z ^ 2 + {number} ≥ x * y + y * z + z * x",
                "family": "lean-workbook",
                "level": 1,
                "header": header,
            }
            file.write(msgspec.json.encode(row) + b"\n")


def resident_mb() -> float:
    """Memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def measure(settings: MatchmakerBenchSettings, folder: Path) -> dict[str, Any]:
    """Read the bank, then choose."""
    from node.learner import data
    from node.learner.matchmaker import Matchmaker
    from node.learner.settings import LearnerSettings

    learner = LearnerSettings(bank=str(folder))
    learner.warm_start.checkpoint = "none"
    before = resident_mb()
    began = time.perf_counter()
    loaded = data.load(learner, folder / "segments")
    read = time.perf_counter() - began
    with_statements = resident_mb()
    matchmaker = Matchmaker([row.theorem.name for row in loaded.train], learner.matchmaker, seed=0)
    with_matchmaker = resident_mb()
    assign, record = [], []
    waiting: list[tuple[str, bool]] = []
    for number in range(settings.choices):
        began = time.perf_counter()
        choice = matchmaker.choose(number)
        if choice is None:
            break
        matchmaker.dispatched(choice.theorem_id)
        assign.append((time.perf_counter() - began) * 1e3)
        waiting.append((choice.theorem_id, choice.disproof))
        if len(waiting) > OUTSTANDING:
            theorem_id, disproof = waiting.pop(0)
            began = time.perf_counter()
            matchmaker.recorded(theorem_id, disproof, OUTCOMES[number % len(OUTCOMES)])
            record.append((time.perf_counter() - began) * 1e3)
    return {
        "settings": asked(settings),
        "read_s": round(read, 2),
        "statements_mb": round(with_statements - before, 1),
        "matchmaker_mb": round(with_matchmaker - with_statements, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "assign_ms": quantiles(assign),
        "record_ms": quantiles(record),
    }


def quantiles(times: list[float]) -> dict[str, float]:
    """The median, and what one in a hundred passes."""
    if len(times) < 2:
        return {}
    return {"p50": round(statistics.median(times), 4), "p99": round(statistics.quantiles(times, n=100)[98], 4)}


def main() -> None:
    """Measure and report."""
    settings = tyro.cli(MatchmakerBenchSettings)
    with tempfile.TemporaryDirectory(prefix="proofmesh-bench-") as folder:
        write_bank(Path(folder), settings.statements)
        for name in ("valid", "test"):
            (Path(folder) / f"{name}.jsonl.gz").write_bytes(gzip.compress(b""))
        (Path(folder) / "segments").mkdir()
        report(measure(settings, Path(folder)), settings.json)


if __name__ == "__main__":
    main()
