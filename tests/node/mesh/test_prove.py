"""`proofmesh prove` as a command: what it prints, its exit codes, its processes. Real Lean, a fixed list of tactics."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from common.bus import Bus, BusSettings
from common.output.command import Exit
from node.command.proofs import verify
from node.command.proofs.prove import main
from node.prover.prover import Prover
from node.prover.search.methods import METHODS
from node.prover.settings import ProverSettings
from tests.node.mesh.calling import Command, Run
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


def prove(*arguments: str, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The command as a user runs it, in a separate folder."""
    command = [sys.executable, "-m", "node.command.cli", "prove", *arguments]
    run = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in run.stderr, run.stderr
    return run


@pytest.fixture
def called(calling: Callable[[Command], Run]) -> Run:
    """The command in this process."""
    return calling(main)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "file.lean").write_text(FILE, encoding="utf-8")
    return tmp_path / "file.lean"


@pytest.mark.process
def test_true_statement_is_proved_and_the_printed_text_is_a_proof(tmp_path: Path) -> None:
    run = prove(SWAP, "--fixed", folder=tmp_path)
    assert run.returncode == Exit.DONE, run.stderr
    lines = run.stdout.rstrip("\n").split("\n")
    assert lines[0] == f"{SWAP} := by"
    assert len(lines) > 1 and all(line.startswith("  ") for line in lines[1:])
    assert "accepted by Lean 4." in run.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.lean
def test_false_statement_is_not_proved_and_with_disprove_its_negation_is(called: Run) -> None:
    code, out, err = called(FALSE, "--simulations", "6", "--fixed", "--json")
    assert code == Exit.FAILED, err
    answer = json.loads(out)
    assert (answer["name"], answer["outcome"], answer["proof"], answer["lean"]) == ("t", "failed", "", "")
    code, out, err = called("theorem t (n : Nat) : n = n + 1", "--disprove", "--fixed")
    assert code == Exit.FAILED and "disproved" in err
    assert out.startswith("theorem t_neg : ¬ (∀ (n : Nat), n = n + 1) := by\n  ")


@pytest.mark.lean
def test_every_method_searches_within_its_lean_attempts(called: Run) -> None:
    choice = "theorem t (p q r : Prop) : p ∧ (q ∨ r) → (p ∧ q) ∨ (p ∧ r)"
    (Path("config.toml")).write_text("[prove]\nclosing = []\nsearching = []\n", encoding="utf-8")
    alone = ("--config", "config.toml", "--fixed", "--json")
    for method in METHODS:
        code, out, err = called(choice, *alone, "--method", method)
        assert code == Exit.DONE and json.loads(out)["by"] == "list of tactics", err
        code, out, err = called(FALSE, *alone, "--method", method, "--lean-attempts", "7")
        assert code == Exit.FAILED and json.loads(out)["reason"] == "7 Lean attempts", err


@pytest.mark.lean
def test_the_network_of_a_mesh_is_not_at_hand_without_one(called: Run) -> None:
    code, out, err = called(SWAP, "--policy", "inference+tactics")
    assert code == Exit.UNUSABLE and out == "" and "name the mesh with --url" in err


@pytest.mark.lean
def test_places_of_a_file_and_statements_in_its_context(file: Path, called: Run) -> None:
    code, out, err = called("file.lean:5", "--json", "--fixed")
    assert code == Exit.DONE, err
    answer = json.loads(out)
    filled = FILE.replace("sorry", answer["replacement"])
    assert answer["lean"] in filled
    (file.parent / "filled.lean").write_text(filled, encoding="utf-8")
    assert verify.main(["filled.lean"]) == 0
    code, out, err = called("file.lean", "t", "--fixed")
    assert code == Exit.DONE and "theorem t (h : True ∧ double 1 = 2)" in out, err
    code, out, err = called("--context", "file.lean", "theorem t : double 2 = 4", "--fixed")
    assert code == Exit.DONE and out.startswith("theorem t : double 2 = 4 := by\n  "), err


@pytest.mark.lean
def test_a_gap_is_proved_while_another_of_its_theorem_stays_open(file: Path, called: Run) -> None:
    file.write_text("theorem t (p : Prop) (h : p) : p ∧ 1 = 2 := by\n  constructor\n  · sorry\n  · sorry\n")
    code, out, err = called("file.lean:3", "--fixed")
    assert code == Exit.DONE and out.strip() and "1 other `sorry` of its command is left" in err


