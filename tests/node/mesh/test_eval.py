"""`proofmesh eval` as a command: what it writes, its exit codes, given proofs, that a kill loses nothing. Real Lean."""

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from common.life.process import kill_group, spawn_child
from common.output.command import Exit
from node.command.proofs import verify
from node.eval.folder import ATTEMPTS, AttemptRecord, EvaluationFolder, read
from tests.commands import Run
from tests.waiting import eventually

ROWS = [
    {"name": "swap", "statement": "theorem swap (p q : Prop) : p ∧ q → q ∧ p", "topic": "logic"},
    {"name": "false", "statement": "theorem false (p q : Prop) : p → q"},
    {"name": "missing", "statement": "theorem missing : Missing.thing = 1"},
    {"name": "sum", "statement": "theorem sum (a b c : Nat) : a + b + c = c + b + a"},
    {"name": "either", "statement": "theorem either (p q r : Prop) : p ∨ q ∨ r → r ∨ q ∨ p"},
    {"name": "data", "statement": "def data : Nat := 1"},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def told(folder: Path) -> dict[tuple[str, int], tuple[object, ...]]:
    """The results of an evaluation, without times."""
    found: dict[tuple[str, int], tuple[object, ...]] = {}
    for each in read(folder).attempts:
        counts = each.statistics.simulations, each.statistics.solved_at_lean_attempts
        found[each.name, each.number] = (each.standing, each.script, each.axioms, *counts)
    return found


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
    first, _, rest = attempts.read_bytes().partition(b"\n")  # as if it had been killed while it wrote the second one
    attempts.write_bytes(first + b"\n" + rest[:20].partition(b"\n")[0])


@pytest.mark.lean
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
    assert "missing" in err and (broken / "report.html").exists() and len(told(broken)) < len(told(whole))
    code, _, err = evaluate(*flags(rows, broken))
    assert code == Exit.DONE and "resuming" in err
    assert told(broken) == told(whole)
    # 3. Once more: nothing is left to play, and the results are the same.
    code, out, _ = evaluate(*flags(rows, whole), "--json")
    assert code == Exit.DONE and json.loads(out) == results


# --- --method whole-proof: proofs of another prover are checked and counted -------------------------------------------
STATEMENTS = {
    "swap": "theorem swap (p q : Prop) : p ∧ q → q ∧ p",
    "sum": "theorem sum (a b c : Nat) : a + b + c = c + b + a",
    "false": "theorem false (p q : Prop) : p → q",
    "unheard": "theorem unheard (p : Prop) : p → p",
}

RIGHT = f"{STATEMENTS['swap']} := by\n  intro h -- both\n  constructor\n  · exact h.2\n  · exact h.1"

PROOFS = {
    "swap": ["intro h\nexact h", RIGHT, "exact fun h => ⟨h.2, h.1⟩", "sorry"],
    "sum": ["rfl", "", "omega", "simp"],
    "false": ["theorem false : True := by\n  trivial", "intro h\nexact h", "intro h\nexact h", "exact false _ _"],
}
"""Two of four proofs are correct, then one of four, then none. The last statement has no proofs."""

PASS_AT = {"1": (2 / 4 + 1 / 4) / 4, "2": ((1 - 1 / 6) + (1 - 3 / 6)) / 4, "4": 2 / 4}
"""1 - C(n-c, k) / C(n, k) with n = 4, by hand."""


@pytest.fixture
def evaluate_proofs(evaluate: Run, tmp_path: Path) -> Run:
    """`eval` in a folder with a benchmark and its proofs."""
    rows = [{"name": name, "statement": text} for name, text in STATEMENTS.items()]
    proofs = [{"name": name, "proof": proof} for name, given in PROOFS.items() for proof in given]
    for file, content in (("rows.jsonl", rows), ("proofs.jsonl", proofs)):
        (tmp_path / file).write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return evaluate


WHOLE = ("--bench", "rows.jsonl", "--policy", "proofs:proofs.jsonl", "--method", "whole-proof")


@pytest.mark.usefixtures("lent_lean")
def test_pass_at_k_of_given_proofs_is_what_one_computes_by_hand(evaluate_proofs: Run, tmp_path: Path) -> None:
    code, out, err = evaluate_proofs(*WHOLE, "--simulations", "1", "--passes", "4", "--out", "e", "--json")
    assert code == Exit.DONE, err
    results = json.loads(out)
    found = {str(each["k"]): each["unbiased"] for each in results["pass_at"]}
    assert found == pytest.approx(PASS_AT)
    standings = {(each.name, each.number): str(each.standing) for each in read(tmp_path / "e").attempts}
    assert [standings["swap", number] for number in range(4)] == ["unsolved", "solved", "solved", "unsolved"]
    assert [standings["sum", number] for number in range(4)] == ["unsolved", "unsolved", "solved", "unsolved"]
    assert {standings[name, number] for name in ("false", "unheard") for number in range(4)} == {"unsolved"}


URL = ("--url", "nats://127.0.0.1:1")


@pytest.mark.usefixtures("lent_lean")
def test_what_cannot_be_evaluated_is_a_clear_line(evaluate_proofs: Run, tmp_path: Path) -> None:
    bench, tactics = ("--bench", "rows.jsonl"), ("--policy", "tactics")
    (tmp_path / "bad.jsonl").write_text('{"name": "swap"}\n')
    (tmp_path / "empty.txt").write_text("")
    damaged = tmp_path / "run/checkpoints/step-000001"
    damaged.mkdir(parents=True)
    (damaged / "state.json").write_text("{}")
    for arguments, reason in [
        (("--bench", "minif2g:test", *tactics), "did you mean `minif2f`?"),
        (("--bench", "empty.txt", *tactics), "there is no statement in it"),
        ((*bench, "--policy", "own:run"), "all checkpoints under run/checkpoints are damaged"),
        ((*bench, "--policy", "magic"), "there is no policy `magic`"),
        ((*bench, "--checkpoint", "run", *tactics), "--checkpoint and --policy both name a policy"),
        ((*bench, *tactics, "--simulations", "0"), "without any budget would not end"),
        ((*bench, *tactics, "--lean.toolchain", "/nowhere"), "/nowhere"),
        ((*bench, "--checkpoint", "run", *URL), "--checkpoint cannot be used with --url"),
        ((*bench, "--sampling.temperature", "0.5", *URL), "--sampling cannot be used with --url"),
        ((*bench, "--search.c-base", "200", *URL), "--search cannot be used with --url"),
        ((*bench, *tactics, "--method", "whole-proof"), "`tactics` proposes tactics only"),
        ((*bench, "--policy", "proofs:proofs.jsonl"), "they go with --method whole-proof"),
        ((*bench, "--policy", "proofs:none.jsonl", "--method", "whole-proof"), "none.jsonl: "),
        ((*bench, "--policy", "proofs:bad.jsonl", "--method", "whole-proof"), "bad.jsonl, line 1: "),
        ((*bench, *tactics, "--correct", "2"), "--correct is for whole proofs only"),
        ((*WHOLE, "--correct", "1"), "a file corrects nothing"),
        ((*WHOLE, "--simulations", "0", "--seconds", "5", "--passes", "2"), "need --simulations"),
    ]:
        code, out, err = evaluate_proofs(*arguments)
        assert (code, out) == (Exit.UNUSABLE, ""), arguments
        assert reason in err and len(err.splitlines()) == 1, err
        assert not (tmp_path / "evals").exists()


@pytest.mark.usefixtures("lent_lean")
def test_a_person_has_given_proofs_checked(evaluate_proofs: Run, prove: Run) -> None:
    rows = "\n".join(f"{STATEMENTS[name]} := sorry" for name in ("sum", "swap", "false"))
    Path("config.toml").write_text("[prove]\nclosing = []\nsearching = []\n", encoding="utf-8")
    how = ("--policy", "proofs:proofs.jsonl", "--method", "whole-proof", "--config", "config.toml")
    code, out, err = prove("--from", "-", "--json", *how, stdin=rows)
    assert code == Exit.FAILED, err
    found = {each["name"]: each for each in map(json.loads, out.splitlines())}
    assert (found["sum"]["outcome"], found["sum"]["by"], found["sum"]["simulations"]) == ("proved", "list of proofs", 3)
    assert "· exact h.2" in found["swap"]["proof"], "as it was written"
    assert "no more proofs were to be had after 4" in found["false"]["reason"]
    code, _, err = prove(STATEMENTS["sum"], "--method", "whole-proof")
    assert code == Exit.UNUSABLE and "needs --policy, with one that writes whole proofs" in err
