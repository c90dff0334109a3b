"""Measures the matchmaker with a large bank (default 100,000 statements): time of a choice, memory, time to restore.

    python -m scripts.bench.matchmaker [--statements 100000] [--choices 2000] [--attempts 100000] [--json OUT]

The bank is read as a learner reads it, from files with statements of Lean-Workbook's lengths. A choice includes its
bookkeeping: the attempt becomes outstanding, and later its result is recorded. `restore_cpu_s` is the time that a
restarted learner needs to read its statistics. `fill_cpu_s` is the time to compute them once from records of an earlier
version, which have no statistics.
"""

from __future__ import annotations

import gzip
import random
import resource
import sqlite3
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import tyro

from scripts.bench._report import asked, report

if TYPE_CHECKING:
    from node.learner.choosing.matchmaker import Matchmaker

OUTSTANDING = 512
"""Number of outstanding attempts, as in a mesh with hundreds of searches."""

OUTCOMES = ("failed", "failed", "failed", "proved")


@dataclass
class MatchmakerBenchSettings:
    """Measure the matchmaker with a large bank."""

    statements: int = 100_000
    """Number of train statements."""
    choices: int = 2_000
    """Number of measured choices."""
    attempts: int = 100_000
    """Number of results in the records that a matchmaker is restored from."""
    curriculum: bool = False
    """Use the difficulty curriculum and retries."""
    json: Path | None = None
    """Also write the results to this file."""


def write_bank(folder: Path, statements: int) -> None:
    """Write a bank without transitions, with one header and statements of about 120 characters."""
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


def write_records(path: Path, names: list[str], attempts: int) -> None:
    """Write records of an earlier version, without statistics: attempts on statements that are drawn uniformly."""
    from common.records.database import migrate
    from common.records.schema import BEFORE_STATISTICS, MIGRATIONS

    generator = random.Random(0)
    database = sqlite3.connect(path, isolation_level=None)
    migrate(database, str(path), MIGRATIONS[:BEFORE_STATISTICS])
    database.execute("BEGIN")
    database.executemany(
        "INSERT INTO theorems (theorem_id, split, binders, conclusion, header, family, level)"
        " VALUES (?, 'train', '', 'True', '', 'lean-workbook', 1)",
        ((name,) for name in names),
    )
    numbers = range(1, attempts + 1)
    database.executemany(
        "INSERT INTO attempts VALUES (?, ?, ?, ?, 250, NULL, NULL, 0.0)",
        ((n, f"run-{n}", generator.choice(names), generator.choice(("train", "disprove"))) for n in numbers),
    )
    database.executemany(
        "INSERT INTO results (attempt_id, prover_id, outcome, message, simulations, expansions, seconds,"
        " weights_first, weights_last, recorded) VALUES (?, 'prover', ?, '', 250, 250, 9.0, 1, 1, 0.0)",
        ((f"run-{n}", OUTCOMES[n % len(OUTCOMES)]) for n in numbers),
    )
    database.execute("COMMIT")
    database.close()


def restored(matchmaker: Matchmaker, path: Path) -> dict[str, float]:
    """Restore a matchmaker from records. Returns the processor seconds to fill the statistics, and to restore."""
    from common.records.store import Store

    began = time.process_time()
    store = Store(path)
    filled = time.process_time()
    matchmaker.restore(store.standings(), store.outstanding_theorems(), store.recent(1000))
    done = time.process_time()
    store.close()
    return {"fill_cpu_s": round(filled - began, 3), "restore_cpu_s": round(done - filled, 3)}


def resident_mb() -> float:
    """Resident memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def measure(settings: MatchmakerBenchSettings, folder: Path) -> dict[str, Any]:
    """Read the bank, then choose."""
    from node.learner.algorithms.algorithm import named
    from node.learner.choosing import data
    from node.learner.choosing.matchmaker import CurriculumSettings, Matchmaker, groups_of
    from node.learner.settings import LearnerSettings

    learner = LearnerSettings(bank=str(folder))
    learner.warm_start.checkpoint = "none"
    before = resident_mb()
    began = time.perf_counter()
    loaded = data.load(learner, folder / "segments")
    read = time.perf_counter() - began
    with_statements = resident_mb()
    if settings.curriculum:
        learner.matchmaker.curriculum = CurriculumSettings(sharpness=4.0, retry_share=0.2)
    names = [row.theorem.name for row in loaded.train]
    matchmaker = Matchmaker(names, learner.matchmaker, 0, groups=groups_of(loaded.train))
    algorithm = named(learner)
    with_matchmaker = resident_mb()
    write_records(folder / "proofs.sqlite", names, settings.attempts)
    restoring = restored(matchmaker, folder / "proofs.sqlite")
    assign, record = [], []
    waiting: list[tuple[str, bool]] = []
    for number in range(settings.choices):
        began = time.perf_counter()
        choice = algorithm.choose(matchmaker, number)
        if choice is None:
            break
        matchmaker.dispatched(choice.theorem_id)
        assign.append((time.perf_counter() - began) * 1e3)
        waiting.append((choice.theorem_id, choice.disproof))
        # Results come in the order of the choices, so that the number of outstanding attempts is constant.
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
        **restoring,
    }


def quantiles(times: list[float]) -> dict[str, float]:
    """Median and 99th percentile."""
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
