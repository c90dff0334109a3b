"""Proofs that are taken out of answers, behind our statement: Lean accepts them as it would the model's own text."""

import pytest

from common.lean import OutcomeKind
from node.lean.opened import OpenedLean
from node.lean.text.rules import proof_problem
from node.lean.text.statement import parse_statement
from node.llm.outputs import parse_proof
from node.llm.sampling import Sample
from node.llm.templates import load
from tests.node.play.opened import environment_of

pytestmark = pytest.mark.lean

THEOREM = parse_statement("theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by sorry")

PROOFS = [
    " := ⟨h.2, h.1⟩",
    " :=\n  ⟨h.2,\n   h.1⟩",
    "\n:= by constructor; exact h.2\n      exact h.1",
    " := by simp [And.comm,\n    h]",
    " := by\n  constructor\n  · have k : q := by\n      exact h.2\n    exact k\n\n  · exact h.1",
    " :=\n  have k := h.2\n  have l := h.1\n  ⟨k, l⟩",
    " :=\nby\n  -- first\n  obtain ⟨a, b⟩ := h -- split\n  /- then\n     join -/\n  exact ⟨b, a⟩",
    " := by\n    cases h with\n    | intro a b =>\n      exact ⟨b, a⟩\n",
    " := by {\n  constructor\n  exact h.2\n  exact h.1\n}",
    " := by\n  refine ⟨?_, ?_⟩ <;>\n    simp_all",
    " := match h with\n  | ⟨a, b⟩ => ⟨b, a⟩",
    " := And.intro\n  h.2\n  h.1",
    " := by\n\tobtain ⟨a, b⟩ := h\n\texact ⟨b, a⟩",
    " := by exact ⟨h.2,\n  h.1⟩",
    " := h.symm\n\nend Foo",
    " := by\n  have key : ∀ x : Nat, x = x := by\n    intro x\n    rfl\n  exact ⟨h.2, h.1⟩\n#print axioms swap",
]


async def test_lean_accepts_what_is_taken_out(opened_lean: OpenedLean):
    statement, taken = THEOREM.signature, []
    for proof in PROOFS:
        for name, text in (
            ("goedel-prover-v2", f"Plan\n```lean4\nimport Mathlib\n\n{statement}{proof}\n```"),
            ("stp", f"{statement}{proof}\n```"),
        ):
            parsed = parse_proof(load(name), Sample(text), THEOREM)
            assert parsed.problem is None and proof_problem(parsed.text) == ""
            taken.append(parsed.text)
    outcomes = await environment_of(opened_lean, THEOREM).run((), taken)
    assert {script for script, outcome in outcomes.items() if outcome.kind is not OutcomeKind.PROVED} == set()
    assert set(outcomes) == set(taken)
