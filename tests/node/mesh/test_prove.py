"""`proofmesh prove` as a command: what it prints, its exit codes, its processes. Real Lean, a fixed list of tactics."""

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

from common.output.command import Exit
from tests.background import Background, RunOnBroker
from tests.commands import Run
from tests.node.prover.nodes import shared_prover
from tests.waiting import eventually

SWAP = "theorem t (p q : Prop) : p ∧ q → q ∧ p"
FALSE = "theorem t (p q : Prop) : p → q"

FILE = """namespace Foo
def double (n : Nat) : Nat := n + n
theorem t (h : True ∧ double 1 = 2) : double 1 = 2 ∧ True := by
  constructor
  · sorry
  · trivial
end Foo
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "file.lean").write_text(FILE, encoding="utf-8")
    return tmp_path / "file.lean"


@pytest.mark.usefixtures("lent_lean")
def test_a_method_searches_within_its_lean_attempts(prove: Run) -> None:
    choice = "theorem t (p q r : Prop) : p ∧ (q ∨ r) → (p ∧ q) ∨ (p ∧ r)"
    (Path("config.toml")).write_text("[prove]\nclosing = []\nsearching = []\n", encoding="utf-8")
    alone = ("--config", "config.toml", "--fixed", "--json")
    code, out, err = prove(choice, *alone, "--method", "best-first")
    assert code == Exit.DONE and json.loads(out)["by"] == "list of tactics", err
    code, out, err = prove(FALSE, *alone, "--method", "best-first", "--lean-attempts", "7", "--explain", "why")
    assert code == Exit.FAILED and json.loads(out)["reason"] == "7 Lean attempts", err
    assert "the search: why" in err and [*Path.cwd().glob("why*")]


@pytest.mark.usefixtures("lent_lean")
def test_places_of_a_file_and_statements_in_its_context(prove: Run, file: Path) -> None:
    code, out, err = prove("file.lean:5", "--json", "--fixed")
    assert code == Exit.DONE, err
    answer = json.loads(out)
    assert answer["lean"] in FILE.replace("sorry", answer["replacement"])
    code, out, err = prove("--context", "file.lean", "theorem t : double 2 = 4", "--fixed")
    assert code == Exit.DONE and out.startswith("theorem t : double 2 = 4 := by\n  "), err


@pytest.mark.usefixtures("lent_lean")
def test_rows_of_standard_input_are_answered_line_by_line_with_disprove_by_the_negations_proof(prove: Run) -> None:
    rows = [
        json.dumps({"name": "one", "statement": SWAP, "source": "x"}),
        '{"name": "broken", ',
        "theorem t (n : Nat) : n = n + 1 := by sorry",
        "lemma Nat.add_zero (n : Nat) : n + 0 = n := sorry",
        json.dumps({"name": "example", "statement": "example : 1 + 1 = 2 :="}),
    ]
    how = ("--json", "--simulations", "4", "--fixed", "--disprove")
    code, out, err = prove("--from", "-", *how, stdin="\n".join(rows))
    assert code == Exit.FAILED and "5 statements: " in err and "1 disproved" in err
    found = {each["name"]: each for each in map(json.loads, out.splitlines())}
    proved = dict.fromkeys(("one", "Nat.add_zero", "example"), "proved")
    assert {name: each["outcome"] for name, each in found.items()} == {"line 2": "error", "t": "disproved", **proved}
    assert found["Nat.add_zero"]["lean"].startswith("theorem Nat.add_zero (n : Nat) : n + 0 = n := by\n  ")
    assert all({"name", "outcome", "proof", "seconds", "reason"} <= set(each) for each in found.values())
    assert found["t"]["lean"].startswith("theorem t_neg : ¬ (∀ (n : Nat), n = n + 1) := by\n  ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["theorem t (p : Prop : p"], "never closed"),
        (["lemma"], "no name"),
        (["p → p"], "a statement begins with"),
        (["theorem t (p : Prop) :"], "no conclusion"),
        (["none.lean:3"], "none.lean: No such file"),
        (["none.lean", "t"], "none.lean: No such file"),
        (["file.lean:2"], "file.lean:2: no `sorry` and no theorem"),
        (["file.lean", "tt"], "did you mean Foo.t?"),
        (["file.lean:5", "--disprove"], "--disprove cannot negate"),
        (["--context", "none.lean", SWAP], "none.lean: No such file"),
        (["--from", "none.jsonl"], "none.jsonl: cannot be read"),
        (["--from", "empty.jsonl"], "empty.jsonl: no statement in it"),
        (["--from", "empty.jsonl", SWAP], "--from FILE gives the statements"),
        (["--from", "empty.jsonl", "--explain", "x"], "--explain shows the search of one statement"),
        ([SWAP, "--fixed", "--checkpoint", "x"], "--checkpoint and --fixed"),
        ([SWAP, "--url", "nats://127.0.0.1:1", "--policy", "own:x"], "proofmesh up --policy own:PATH"),
        ([SWAP, "--url", "nats://127.0.0.1:1", "--checkpoint", "x"], "proofmesh up --policy own:PATH"),
        ([SWAP, "--url", "nats://127.0.0.1:1", "--policy", "tactics:x"], "proofmesh up --policy tactics:x"),
        ([SWAP, "--url", "nats://127.0.0.1:1", "--policy", "gpt"], "there are `inference`, "),
        ([], "nothing to prove"),
    ],
)
def test_what_is_wrong_is_told_at_once_in_a_line(arguments: list[str], told: str, file: Path, prove: Run) -> None:
    (file.parent / "empty.jsonl").write_text("", encoding="utf-8")
    code, out, err = prove(*arguments)
    assert code == Exit.UNUSABLE and out == ""
    assert err.startswith("proofmesh prove: ") and told in err and err.count("\n") == 1


@pytest.mark.process
@pytest.mark.parametrize("number", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), signal.SIGINT])
async def test_command_that_is_ended_takes_its_lean_with_it(number: signal.Signals, tmp_path: Path) -> None:
    endless = "theorem t (f : Nat → Nat) (n m : Nat) : f (n + m) = f m + n"
    budget = ["--seconds", "600", "--simulations", "100000"]
    command = [sys.executable, "-m", "node.command.cli", "prove", endless, *budget]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # what a killed command leaves behind
    child = await asyncio.create_subprocess_exec(*command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
    processes: list[psutil.Process] = []

    def at_work() -> bool:
        processes[:] = psutil.Process(child.pid).children(recursive=True)
        return bool(processes)

    await eventually(at_work, timeout=60, what="Lean at work")
    child.send_signal(number)
    _, told = await asyncio.wait_for(child.communicate(), 30)
    assert child.returncode == (-number if number == signal.SIGKILL else 130)
    assert b"Traceback" not in told
    await eventually(lambda: not any(alive(process) for process in processes), what="the end of every process")


def alive(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def test_theorem_is_given_to_a_running_mesh_and_one_that_is_not_there_is_an_error(
    background: Background, mesh_run: RunOnBroker, lean_proxy: object, prove: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shared_prover(background, mesh_run, policy="fixed", searches=1):
        code, out, err = prove(SWAP, *mesh_run.flags)
    assert code == Exit.DONE and out.startswith(f"{SWAP} := by\n") and "by closing tactics" in err, err
    monkeypatch.setattr("node.proving.prover.CONNECT_SECONDS", 0.2)
    code, _, err = prove(SWAP, "--url", "nats://127.0.0.1:1")
    assert code == Exit.UNAVAILABLE and "127.0.0.1:1" in err
