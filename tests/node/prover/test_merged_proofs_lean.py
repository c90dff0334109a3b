"""Proofs through states that Lean gave other names: what Lean says of them, written out."""

import dataclasses
from collections.abc import Mapping, Sequence

import pytest

from common.lean import Theorem
from common.protocol.attempts import AttemptOutcome
from node.lean.opened import OpenedLean
from node.lean.text.canonical import Merging
from node.lean.text.script import proof_lines
from node.prover.agent import Agent, Playing
from node.prover.policies.policy import Advice, Proposal
from node.prover.search.parameters import SearchParameters
from tests.node.play.opened import environment_of, verified
from tests.node.prover.toys import attempt

pytestmark = pytest.mark.lean

SWAPPED = Theorem("t", "(p q : Prop)", "p ∧ q ↔ q ∧ p")
CHOICE = Theorem("t", "(P : Nat → Prop)", "(∀ n m : Nat, P m → ∃ k, P k) ∧ (∀ n m : Nat, P n → ∃ k, P k)")

SWAP: Mapping[str, Sequence[str]] = {
    "⊢ p ∧ q ↔ q ∧ p": ("constructor",),
    "⊢ p ∧ q → q ∧ p": ("intro h",),
    "h : p ∧ q\n⊢ q ∧ p": ("have hq : q := h.2\nhave hp : p := h.left",),
    "hp : p\n⊢ q ∧ p": ("exact (⟨hq, hp⟩ : q ∧ p)",),
}
"""Tactics by the end of the state. Of the second direction the list knows nothing."""


LATEST: Mapping[str, Sequence[str]] = {
    "⊢ (∀ (n m : Nat), P m → ∃ k, P k) ∧ ∀ (n m : Nat), P n → ∃ k, P k": ("constructor",),
    "⊢ ∀ (n m : Nat), P m → ∃ k, P k": ("intro n m h",),
    "⊢ ∀ (n m : Nat), P n → ∃ k, P k": ("intro n m h",),
    "h : P m\n⊢ ∃ k, P k": ("exact ⟨‹Nat›, h⟩",),
}
"""`‹Nat›` is the latest number of the context: no renaming makes up for another order."""

ITS_OWN: Mapping[str, Sequence[str]] = {**LATEST, "h : P n\n⊢ ∃ k, P k": ("exact ⟨n, h⟩",)}


class ByState:
    """Proposes what a table has for the end of a state."""

    def __init__(self, table: Mapping[str, Sequence[str]]) -> None:
        self.table = table
        self.asked: list[str] = []

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        self.asked.append(state)
        found = [tactics for end, tactics in self.table.items() if state.endswith(end)]
        return Advice([Proposal(tactic, 1.0) for tactic in (found[0] if found else ())], -5.0, exhausted=True)


@dataclasses.dataclass
class Played:
    agent: Agent
    outcome: AttemptOutcome
    verdicts: list[str]
    script: str


async def play(
    lean: OpenedLean, theorem: Theorem, table: Mapping[str, Sequence[str]], merging: Merging = "names-and-order"
) -> Played:
    """The search, each proof of which Lean verifies in a fresh process."""
    verdicts: list[str] = []

    async def verify(proof: object) -> str:
        reply = await verified(lean, theorem, proof)  # type: ignore[arg-type]
        verdicts.append("" if reply.accepted else reply.reason or "refused")
        return verdicts[-1]

    playing = Playing("p", leaves=1, parameters=SearchParameters(merging=merging), verify=verify)
    wanted = attempt(20, theorem=theorem, samples=1)
    agent = Agent(wanted, ByState(table), environment_of(lean, theorem), playing)
    result = await agent.play()
    script = "\n".join(proof_lines(result.proof, "")) if result.proof else ""
    return Played(agent, result.outcome, verdicts, script)


async def test_one_direction_is_proved_and_the_other_by_symmetry(opened_lean: OpenedLean) -> None:
    played = await play(opened_lean, SWAPPED, SWAP)
    assert (played.outcome, played.verdicts) == (AttemptOutcome.PROVED, [""])
    assert "have hq : q := h.2" in played.script and "have hq : p := h.2" in played.script
    assert played.agent.search is not None and played.agent.search.tree.merged == 1
    alone = await play(opened_lean, SWAPPED, SWAP, "names")
    assert alone.outcome is AttemptOutcome.FAILED, "the tactics are those of one direction"


async def test_a_proof_that_cannot_be_renamed_is_refused_and_the_search_goes_on_without_the_merge(
    opened_lean: OpenedLean,
) -> None:
    failed = await play(opened_lean, CHOICE, LATEST)
    assert failed.outcome is AttemptOutcome.FAILED and len(failed.verdicts) == 1 and failed.verdicts[0]
    played = await play(opened_lean, CHOICE, ITS_OWN)
    assert played.outcome is AttemptOutcome.PROVED and [bool(reason) for reason in played.verdicts] == [True, False]
    assert "exact ⟨‹Nat›, h⟩" in played.script and "exact ⟨n, h⟩" in played.script
