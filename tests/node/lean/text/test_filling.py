"""Proofs in the gaps of commands, written as a person would write them."""

import pytest

from common.lean import NO_CONTEXT, Place
from node.lean.text.script import filled

ONE = ["simp"]
TWO = ["intro x", "simp"]


def at(text: str, *, tactic: bool) -> Place:
    before, after = text.split("sorry")
    return Place(NO_CONTEXT, before, after, tactic)


@pytest.mark.parametrize(
    ("text", "script", "expected"),
    [
        ("theorem t : P := by\n  sorry\n", ONE, "theorem t : P := by\n  simp\n"),
        ("theorem t : P := by\n  sorry\n", TWO, "theorem t : P := by\n  intro x\n  simp\n"),
        ("theorem t : P := by sorry\n", ONE, "theorem t : P := by simp\n"),
        ("theorem t : P := by sorry\n", TWO, "theorem t : P := by\n  intro x\n  simp\n"),
        ("  have h : P := by sorry -- why\n", TWO, "  have h : P := by\n    intro x\n    simp -- why\n"),
        ("decreasing_by sorry\n", TWO, "decreasing_by\n  intro x\n  simp\n"),
        ("  · sorry\n  · rfl", TWO, "  · intro x\n    simp\n  · rfl"),
        ("  · have h : P := by sorry\n", TWO, "  · have h : P := by\n      intro x\n      simp\n"),
        ("  | zero => sorry\n", ONE, "  | zero => simp\n"),
        ("  | zero => sorry\n", TWO, "  | zero =>\n    intro x\n    simp\n"),
        ("  constructor <;> sorry\n", ONE, "  constructor <;> simp\n"),
        (
            "  constructor <;> sorry\n",
            TWO,
            "  constructor <;> (\n                    intro x\n                    simp)\n",
        ),
        ("  (sorry; rfl)\n", TWO, "  ((\n     intro x\n     simp); rfl)\n"),
    ],
)
def test_tactics_take_the_place_of_a_tactic(text, script, expected):
    assert filled(at(text, tactic=True), script) == expected


@pytest.mark.parametrize(
    ("text", "script", "expected"),
    [
        ("theorem t : P := sorry\n", ONE, "theorem t : P := by simp\n"),
        ("theorem t : P := sorry\n", TWO, "theorem t : P := by\n  intro x\n  simp\n"),
        ("theorem t : P :=\n  sorry\n", ONE, "theorem t : P :=\n  by simp\n"),
        ("theorem t : P :=\n  sorry\n", TWO, "theorem t : P :=\n  by\n    intro x\n    simp\n"),
        ("  exact ⟨h, sorry⟩\n", ONE, "  exact ⟨h, by simp⟩\n"),
        ("  exact ⟨sorry, h⟩\n", ONE, "  exact ⟨(by simp), h⟩\n"),
        ("  | n + 1 => sorry\n", TWO, "  | n + 1 => by\n    intro x\n    simp\n"),
        ("  exact foo sorry h\n", ONE, "  exact foo (by simp) h\n"),
        ("  exact ⟨sorry, h⟩\n", TWO, "  exact ⟨(by\n           intro x\n           simp), h⟩\n"),
    ],
)
def test_tactics_behind_by_take_the_place_of_a_term(text, script, expected):
    assert filled(at(text, tactic=False), script) == expected
