"""Files of theorems, read without Lean."""

import pytest

from node.lean.text.proof_file import UnreadableFile, read_proofs

TWO = """/- a file
   theorem not_this : True := by trivial -/
open Nat
-- and a comment

theorem first (p q : Prop) : p ∧ q → q ∧ p := by
  intro h -- the hypothesis
  exact ⟨h.2, h.1⟩

theorem second (n : Nat := 3) :
    n = n := by rfl
"""


def test_theorems_come_with_header_binders_and_script():
    first, second = read_proofs(TWO)
    assert (first.theorem.name, first.theorem.binders) == ("first", "(p q : Prop)")
    assert first.theorem.header == second.theorem.header == "open Nat"
    assert first.script == "  intro h -- the hypothesis\n  exact ⟨h.2, h.1⟩"
    assert (first.line, second.line) == (6, 10)
    assert second.theorem.conclusion == "n = n" and second.script.strip() == "rfl"


def test_the_first_tactic_keeps_its_column():
    (proof,) = read_proofs("theorem t : True := by first\n                       | trivial\n")
    first, second = proof.script.split("\n")
    assert len(first) - len(first.lstrip()) == len(second) - len(second.lstrip())


def test_what_stands_behind_a_proof_is_part_of_it():
    (proof,) = read_proofs("theorem t : True := by\n  trivial\naxiom bad : False\n")
    assert "axiom bad" in proof.script


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no theorem here"),
        ("def f := 1\ntheorem t : True := by trivial", "line 1"),
        ("axiom bad : False\ntheorem t : False := by exact bad", "only `import`"),
        ("theorem t : True := trivial", "begins with `:= by`"),
        ("theorem t : True", "without `:= by`"),
        ("theorem t True := by trivial", "no colon"),
        ("/- theorem t : True := by trivial", "never closed"),
        ("open Nat in\ntheorem t : True := by trivial\n)", "closes what was not opened"),
    ],
)
def test_unreadable_files_say_why(text, says):
    with pytest.raises(UnreadableFile, match=says):
        read_proofs(text)
