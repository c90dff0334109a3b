"""`proofmesh train hf-sft` from a shell: what it prints, its exit codes, kill -9 and the same command again."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from node.tuning import commands
from tests.waiting import eventually

ROOT = Path(__file__).parents[3]


def flags(model: Path, data: Path, out: Path, *more: str) -> list[str]:
    return [
        str(model),
        "--data",
        str(data),
        "--out",
        str(out),
        "--device",
        "cpu",
        "--keep-out",
        "--held-out",
        "0",
        *more,
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--rate", "0"], "--rate: expected `float` > 0.0"),
        (["--batch", "6", "--micro-batch", "4"], "--batch 6: must be a multiple of --micro-batch 4"),
        (["--data", "nowhere"], "--data nowhere: no such file or folder"),
        (["--other-template", "no-such"], "--other-template: no template `no-such`"),
        (["--device", "gpu9"], "no such device"),
    ],
)
def test_what_is_wrong_is_one_line_and_code_2(
    tiny: Path, steps: Path, tmp_path: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.sft(flags(tiny, steps, tmp_path / "out", *more)) == 2
    said = capsys.readouterr().err
    assert said.startswith("proofmesh train hf-sft: ") and message in said and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_model_that_is_none_is_one_line(steps: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.sft(flags(tmp_path, steps, tmp_path / "out")) == 2
    assert "the folder has no config.json, so it is not a model" in capsys.readouterr().err


def test_an_encoder_decoder_is_refused(steps: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.node.llm.hub.tiny import saved, t5

    folder = saved(t5(), tmp_path / "t5")
    assert commands.sft(flags(Path(f"{folder}@reprover"), steps, tmp_path / "out")) == 2
    assert "is an encoder-decoder model; name a causal language model" in capsys.readouterr().err


@pytest.mark.compute
def test_it_says_what_was_trained_and_how_to_use_it(
    tiny: Path, steps: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.sft(flags(tiny, steps, tmp_path / "out", "--steps", "1")) == 0
    said = capsys.readouterr().out
    assert "parameters trained: 1 steps, 6 examples" in said
    assert said.endswith(f"use it as hf:{tmp_path / 'out' / 'model'}\n")


def reached(out: Path, step: int) -> bool:
    """Whether there is a whole checkpoint of this step or a later one."""
    marks = (out / "checkpoints").glob("checkpoint-*/complete.json")
    return any(int(mark.parent.name.rpartition("-")[2]) >= step for mark in marks)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(900)
def test_after_kill_9_the_same_command_ends_with_the_same_model(tiny: Path, steps: Path, tmp_path: Path) -> None:
    def command(out: Path) -> list[str]:
        code = "import sys; from node.tuning.commands import sft; sys.exit(sft(sys.argv[1:]))"
        more = ("--steps", "400", "--save-every", "40", "--lora", "--batch", "4")
        return [sys.executable, "-c", code, *flags(tiny, steps, out, *more)]

    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command(tmp_path / "whole"), check=True, cwd=ROOT, env=environment, timeout=300)
    for step in (40, 200):
        process = subprocess.Popen(command(tmp_path / "out"), cwd=ROOT, env=environment)
        try:
            asyncio.run(eventually(partial(reached, tmp_path / "out", step), timeout=300, what="a checkpoint"))
        finally:
            process.send_signal(signal.SIGKILL)
            assert process.wait(timeout=30) == -signal.SIGKILL
    subprocess.run(command(tmp_path / "out"), check=True, cwd=ROOT, env=environment, timeout=300)
    models = [tmp_path / name / "model" / "adapter_model.safetensors" for name in ("whole", "out")]
    assert models[0].read_bytes() == models[1].read_bytes()
    curves = [
        [json.loads(line)["values"]["loss"] for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("whole", "out")
    ]
    assert curves[0] == curves[1] and len(curves[0]) == 40
