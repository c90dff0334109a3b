"""What is tried when, and which closing tactics stay."""

import pytest

from common.lean import Outcome, OutcomeKind, Theorem
from node.lean.opened import suggested
from node.proving.prover import ClosingTactics, first_proof

PROVED = Outcome(OutcomeKind.PROVED)
UNKNOWN = Outcome(OutcomeKind.ERROR, message="unknown tactic")
FAILED = Outcome(OutcomeKind.ERROR, message="omega could not prove the goal")
THEOREM = Theorem("t", "", "True")


def test_what_lean_does_not_know_is_left_out_from_then_on() -> None:
    closing = ClosingTactics(["rfl", "grind", "rfl", "omega"])
    assert closing.for_theorem(THEOREM) == ["rfl", "grind", "omega"]
    closing.learn(THEOREM, {"rfl": PROVED, "grind": UNKNOWN, "omega": FAILED})
    assert closing.for_theorem(THEOREM) == closing.known() == ["rfl", "omega"]


def test_the_first_of_the_order_that_closes_the_goal_is_the_proof() -> None:
    outcomes = {"simp": PROVED, "rfl": FAILED, "omega": PROVED}
    assert first_proof(outcomes, ["rfl", "omega", "simp"]) == "omega"
    assert first_proof(outcomes, ["rfl"]) == ""


@pytest.mark.parametrize(
    ("message", "tactic"),
    [
        ("Try this:\n  [apply] exact Nat.add_comm n m", "exact Nat.add_comm n m"),
        ("Try this: exact foo h", "exact foo h"),
        ("Try this:\n  [apply] refine foo ?_\n  [apply] exact bar", "refine foo ?_"),
        ("Try this: exact «proofmesh copy» (h hp) (h hp)", "exact h hp"),
        ("Try this: exact «proofmesh copy» h h", "exact h"),
        ("Try this: exact f («proofmesh copy» h h)", ""),
        ("Try this: exact?", ""),
        ("found nothing", ""),
    ],
)
def test_a_suggestion_is_taken_as_a_tactic_if_the_rules_allow_it(message: str, tactic: str) -> None:
    assert suggested(message) == tactic
