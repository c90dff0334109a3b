from pathlib import Path

import pytest

from node.command import cli
from scripts.bench.__main__ import benchmarks
from scripts.bench.mesh import summary
from tests.commands import Called

ROOT = Path(__file__).parents[2]


def test_each_benchmark_and_no_other_is_listed_and_explained(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # its default files are there
    done = called(cli.main, "bench")
    assert done.code == 0 and benchmarks()
    for name, line in benchmarks().items():
        assert name in done.out
        assert len(line) > 20, f"{name}: the first line of its docstring says what it measures"
    refused = called(cli.main, "bench", "nothing")
    assert refused.code == 2 and "no benchmark `nothing`" in refused.err


def test_each_part_has_its_share_and_its_price_for_an_expansion() -> None:
    grown = {"prover.expansions": 100.0, "prover.outcome_error": 700.0, "lean-proxy.candidates": 1000.0}
    grown |= {"lean-proxy.cache_hits": 200.0, "lean-proxy.proofs_accepted": 10.0}
    found = summary({"lean-workers": 6.0, "training": 3.0, "verification": 1.0}, grown, seconds=20.0)
    assert list(found["parts"]) == ["lean-workers", "training", "verification"]
    assert found["parts"]["lean-workers"] == {"cpu_s": 6.0, "share": 0.6, "cpu_ms_per_expansion": 60.0}
    assert (found["cpu_ms_per_expansion"], found["at_two_free_cores"]) == (100.0, 20.0)
    assert (found["expansions_per_s"], found["cores_used"]) == (5.0, 0.5)
    assert found["lean_cpu_ms_per_candidate"] == 7.5  # those from the cache cost Lean nothing
    assert (found["verification_cpu_ms_per_proof"], found["counted"]["prover.outcome_error"]) == (100, 700)
