"""The list of benchmarks, and how one is run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.bench.__main__ import benchmarks

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "node.mesh.cli", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_benchmark_is_listed_with_what_it_measures() -> None:
    done = bench()
    assert done.returncode == 0
    assert benchmarks()
    for name, line in benchmarks().items():
        assert name in done.stdout
        assert len(line) > 20, f"{name}: the first line of its docstring says what it measures"


def test_a_benchmark_gets_its_arguments() -> None:
    done = bench("search", "--help")
    assert done.returncode == 0, done.stderr
    assert "simulations" in done.stdout


def test_an_unknown_benchmark_is_refused() -> None:
    done = bench("nothing")
    assert done.returncode == 2
    assert "no benchmark `nothing`" in done.stderr
