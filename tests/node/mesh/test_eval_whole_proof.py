"""`proofmesh eval --method whole-proof`: proofs of another prover are checked and counted."""

import json
from functools import partial
from pathlib import Path

import pytest

from common.output.command import Exit
from node.command.evaluate.command import main
from node.command.proofs import prove
from node.eval.folder import read
from tests.commands import Called, Run

pytestmark = pytest.mark.usefixtures("lent_lean")

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
def evaluate(called: Called, tmp_path: Path) -> Run:
    """`eval` in this process, in a folder with a benchmark and its proofs."""
    rows = [{"name": name, "statement": text} for name, text in STATEMENTS.items()]
    proofs = [{"name": name, "proof": proof} for name, given in PROOFS.items() for proof in given]
    for file, content in (("rows.jsonl", rows), ("proofs.jsonl", proofs)):
        (tmp_path / file).write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return partial(called, main)


@pytest.fixture
def proves(evaluate: Run, called: Called) -> Run:
    """`prove` in the same folder."""
    return partial(called, prove.main)


WHOLE = ("--bench", "rows.jsonl", "--policy", "proofs:proofs.jsonl", "--method", "whole-proof")


def test_pass_at_k_of_given_proofs_is_what_one_computes_by_hand(evaluate: Run, tmp_path: Path) -> None:
    code, out, err = evaluate(*WHOLE, "--simulations", "1", "--passes", "4", "--out", "e", "--json")
    assert code == Exit.DONE, err
    results = json.loads(out)
    found = {str(each["k"]): each["unbiased"] for each in results["pass_at"]}
    assert found == pytest.approx(PASS_AT)
    standings = {(each.name, each.number): str(each.standing) for each in read(tmp_path / "e").attempts}
    assert [standings["swap", number] for number in range(4)] == ["unsolved", "solved", "solved", "unsolved"]
    assert [standings["sum", number] for number in range(4)] == ["unsolved", "unsolved", "solved", "unsolved"]
    assert {standings[name, number] for name in ("false", "unheard") for number in range(4)} == {"unsolved"}


def test_what_does_not_go_together_is_a_clear_line(evaluate: Run, tmp_path: Path) -> None:
    bench = ("--bench", "rows.jsonl")
    (tmp_path / "bad.jsonl").write_text('{"name": "swap"}\n')
    for arguments, reason in [
        ((*bench, "--policy", "tactics", "--method", "whole-proof"), "`tactics` proposes tactics only"),
        ((*bench, "--policy", "proofs:proofs.jsonl"), "they go with --method whole-proof"),
        ((*bench, "--policy", "proofs:none.jsonl", "--method", "whole-proof"), "none.jsonl: "),
        ((*bench, "--policy", "proofs:bad.jsonl", "--method", "whole-proof"), "bad.jsonl, line 1: "),
        ((*bench, "--policy", "tactics", "--correct", "2"), "--correct is for whole proofs only"),
        ((*WHOLE, "--correct", "1"), "a file corrects nothing"),
        ((*WHOLE, "--simulations", "0", "--seconds", "5", "--passes", "2"), "need --simulations"),
    ]:
        code, out, err = evaluate(*arguments)
        assert (code, out) == (Exit.UNUSABLE, ""), arguments
        assert reason in err and len(err.splitlines()) == 1, err
        assert not (tmp_path / "evals").exists()


def test_a_person_has_given_proofs_checked(proves: Run) -> None:
    rows = "\n".join(f"{STATEMENTS[name]} := sorry" for name in ("sum", "swap", "false"))
    Path("config.toml").write_text("[prove]\nclosing = []\nsearching = []\n", encoding="utf-8")
    how = ("--policy", "proofs:proofs.jsonl", "--method", "whole-proof", "--config", "config.toml")
    code, out, err = proves("--from", "-", "--json", *how, stdin=rows)
    assert code == Exit.FAILED, err
    found = {each["name"]: each for each in map(json.loads, out.splitlines())}
    assert (found["sum"]["outcome"], found["sum"]["by"], found["sum"]["simulations"]) == ("proved", "list of proofs", 3)
    assert "· exact h.2" in found["swap"]["proof"], "as it was written"
    assert "no more proofs were to be had after 4" in found["false"]["reason"]
    code, _, err = proves(STATEMENTS["sum"], "--method", "whole-proof")
    assert code == Exit.UNUSABLE and "needs --policy, with one that writes whole proofs" in err
