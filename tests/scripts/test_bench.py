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
