"""`proofmesh prove` from end to end: real broker, real Lean, a fixed list of tactics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from node.mesh.prove import BAD_STATEMENT, MESH_FAILED, NOT_PROVED, PROVED, newest_checkpoint

SWAP = "theorem t (p q : Prop) : p ∧ q → q ∧ p"


def prove(*arguments: str, folder: Path, limit: float = 90) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it, in an empty working directory."""
    command = [sys.executable, "-m", "node.mesh.cli", "prove", *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
    assert not descendants(), "no process is left behind"
    return run


def descendants() -> list[str]:
    """Children of this process that belong to a private mesh."""
    return [
        " ".join(child.cmdline())
        for child in psutil.Process(os.getpid()).children(recursive=True)
        if "proofmesh-prove-" in " ".join(child.cmdline())
    ]


def test_true_statement_is_proved_and_the_printed_text_is_a_proof(tmp_path: Path) -> None:
    run = prove(SWAP, folder=tmp_path)
    assert run.returncode == PROVED, run.stderr
    lines = run.stdout.rstrip("\n").split("\n")
    assert lines[0] == f"{SWAP} := by"
    assert len(lines) > 1 and all(line.startswith("  ") for line in lines[1:])
    assert "accepted by Lean 4." in run.stderr


def test_false_statement_is_not_proved(tmp_path: Path) -> None:
    run = prove("theorem t (p q : Prop) : p → q", "--simulations", "6", "--json", folder=tmp_path)
    assert run.returncode == NOT_PROVED, run.stderr
    answer = json.loads(run.stdout)
    assert (answer["outcome"], answer["lean"]) == ("failed", "")
    assert 1 <= answer["simulations"] <= 6


def test_ill_typed_statement_is_refused_with_leans_own_message(tmp_path: Path) -> None:
    run = prove("theorem t (p : Prop) : p ∧ nonsense", folder=tmp_path)
    assert run.returncode == BAD_STATEMENT
    assert "nonsense" in run.stderr and run.stdout == ""


@pytest.mark.parametrize("text", ["theorem t (p : Prop : p", "lemma", "p → p", "theorem t (p : Prop) :"])
def test_text_that_is_no_statement_is_refused_at_once(text: str, tmp_path: Path) -> None:
    run = prove(text, folder=tmp_path)
    assert run.returncode == BAD_STATEMENT
    assert run.stderr.startswith("proofmesh prove: ") and "Traceback" not in run.stderr


def test_named_model_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    run = prove(SWAP, "--checkpoint", "no/such/folder", folder=tmp_path)
    assert run.returncode == MESH_FAILED
    assert "no/such/folder" in run.stderr and "Traceback" not in run.stderr


def test_broker_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    run = prove(SWAP, "--url", "nats://127.0.0.1:1", folder=tmp_path)
    assert run.returncode == MESH_FAILED
    assert "127.0.0.1:1" in run.stderr and "Traceback" not in run.stderr


def test_newest_checkpoint_is_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert newest_checkpoint() is None
    for step, whole in ((100, True), (200, True), (300, False)):
        folder = tmp_path / f"runs/demo/checkpoints/step-{step:06d}"
        folder.mkdir(parents=True)
        if whole:
            (folder / "state.json").write_text("{}")
    assert newest_checkpoint() == Path("runs/demo/checkpoints/step-000200")
