"""A retriever's training that is killed resumes from its last checkpoint, and ends with the same weights."""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL

import pytest
from safetensors.numpy import load_file

from tests.node.retrieval.conftest import SHAPE
from tests.waiting import eventually

pytestmark = pytest.mark.process


def command_line(library_folder, out):
    arguments = ["--data", str(library_folder), "--out", str(out), *SHAPE, "--steps", "400", "--batch", "16"]
    entry = "import sys; from node.retrieval.train_command import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", entry, *arguments, "--save-every", "20", "--log-every", "5"]


@pytest.mark.slow
async def test_a_killed_training_ends_with_the_weights_of_one_that_was_not(library_folder, tmp_path):
    child = await asyncio.create_subprocess_exec(*command_line(library_folder, tmp_path / "killed"), stderr=DEVNULL)
    checkpoints = tmp_path / "killed" / "checkpoints"
    try:
        await eventually(lambda: len(list(checkpoints.glob("*/complete.json"))) >= 2, timeout=120)
    finally:
        child.kill()
        await child.wait()
    assert not (tmp_path / "killed" / "model").exists()
    half_written = checkpoints / "checkpoint-999"
    half_written.mkdir()
    (half_written / "model.safetensors").write_bytes(b"half")
    for name in ("killed", "whole"):
        child = await asyncio.create_subprocess_exec(*command_line(library_folder, tmp_path / name), stderr=DEVNULL)
        assert await child.wait() == 0
    weights = [load_file(tmp_path / name / "model" / "model.safetensors") for name in ("killed", "whole")]
    assert all((weights[0][key] == weights[1][key]).all() for key in weights[1])
    lines = (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == list(range(5, 401, 5))
    assert not half_written.exists()
