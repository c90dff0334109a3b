"""The list of benchmarks, and how one is run."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from node.command import cli
from scripts.bench.__main__ import benchmarks
from tests.commands import Called, Run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(called: Called, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in this process, in the checkout: its default files are there."""
    monkeypatch.chdir(ROOT)
    return partial(called, cli.main, "bench")


def test_every_benchmark_is_listed_with_what_it_measures(bench: Run) -> None:
    done = bench()
    assert done.code == 0
    assert benchmarks()
    for name, line in benchmarks().items():
        assert name in done.out
        assert len(line) > 20, f"{name}: the first line of its docstring says what it measures"


def test_an_unknown_benchmark_is_refused(bench: Run) -> None:
    done = bench("nothing")
    assert done.code == 2
    assert "no benchmark `nothing`" in done.err


@pytest.mark.lean
def test_an_evaluation_is_measured_beside_its_searches(bench: Run, tmp_path: Path) -> None:
    done = bench("eval", "--limit", "3", "--simulations", "2", "--rounds", "1", "--json", str(tmp_path / "out.json"))
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "out.json").read_text())
    bare, evaluated = found["rounds"][0]["solved"]
    assert bare == evaluated
    assert found["medians"]["over_bare"] > 0


def test_a_part_is_also_found_by_the_name_of_its_bench(bench: Run) -> None:
    assert "proofmesh bench verify" in bench("lean", "verify", "--help").out
    assert "name a part of it: loop, scale, matchmaker" in bench("mesh").err


def test_the_choice_of_theorems_is_measured_over_a_whole_bank(bench: Run, tmp_path: Path) -> None:
    sizes = ("--statements", "3000", "--choices", "700", "--attempts", "2000", "--curriculum")
    done = bench("matchmaker", *sizes, "--json", str(tmp_path / "out.json"))
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "out.json").read_text())
    assert 0 < found["assign_ms"]["p50"] <= found["assign_ms"]["p99"] and found["record_ms"]["p50"] > 0
    assert found["restore_cpu_s"] > 0 and found["fill_cpu_s"] > 0
