"""One theorem in this process: what is tried when, what proves it, what it looks like, and what is said when it is not
proved."""

from pathlib import Path

import pytest

from common.lean import Outcome, OutcomeKind, Theorem
from common.protocol.attempts import AttemptOutcome
from node.lean.opened import OpenedLean, suggested
from node.lean.text.statement import parse_statement
from node.play import policies
from node.prover.policies.policy import Advice, InferencePolicy
from node.proving import finishing
from node.proving.prover import FIRST_PART, Budget, ClosingTactics, first_proof, local_prover
from node.proving.settings import ProvingSettings

BUDGET = Budget(seconds=60.0, simulations=60)


@pytest.fixture(autouse=True)
def no_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever has been trained here is not part of a test, and a busy machine has time to write proofs nicely."""
    monkeypatch.setattr(finishing, "SHORTENING_SECONDS", 60.0)
    monkeypatch.setattr(policies, "DEMO_RUN", tmp_path / "no-demo")


async def test_a_search_proves_the_rest_and_its_proof_reads_well(opened_lean: OpenedLean) -> None:
    settings = ProvingSettings(policy="tactics", closing=["assumption"], searching=[])
    theorem = parse_statement("theorem t {α : Type} (P Q : α → Prop) : (∃ x, P x ∧ Q x) → ∃ y, Q y")
    async with local_prover(opened_lean, settings) as prover:
        found = await prover.find(theorem, BUDGET)
        assert found.outcome is AttemptOutcome.PROVED, found.reason
        verdict = await prover.verify(theorem, found.script)
    assert verdict.accepted, verdict.reason
    assert found.by == "list of tactics" and found.simulations > 0
    assert not any("_1" in line for line in found.script)


async def test_the_librarys_search_gives_what_the_search_does_not(opened_lean: OpenedLean) -> None:
    only = ProvingSettings(policy="tactics", closing=["rfl"], searching=["exact?"])
    theorem = parse_statement("theorem t (a b c : Nat) : a ∣ b → b ∣ c → a ∣ c")
    assert "Nat.dvd_trans" in await opened_lean.suggestion(theorem, "exact?", 20.0)
    async with local_prover(opened_lean, only) as prover:
        found = await prover.find(theorem, BUDGET)
    assert "exact?" not in " ".join(found.script) and found.script


async def test_the_demos_network_joins_where_the_list_comes_to_no_end_and_a_damaged_one_is_no_hindrance(
    opened_lean: OpenedLean, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, advise = [], InferencePolicy.advise

    async def counted(self: InferencePolicy, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        asked.append(state)
        return await advise(self, state, samples, seed, again)

    monkeypatch.setattr(InferencePolicy, "advise", counted)
    monkeypatch.setattr(policies, "DEMO_RUN", run_folder)
    async with local_prover(opened_lean, ProvingSettings(searching=[], samples=2)) as prover:
        found = await prover.find(parse_statement("theorem t (p q : Prop) : p → q"), Budget(60.0, 10))
    assert found.outcome is AttemptOutcome.FAILED and found.simulations == 10
    assert len(asked) == 10 - round(FIRST_PART * 10)
    for state in run_folder.glob("checkpoints/*/state.json"):
        state.write_text("{}")
    monkeypatch.setattr(policies, "DEMO_RUN", run_folder)
    notes: list[str] = []
    settings = ProvingSettings(closing=["rfl"], searching=[])
    async with local_prover(opened_lean, settings, note=notes.append) as prover:
        found = await prover.find(parse_statement("theorem t (p q : Prop) : p ∧ q → q ∧ p"), BUDGET)
    assert found.script and "are damaged" in notes[0]


# --- without Lean -----------------------------------------------------------------------------------------------------
PROVED = Outcome(OutcomeKind.PROVED)
UNKNOWN = Outcome(OutcomeKind.ERROR, message="unknown tactic")
FAILED = Outcome(OutcomeKind.ERROR, message="omega could not prove the goal")
THEOREM = Theorem("t", "", "True")


def test_what_lean_does_not_know_is_left_out_and_the_first_of_the_order_that_closes_the_goal_is_the_proof() -> None:
    closing = ClosingTactics(["rfl", "grind", "rfl", "omega"])
    assert closing.for_theorem(THEOREM) == ["rfl", "grind", "omega"]
    closing.learn(THEOREM, {"rfl": PROVED, "grind": UNKNOWN, "omega": FAILED})
    assert closing.for_theorem(THEOREM) == closing.known() == ["rfl", "omega"]
    outcomes = {"simp": PROVED, "rfl": FAILED, "omega": PROVED}
    assert first_proof(outcomes, ["rfl", "omega", "simp"]) == "omega" and first_proof(outcomes, ["rfl"]) == ""


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
