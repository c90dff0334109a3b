"""`proofmesh prove` from end to end: real broker, real Lean, a fixed list of tactics."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from common.bus import Bus, BusSettings
from node.mesh.private import MeshProblem, newest_checkpoint
from node.mesh.prove import BAD_STATEMENT, MESH_FAILED, NOT_PROVED, PROVED, main
from node.model import checkpoint
from node.model.checkpoint import name_of_step
from node.prover.prover import Prover
from node.prover.settings import ProverSettings
from tests.files import truncate
from tests.node.model.tiny import tiny_model, tiny_tokenizer
from tests.waiting import eventually

SWAP = "theorem t (p q : Prop) : p ∧ q → q ∧ p"


def prove(*arguments: str, folder: Path, limit: float = 90) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it, in an empty working directory."""
    command = [sys.executable, "-m", "node.mesh.cli", "prove", *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
    assert not descendants(), "no process is left behind"
    return run


def descendants() -> list[str]:
    """Children of this process that belong to a private mesh."""
    commands = []
    for child in psutil.Process(os.getpid()).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended while we looked, or is a zombie
            commands.append(" ".join(child.cmdline()))
    return [command for command in commands if "proofmesh-prove-" in command]


@pytest.mark.process
def test_true_statement_is_proved_and_the_printed_text_is_a_proof(tmp_path: Path) -> None:
    run = prove(SWAP, folder=tmp_path)
    assert run.returncode == PROVED, run.stderr
    lines = run.stdout.rstrip("\n").split("\n")
    assert lines[0] == f"{SWAP} := by"
    assert len(lines) > 1 and all(line.startswith("  ") for line in lines[1:])
    assert "accepted by Lean 4." in run.stderr


@pytest.mark.process
def test_false_statement_is_not_proved(tmp_path: Path) -> None:
    run = prove("theorem t (p q : Prop) : p → q", "--simulations", "6", "--json", folder=tmp_path)
    assert run.returncode == NOT_PROVED, run.stderr
    answer = json.loads(run.stdout)
    assert (answer["outcome"], answer["lean"]) == ("failed", "")
    assert 1 <= answer["simulations"] <= 6


@pytest.mark.process
def test_ill_typed_statement_is_refused_with_leans_own_message(tmp_path: Path) -> None:
    run = prove("theorem t (p : Prop) : p ∧ nonsense", folder=tmp_path)
    assert run.returncode == BAD_STATEMENT
    assert "nonsense" in run.stderr and run.stdout == ""


@pytest.mark.parametrize("text", ["theorem t (p : Prop : p", "lemma", "p → p", "theorem t (p : Prop) :"])
def test_text_that_is_no_statement_is_refused_at_once(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([text]) == BAD_STATEMENT
    printed = capsys.readouterr()
    assert printed.err.startswith("proofmesh prove: ") and printed.out == ""


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_command_that_is_ended_takes_its_mesh_with_it(number: signal.Signals, tmp_path: Path) -> None:
    endless = "theorem t (f : Nat → Nat) (n m : Nat) : f (n + m) = f m + n"
    command = [sys.executable, "-m", "node.mesh.cli", "prove", endless, "--simulations", "100000"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # what a killed command leaves behind
    child = await asyncio.create_subprocess_exec(*command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    mesh: list[psutil.Process] = []

    def at_work() -> bool:  # broker node, nats-server, lean-proxy, prover, and a Lean process
        mesh[:] = psutil.Process(child.pid).children(recursive=True)
        return len(mesh) >= 5

    await eventually(at_work, timeout=60, what="a mesh at work")
    child.send_signal(number)
    assert await asyncio.wait_for(child.wait(), 30) == (-number if number == signal.SIGKILL else 130)
    await eventually(lambda: not any(alive(process) for process in mesh), what="the end of every process")


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.process
def test_named_model_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    run = prove(SWAP, "--checkpoint", "no/such/folder", folder=tmp_path)
    assert run.returncode == MESH_FAILED
    assert "no/such/folder" in run.stderr and "Traceback" not in run.stderr


@pytest.mark.slow
def test_damaged_model_ends_the_command_with_the_nodes_own_words(tmp_path: Path) -> None:
    (tmp_path / "damaged.safetensors").write_bytes(b"no tensors in here")
    run = prove(SWAP, "--checkpoint", "damaged.safetensors", folder=tmp_path)
    assert run.returncode == MESH_FAILED
    assert "damaged.safetensors" in run.stderr and "Traceback" not in run.stderr


async def test_theorem_is_given_to_a_running_mesh(
    broker: BusSettings, bus: Bus, lean_proxy: object, tmp_path: Path
) -> None:
    work = Prover(bus, ProverSettings(policy="fixed", searches=1, poll_seconds=0.05), "prover-1")
    stopping = asyncio.Event()
    proving = asyncio.create_task(work.run(stopping))
    arguments = (SWAP, "--url", broker.url, "--run", bus.run)
    run = await asyncio.to_thread(prove, *arguments, folder=tmp_path)
    stopping.set()
    await asyncio.wait_for(proving, 60)
    assert run.returncode == PROVED, run.stderr
    assert run.stdout.startswith(f"{SWAP} := by\n")
    assert "private mesh" not in run.stderr


@pytest.mark.process
def test_broker_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    run = prove(SWAP, "--url", "nats://127.0.0.1:1", folder=tmp_path)
    assert run.returncode == MESH_FAILED
    assert "127.0.0.1:1" in run.stderr and "Traceback" not in run.stderr


def test_newest_whole_checkpoint_is_used_with_a_word_on_damaged_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    assert newest_checkpoint(said.append) is None
    root = tmp_path / "runs/demo/checkpoints"
    for step in (100, 200, 300):
        checkpoint.save(root / name_of_step(step), tiny_model(), tiny_tokenizer(), step=step)
    truncate(root / "step-000300" / checkpoint.MODEL)
    assert newest_checkpoint(said.append) == Path("runs/demo/checkpoints/step-000200")
    assert len(said) == 1 and "step-000300/model.safetensors has" in said[0]
    for step in (100, 200):
        (root / name_of_step(step) / checkpoint.STATE).unlink()
    with pytest.raises(MeshProblem, match=r"no checkpoint .* is whole: .*step-000300/model.safetensors has .*--fixed"):
        newest_checkpoint(said.append)
