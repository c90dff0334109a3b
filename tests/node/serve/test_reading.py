"""Answers as their readers take them, and the lines that import: without Lean."""

from node.lean.snippets.judge import single_proof
from node.lean.snippets.snippet import UNFINISHED, message, unproved
from node.lean.text.statement import leading_imports

PLACE = {"line": 1, "column": 0}
OLD_WARNING = message("warning", PLACE, PLACE, "declaration uses 'sorry'")
SORRY = {"goal": "⊢ 1 = 2", "proofState": 0, "pos": PLACE, "endPos": PLACE}


def test_an_answer_claims_a_proof_only_without_errors_and_sorry():
    assert unproved({"env": 0}) is None
    info = message("info", PLACE, PLACE, "declaration uses 'sorry'")
    assert unproved({"env": 0, "messages": [info]}) is None
    for response in ({"messages": [OLD_WARNING]}, {"sorries": [SORRY]}):
        assert unproved(response).reason == UNFINISHED
    error = message("error", {"line": 7, "column": 2}, PLACE, "no")
    assert unproved({"messages": [OLD_WARNING, error]}).reason == "line 7: no"


def test_only_the_beginning_of_a_text_imports():
    found = leading_imports("import A\n\n-- why\n/- a /- b -/ -/ import B\ntheorem")
    assert found == ("import A", "", "-- why", "/- a /- b -/ -/ import B")
    assert leading_imports("public import A -- x\nopen A\nimport B") == ("public import A -- x",)
    for none in ("", "theorem\nimport A", "/- import A", "-- import A", "/-\nimport A\n-/ def x := 1", "important"):
        assert leading_imports(none) == ()
    assert leading_imports("/-" * 500_000) == () and leading_imports("\n" * 1_000_000) == ()


def test_a_theorem_with_a_tactic_proof_behind_a_plain_header_is_read_and_whatever_is_more_is_no_such_snippet():
    header = "import Mathlib\n\n-- as usual\nset_option maxHeartbeats 400000\nopen Nat Real\n\n"
    theorem, script = single_proof(header + "theorem t (n : Nat) : n = n := by\n  rfl -- done\n")
    assert theorem.header == "import Mathlib\nset_option maxHeartbeats 400000\nopen Nat Real"
    assert (theorem.name, theorem.binders, theorem.conclusion) == ("t", "(n : Nat)", "n = n")
    assert script == "  rfl -- done" and single_proof("example : 1 = 1 := by rfl")[1].strip() == "rfl"
    good = "theorem t : 1 = 1 := by rfl"
    assert single_proof(good) is not None
    above = ("axiom bad : False\n", "set_option debug.skipKernelTC true\n", "set_option maxRecDepth 5 in\n", "@[simp] ")
    above += ("open Nat in\n", "open Nat hiding add\n", "variable (n : Nat)\n", "private ")
    behind = (f"\n{good.replace(' t ', ' u ')}", "\n#eval 1", "\nend", " " * 20_000)
    proofs = ("rfl", "by sorry", "by native_decide", "by set_option debug.skipKernelTC true in rfl", "by (")
    texts = [*(f"{each}{good}" for each in above), *(f"{good}{each}" for each in behind), "def t := 1", ""]
    for more in (*texts, *(f"theorem t : 1 = 1 := {each}" for each in proofs)):
        assert single_proof(more) is None, more
