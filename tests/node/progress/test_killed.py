"""`proofmesh train progress` after kill -9."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.node.progress.conftest import flags
from tests.waiting import eventually

ROOT = Path(__file__).parents[3]


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
