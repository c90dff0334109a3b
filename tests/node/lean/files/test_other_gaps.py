"""Verifying a proof for one gap of a file, while other gaps of the same command stay open."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from common.lean import Context, Place, Theorem
from node.lean.check.files.proofs import ProofVerifier, others_assumed
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain

CONTEXT = """namespace Foo
variable (p q : Prop)
include q
theorem unproved (h : p) : q := sorry
"""


@pytest.fixture
async def verifier() -> AsyncIterator[ProofVerifier]:
    verifier = ProofVerifier(LeanProcessSettings(), LeanToolchain.pocket())
    yield verifier
    await verifier.stop()


def at(command: str, *, tactic: bool = True) -> Theorem:
    """The gap at the first `?` of a command."""
    before, after = command.split("?", 1)
    return Theorem("t", "", "?", place=Place(Context.of(CONTEXT), before, after, tactic))


def test_only_code_is_taken_for_another_gap():
    place = at(
        'theorem t : a ∧ b := by -- sorry\n  exact ⟨sorry, ?⟩ /- sorry -/; have sorry\' := "sorry"\n  sorry\n'
    ).place
    assert place is not None
    assumed, count = others_assumed(place)
    assert count == 2 and assumed.before.count("sorry") == 1 and assumed.after.count("sorry") == 3
    alone = at("theorem t : a := ?\n").place
    assert alone is not None and others_assumed(alone) == (alone, 0)


@pytest.mark.lean
async def test_a_gap_is_judged_by_itself_while_others_of_its_command_stay_open(verifier: ProofVerifier):
    tactics = at(
        "theorem t (h : p) : p ∧ p ∧ p := by\n  constructor\n  · sorry\n  constructor\n  · ?\n  all_goals sorry\n"
    )
    right = await verifier.verify(tactics, "  exact h")
    assert right.accepted and right.axioms == ("sorryAx",) and "2 other `sorry`" in right.reason, right
    wrong = await verifier.verify(tactics, "  exact trivial")
    assert not wrong.accepted and "mismatch" in wrong.reason.lower(), wrong
    terms = at("theorem t (h : p) : p ∧ 1 = 2 ∧ p := ⟨?, sorry, h⟩\n", tactic=False)
    right = await verifier.verify(terms, "  exact h")
    assert right.accepted and "1 other `sorry` of its command is left" in right.reason, right


@pytest.mark.lean
async def test_a_proof_that_is_itself_unfinished_is_not_accepted_beside_other_gaps(verifier: ProofVerifier):
    theorem = at("theorem t (h : p) : q ∧ p := ⟨?, sorry⟩\n", tactic=False)
    for script, told in [
        ("exact @«proofmesh other gap» _", "proofmesh other gap"),
        ("exact proofmesh_other_gap", "proofmesh other gap"),
        ("sorry", "sorry"),
    ]:
        verdict = await verifier.verify(theorem, f"  {script}")
        assert not verdict.accepted and told in verdict.reason, (script, verdict)


@pytest.mark.lean
async def test_a_gap_alone_in_its_command_makes_it_a_theorem(verifier: ProofVerifier):
    verdict = await verifier.verify(at("theorem t (h : p) : p ∧ p := by\n  ?\n"), "  constructor\n  all_goals exact h")
    assert verdict.accepted and not verdict.reason and not verdict.axioms and verdict.rechecked, verdict


@pytest.mark.lean
async def test_a_theorem_above_that_is_not_proved_may_be_used_and_that_is_said(verifier: ProofVerifier):
    for command in ("theorem t (h : p) : q ∧ p := ⟨?, h⟩\n", "theorem t (h : p) : q ∧ p := ⟨?, sorry⟩\n"):
        verdict = await verifier.verify(at(command, tactic=False), "  exact unproved p q h")
        assert verdict.accepted and "sorryAx" in verdict.axioms, verdict
        assert "above" in verdict.reason or "1 other" in verdict.reason
