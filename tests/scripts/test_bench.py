"""The list of benchmarks, and how one is run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from node.model.weights import write
from scripts.bench.__main__ import benchmarks
from tests.node.model.tiny import tiny_weights

pytestmark = pytest.mark.process

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


def test_a_checkpoint_is_scored_on_statements_of_the_bank(tmp_path: Path) -> None:
    """Random weights prove nothing of use, candidates of the fixed list some; either way every search is counted."""
    tiny = tiny_weights()
    write(tmp_path / "tiny.safetensors", tiny.model, tiny.tokenizer)
    files = [tmp_path / "alone.json", tmp_path / "helped.json"]
    sizes = ["--statements", "6", "--simulations", "4"]
    for file, explore in zip(files, ("0", "12"), strict=True):
        done = bench("solve", str(tmp_path / "tiny.safetensors"), *sizes, "--explore", explore, "--json", str(file))
        assert done.returncode == 0, done.stderr
    alone, helped = (json.loads(file.read_text()) for file in files)
    assert alone["statements"] == helped["statements"] == 6
    assert alone["errors"] == helped["errors"] == 0
    assert alone["solved"] < helped["solved"]


@pytest.mark.parametrize(
    ("flags", "reason"), [([], "there is no such weights file"), (["--statements", "0"], "--statements")]
)
def test_what_cannot_be_measured_is_said(flags: list[str], reason: str, tmp_path: Path) -> None:
    done = bench("solve", str(tmp_path / "none.safetensors"), *flags)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_the_choice_of_theorems_is_measured_over_a_whole_bank(tmp_path: Path) -> None:
    done = bench("matchmaker", "--statements", "3000", "--choices", "700", "--json", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert 0 < found["assign_ms"]["p50"] <= found["assign_ms"]["p99"] and found["record_ms"]["p50"] > 0
