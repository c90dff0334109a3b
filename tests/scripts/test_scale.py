"""One broker and one learner under simulated provers: a short run, and the arithmetic."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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
