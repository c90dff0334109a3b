"""Measures the latency of `proofmesh prove` from the shell: wall time and memory; idle, busy, and on one core.

    proofmesh bench latency [--runs 5] [--json OUT]

Each run is its own process, as if typed into a shell. `busy`: at the same time, an endless computation runs on each
core. Memory is the peak of the private memory of the command and its Lean processes.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import tyro

from node.lean.process.child import descendants, own_mb
from scripts.bench._report import asked, machine, report

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
class LatencySettings:
    """Measure the latency of the command."""

    runs: int = 5
    """Runs of each statement in each condition."""
    json: Path | None = None
    """Also write the results to this file."""


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
    command = [*before, sys.executable, "-m", "node.command.cli", "prove", statement]
    started, most = time.monotonic(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        with contextlib.suppress(psutil.NoSuchProcess, OSError):
            most = max(most, sum(own_mb(psutil.Process(pid)) for pid in [process.pid, *descendants(process.pid)]))
        time.sleep(LOOK_SECONDS)
    return Run(time.monotonic() - started, most, process.returncode == 0)


def measured(name: str, runs: int) -> dict[str, Any]:
    """Medians and extremes in a condition."""
    with condition(name) as before:
        rows = [once(before, statement) for _ in range(runs) for statement in STATEMENTS]
    seconds = sorted(row.seconds for row in rows)
    return {
        "runs": len(rows),
        "proved": sum(row.proved for row in rows),
        "seconds_median": round(statistics.median(seconds), 2),
        "seconds_longest": round(seconds[-1], 2),
        "megabytes_most": round(max(row.megabytes for row in rows)),
    }


def main() -> int:
    arguments = tyro.cli(LatencySettings, description=__doc__)
    once([], STATEMENTS[0])  # warm-up: loads the files from the disk
    numbers = {name: measured(name, arguments.runs) for name in CONDITIONS}
    report({"asked": asked(arguments), "machine": machine(), **numbers}, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