@pytest.mark.process
def test_rows_of_standard_input_are_answered_line_by_line(tmp_path: Path) -> None:
    rows = [
        json.dumps({"name": "one", "statement": SWAP, "source": "x"}),
        '{"name": "broken", ',
        f"{FALSE} := by sorry",
    ]
    run = prove("--from", "-", "--json", "--simulations", "4", "--fixed", folder=tmp_path, stdin="\n".join(rows))
    assert run.returncode == Exit.FAILED
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert {each["name"]: each["outcome"] for each in found} == {"one": "proved", "line 2": "error", "t": "failed"}
    assert all({"name", "outcome", "proof", "seconds", "reason"} <= set(each) for each in found)


@pytest.mark.lean
@pytest.mark.parametrize("flags", [["--checkpoint", "no/such/folder"], ["--policy", "own:no/such/folder"]])
def test_a_model_that_is_not_there_is_told_before_the_search(called: Run, flags: list[str]) -> None:
    code, out, err = called(SWAP, *flags)
    assert code == Exit.UNUSABLE and out == "" and "no/such/folder" in err


@pytest.mark.lean
def test_lines_of_a_text_file_are_statements(called: Run, tmp_path: Path) -> None:
    (tmp_path / "true.txt").write_text(f"-- one\n\n{SWAP} := sorry\n", encoding="utf-8")
    code, out, err = called("--from", "true.txt", "--fixed")
    assert code == Exit.DONE and out.startswith(f"{SWAP} := by\n  ") and "1 statements: 1 proved" in err


@pytest.mark.lean
def test_the_search_is_written_to_be_looked_at(called: Run, tmp_path: Path) -> None:
    code, _, err = called(FALSE, "--simulations", "3", "--explain", "search", "--fixed")
    assert code == Exit.FAILED and "search.json" in err
    assert json.loads((tmp_path / "search.json").read_bytes())["searches"][0]["simulations"] <= 3
    assert "</html>" in (tmp_path / "search.html").read_text(encoding="utf-8")
    (tmp_path / "taken").write_text("", encoding="utf-8")
    code, _, err = called(FALSE, "--simulations", "1", "--explain", "taken/search", "--fixed")
    assert code == Exit.UNUSABLE and "--explain taken/search: cannot be written" in err


@pytest.mark.lean
def test_ill_typed_statement_is_refused_with_leans_own_message(called: Run) -> None:
    code, out, err = called("theorem t (p : Prop) : p ∧ nonsense")
    assert code == Exit.UNUSABLE and "nonsense" in err and out == ""


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
        (["--from", "empty.jsonl", "--explain", "x"], "--explain shows one search"),
        ([SWAP, "--fixed", "--checkpoint", "x"], "--checkpoint and --fixed"),
        ([SWAP, "--url", "nats://127.0.0.1:1", "--policy", "own:x"], "proofmesh up --policy own:PATH"),
        ([SWAP, "--url", "nats://127.0.0.1:1", "--checkpoint", "x"], "proofmesh up --policy own:PATH"),
        ([SWAP, "--url", "nats://127.0.0.1:1", "--policy", "tactics:x"], "proofmesh up --policy tactics:x"),
        ([SWAP, "--url", "nats://127.0.0.1:1", "--policy", "gpt"], "there are `inference`, "),
        ([], "nothing to prove"),
    ],
)
def test_what_is_wrong_is_told_at_once_in_a_line(
    arguments: list[str], told: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(file.parent)
    (file.parent / "empty.jsonl").write_text("", encoding="utf-8")
    assert main(arguments) == Exit.UNUSABLE
    printed = capsys.readouterr()
    assert printed.err.startswith("proofmesh prove: ") and told in printed.err and printed.out == ""
    assert printed.err.count("\n") == 1


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_command_that_is_ended_takes_its_lean_with_it(number: signal.Signals, tmp_path: Path) -> None:
    endless = "theorem t (f : Nat → Nat) (n m : Nat) : f (n + m) = f m + n"
    command = [
        sys.executable,
        "-m",
        "node.command.cli",
        "prove",
        endless,
        "--seconds",
        "600",
        "--simulations",
        "100000",
    ]
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
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


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
    assert run.returncode == Exit.DONE, run.stderr
    assert run.stdout.startswith(f"{SWAP} := by\n") and "by closing tactics" in run.stderr


@pytest.mark.process
def test_broker_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    run = prove(SWAP, "--url", "nats://127.0.0.1:1", folder=tmp_path)
    assert run.returncode == Exit.UNAVAILABLE
    assert "127.0.0.1:1" in run.stderr
