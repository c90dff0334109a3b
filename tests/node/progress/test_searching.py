"""A trained model in real searches in Lean, and `proofmesh train progress` after kill -9."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from node.command.evaluate import command as evaluation
from tests.node.progress.conftest import flags
from tests.waiting import eventually

ROOT = Path(__file__).parents[3]

STATEMENT = {"name": "swap", "statement": "theorem swap (p q : Prop) : p ∧ q → q ∧ p"}


@pytest.mark.lean
@pytest.mark.compute
@pytest.mark.parametrize("use", ["value", pytest.param("rank", marks=pytest.mark.slow)])
def test_a_search_with_predicted_steps_proves_and_says_so(use, trained, tmp_path):
    bench = tmp_path / "bench.jsonl"
    bench.write_text(json.dumps(STATEMENT), encoding="utf-8")
    out = tmp_path / "eval"
    more = ["--lean-attempts", "200", "--progress", str(trained / "model"), "--guidance.use", use, "--out", str(out)]
    assert evaluation.main(["--bench", str(bench), "--policy", "tactics", *more]) == 0
    rows = [json.loads(line) for line in (out / "attempts.jsonl").read_text().splitlines()]
    assert [row["script"] != "" for row in rows] == [True]
    assert f"predicted steps as {use}" in (out / "results.json").read_text()


def reached(out: Path, step: int) -> bool:
    """Whether there is a whole checkpoint of this step or a later one."""
    marks = (out / "checkpoints").glob("checkpoint-*/complete.json")
    return any(int(mark.parent.name.rpartition("-")[2]) >= step for mark in marks)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(900)
def test_after_kill_9_the_same_command_ends_with_the_same_model(lines, tmp_path):
    code = "import sys; from node.progress.command import main; sys.exit(main(sys.argv[1:]))"
    more = ("--steps", "120", "--save-every", "10", "--batch", "4", "--rate", "0.003")

    def command(out: Path) -> list[str]:
        return [sys.executable, "-c", code, *flags(lines, out, *more)]

    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command(tmp_path / "whole"), cwd=ROOT, env=environment, check=True, capture_output=True)
    killed = subprocess.Popen(command(tmp_path / "killed"), cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    asyncio.run(eventually(lambda: reached(tmp_path / "killed", 20), timeout=300, what="a checkpoint"))
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "killed" / "summary.json").exists()
    subprocess.run(command(tmp_path / "killed"), cwd=ROOT, env=environment, check=True, capture_output=True)
    weights = [(tmp_path / each / "model" / "model.safetensors").read_bytes() for each in ("whole", "killed")]
    assert weights[0] == weights[1]
