"""Paths, finished proofs and proofs in gaps, as Lean text."""

import pytest

from common.lean import NO_CONTEXT, Layout, Place, ProofTree, Step
from node.lean.text.script import MOST_NESTED, filled, path_lines, proof_script


def hole(prefix: str) -> list[str]:
    return [prefix + "HERE"]


def script(*path: Step) -> str:
    return "\n".join(path_lines(path, hole))


def test_goals_that_share_a_metavariable_stay_at_the_level_of_their_tactic_and_come_last() -> None:
    layout: Layout = ((1,), (0, 2))
    assert script(Step("refine f", 0, layout)) == "  refine f\n  rotate_left 1\n  · HERE\n  rotate_left 1\n  sorry"
    assert script(Step("refine f", 1, layout)) == "  refine f\n  rotate_left 1\n  · sorry\n  rotate_left 1\n  HERE"


def test_a_shared_branch_inside_a_bullet() -> None:
    inner: Layout = ((0,), (1, 2))
    path = (Step("constructor", 0, ((0,), (1,))), Step("refine g", 1, inner))
    assert script(*path) == ("  constructor\n  · refine g\n    · sorry\n    HERE\n  · sorry")


def test_a_finished_proof_fills_every_branch() -> None:
    cases = ProofTree("cases h", ((0,), (1,)), (ProofTree("simp"), ProofTree("omega")))
    proof = ProofTree("constructor", ((0,), (1,)), (ProofTree("exact hp"), cases))
    assert proof_script(proof) == ("  constructor\n  · exact hp\n  · cases h\n    · simp\n    · omega")
    assert proof.remaining_steps == 3


def test_depth_has_no_limit_but_that_of_bullets() -> None:
    chain, path = ProofTree("rfl"), [Step("skip")] * 5_000
    for _ in range(5_000):
        chain = ProofTree("skip", ((0,),), (chain,))
    assert proof_script(chain) == "  skip\n" * 5_000 + "  rfl" and chain.remaining_steps == 5_001
    assert script(*path) == "  skip\n" * 5_000 + "  HERE"
    bullets = ProofTree("rfl")
    for _ in range(MOST_NESTED - 1):
        bullets = ProofTree("constructor", ((0,), (1,)), (bullets, ProofTree("rfl")))
    assert proof_script(bullets).count("\n") == 2 * (MOST_NESTED - 1)
    with pytest.raises(ValueError, match="nested deeper than 1000"):
        proof_script(ProofTree("constructor", ((0,), (1,)), (bullets, ProofTree("rfl"))))
    with pytest.raises(ValueError, match="does not fit its 1 branches"):
        proof_script(ProofTree("constructor", ((0,), (1,)), (ProofTree("rfl"),)))


ONE, TWO = ["simp"], ["intro x", "simp"]


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
        ("  constructor <;> sorry\n", TWO, f"  constructor <;> (\n{' ' * 20}intro x\n{' ' * 20}simp)\n"),
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
