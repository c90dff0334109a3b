"""`proofmesh eval` as a command: what it writes, its exit codes, and that a kill loses nothing. Real Lean."""

import asyncio
import json
import os
import re
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from common.life.process import kill_group, spawn_child
from common.output.command import Exit
from node.command.evaluate.command import main
from node.command.proofs import verify
from node.eval.folder import ATTEMPTS, AttemptRecord, EvaluationFolder, read
from tests.commands import Called, Run
from tests.waiting import eventually

pytestmark = pytest.mark.lean

ROWS = [
    {"name": "swap", "statement": "theorem swap (p q : Prop) : p ∧ q → q ∧ p", "topic": "logic"},
    {"name": "false", "statement": "theorem false (p q : Prop) : p → q"},
    {"name": "missing", "statement": "theorem missing : Missing.thing = 1"},
    {"name": "sum", "statement": "theorem sum (a b c : Nat) : a + b + c = c + b + a"},
    {"name": "either", "statement": "theorem either (p q r : Prop) : p ∨ q ∨ r → r ∨ q ∨ p"},
    {"name": "data", "statement": "def data : Nat := 1"},
]


@pytest.fixture
def evaluate(called: Called) -> Run:
    """The command in this process."""
    return partial(called, main)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A benchmark file."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def told(folder: Path) -> dict[tuple[str, int], tuple[object, ...]]:
    """The results of an evaluation, without times."""
    return {
        (each.name, each.number): (
            each.standing,
            each.script,
            each.axioms,
            each.statistics.simulations,
            each.statistics.solved_at_lean_attempts,
        )
        for each in read(folder).attempts
    }


def flags(rows: Path, out: Path) -> list[str]:
    how = ["--policy", "tactics", "--method", "random", "--simulations", "8", "--searches", "1"]
    return ["--bench", str(rows), "--out", str(out), *how]


async def killed_behind_an_attempt(rows: Path, out: Path) -> None:
    """Evaluate in a process, and kill it when an attempt is on the disk."""
    process = await spawn_child([sys.executable, "-m", "node.command.cli", "eval", *flags(rows, out)])
    attempts = out / ATTEMPTS
    try:
        await eventually(lambda: attempts.exists() and attempts.stat().st_size > 0, timeout=90)
    finally:
        await kill_group(process, grace=0)


@pytest.mark.process
@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["", "after a kill"])
def test_a_file_of_statements_is_evaluated_and_after_ctrl_c_comes_out_as_without(
    evaluate: Run, rows: Path, tmp_path: Path, killed: bool, request: pytest.FixtureRequest
) -> None:
    # 1. A whole evaluation, with a Lean of its own, and its files.
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    code, out, err = evaluate(*flags(rows, whole))
    assert code == Exit.DONE, err
    assert "1 of 6 rows are not statements; it is data: it defines data" in err
    assert "this Lean refuses 1 of 5 statements; error: Unknown identifier `Missing.thing`" in err
    assert "not elaborated by this Lean" in out
    results = json.loads((whole / "results.json").read_text())
    standings = {each["name"]: each["standing"] for each in results["statements"]}
    assert (standings["false"], standings["missing"]) == ("unsolved", "not-elaborated")
    assert "solved" in standings.values()
    page = (whole / "report.html").read_text()
    assert "rows" in page and not re.search(r"""(?:src|href)=["']?https?:""", page)
    assert (whole / "solved.png").read_bytes().startswith(b"\x89PNG")
    assert verify.main([str(whole / "proofs.lean")]) == 0
    # 2. One that is interrupted as soon as an attempt more is on the disk, and goes on.
    request.getfixturevalue("lent_lean")
    if killed:
        asyncio.run(killed_behind_an_attempt(rows, broken))
    add = EvaluationFolder.add

    def interrupting(folder: EvaluationFolder, record: AttemptRecord) -> None:
        add(folder, record)
        patched.undo()
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(EvaluationFolder, "add", interrupting)
        code, _, err = evaluate(*flags(rows, broken))
    assert code == Exit.INTERRUPTED and "the same command plays them" in err
    assert "missing" in err and (broken / "report.html").exists()
    assert len(told(broken)) < len(told(whole))
    code, _, err = evaluate(*flags(rows, broken))
    assert code == Exit.DONE and "resuming" in err
    assert told(broken) == told(whole)
    # 3. Once more: nothing is left to play, and the results are the same.
    code, out, _ = evaluate(*flags(rows, whole), "--json")
    assert code == Exit.DONE and json.loads(out) == results


def test_what_cannot_be_evaluated_is_a_clear_line(evaluate: Run, rows: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    damaged = tmp_path / "run/checkpoints/step-000001"
    damaged.mkdir(parents=True)
    (damaged / "state.json").write_text("{}")
    bench, policy = ["--bench", str(rows)], ["--policy", "tactics"]
    for arguments, reason in [
        (["--bench", "minif2g:test", *policy], "did you mean `minif2f`?"),
        (["--bench", "empty.txt", *policy], "there is no statement in it"),
        ([*bench, "--policy", "own:run"], "all checkpoints under run/checkpoints are damaged"),
        ([*bench, "--policy", "magic"], "there is no policy `magic`"),
        ([*bench, "--checkpoint", "run", *policy], "--checkpoint and --policy both name a policy"),
        ([*bench, *policy, "--simulations", "0"], "without any budget would not end"),
        ([*bench, *policy, "--lean.toolchain", "/nowhere"], "/nowhere"),
        ([*bench, "--checkpoint", "run", "--url", "nats://127.0.0.1:1"], "--checkpoint cannot be used with --url"),
        (
            [*bench, "--sampling.temperature", "0.5", "--url", "nats://127.0.0.1:1"],
            "--sampling cannot be used with --url",
        ),
        ([*bench, "--search.c-base", "200", "--url", "nats://127.0.0.1:1"], "--search cannot be used with --url"),
    ]:
        code, out, err = evaluate(*arguments)
        assert code == Exit.UNUSABLE, arguments
        assert reason in err
        assert len(err.splitlines()) == 1, err
        assert out == ""
        assert not (tmp_path / "evals").exists()
