"""The list of benchmarks, and how one is run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.bench.__main__ import benchmarks
from scripts.bench.harness import report
from scripts.bench.prove import Fill

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "node.command.cli", "bench", *arguments]
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


def test_an_evaluation_is_measured_beside_its_searches(tmp_path: Path) -> None:
    done = bench("eval", "--limit", "4", "--simulations", "2", "--rounds", "1", "--json", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    bare, evaluated = found["rounds"][0]["solved"]
    assert bare == evaluated
    assert found["medians"]["over_bare"] > 0


def test_a_report_has_the_files_that_were_asked_for(tmp_path: Path) -> None:
    settings = Fill(files=(Path("A.lean"),), json=tmp_path / "out.json")
    report({"asked": settings.asked()}, settings.json)
    assert json.loads((tmp_path / "out.json").read_text())["asked"]["files"] == ["A.lean"]


def test_a_part_is_also_found_by_the_name_of_its_bench() -> None:
    assert "proofmesh bench verify" in bench("lean", "verify", "--help").stdout
    assert "name a part of it: loop, scale, matchmaker" in bench("mesh").stderr


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--policy", "own:nowhere"], "there is no such checkpoint"),
        (["--limit", "0"], "--limit"),
        (["--bench", "x"], "no benchmark"),
    ],
)
def test_what_cannot_be_measured_is_said(flags: list[str], reason: str) -> None:
    done = bench("eval", *flags)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_the_choice_of_theorems_is_measured_over_a_whole_bank(tmp_path: Path) -> None:
    sizes = ("--statements", "3000", "--choices", "700", "--attempts", "2000", "--curriculum")
    done = bench("matchmaker", *sizes, "--json", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert 0 < found["assign_ms"]["p50"] <= found["assign_ms"]["p99"] and found["record_ms"]["p50"] > 0
    assert found["restore_cpu_s"] > 0 and found["fill_cpu_s"] > 0
