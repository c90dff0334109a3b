"""Extracting the proof from a larger text."""

from __future__ import annotations

import pytest

from node.lean.text.declarations import NoProof, block_of


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("simp", "simp"),
        ("by simp", "simp"),
        (":= by\n    intro h\n    exact h", "intro h\nexact h"),
        ("by intro h\n   exact h", "intro h\nexact h"),
        ("have : a := by\n  simp\nomega", "have : a := by\n  simp\nomega"),
        ("by have : a := by\n     simp\n   omega", "have : a := by\n  simp\nomega"),
        ("theorem a : p → p\n  := by intro h\n        exact h", "intro h\nexact h"),
        ("import Mathlib\n\ntheorem a : p := by\n  simp\n\nend Foo", "simp"),
        ("theorem a (n : Nat := by exact 1) : ∃ m, let k := 1; m = k := by\n  simp", "simp"),
        ("lemma b : q := by\n  omega\n\ntheorem a : p := by\n  simp", "simp"),
        ("theorem a : p := ⟨1, 2⟩\n", "exact (⟨1, 2⟩)"),
        ("/- theorem a : p := by trivial -/\ntheorem a : p := by\n  simp -- theorem", "simp -- theorem"),
    ],
)
def test_the_block_of_the_theorem_is_found(text: str, block: str) -> None:
    assert block_of(text, "a") == block


def test_the_declaration_of_that_name_is_taken_before_the_last_one() -> None:
    text = "theorem a : p := by\n  simp\n\ntheorem b : q := by\n  omega"
    assert block_of(text, "a") == "simp"
    assert block_of(text, "other") == "omega"


@pytest.mark.parametrize("text", ["", "  \n", "by", "theorem a : p := by", "theorem a : p", "-- only words"])
def test_what_holds_no_proof_says_so(text: str) -> None:
    with pytest.raises(NoProof):
        block_of(text)
