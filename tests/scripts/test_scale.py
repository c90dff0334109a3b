"""One broker and one learner under simulated provers: a short run, and the arithmetic."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.bench.mesh import Sample, memory

ROOT = Path(__file__).parents[2]


def samples(growth: float, busy: float) -> list[Sample]:
    """A sample every 10 s of one process, whose memory grows after the first half."""
    return [
        Sample(10.0 * look, {"learner": 100.0 + growth * max(0, look - 30) / 6}, {"learner": 5.0 + busy * 10.0 * look})
        for look in range(61)
    ]


def test_memory_that_grows_is_told_from_memory_that_does_not() -> None:
    flat, growing = memory(samples(0.0, 0.5))["learner"], memory(samples(3.0, 0.5))["learner"]
    assert flat == {"start_mb": 100.0, "middle_mb": 100.0, "end_mb": 100.0, "mb_per_minute_second_half": 0.0}
    assert growing["mb_per_minute_second_half"] == pytest.approx(3.0)
    assert growing["end_mb"] == 115.0


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(900)
def test_a_short_run_records_every_result_once(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    command = [sys.executable, "-m", "node.command.cli", "bench", "scale", "--provers", "10", "--minutes", "0.17"]
    command += ["--attempt-seconds", "1", "--processes", "1", "--json", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert found["sound"] and found["restarts"] == 0
    assert found["results"] >= 10 and found["records"]["recorded"] >= found["results"]
    assert set(found["published_to_recorded"]) == {"failed", "proved"}
    assert {"broker", "nats-server", "learner"} <= set(found["cores"])
    assert all(each["p50_ms"] > 0 for each in (found["asking_to_attempt"], found["published_to_stored"]))
