"""Attempts that ask for final verification: real provers and lean-proxies, and a proof that Lean really refuses."""

from pathlib import Path

import pytest

from common.bus import Bus, BusSettings
from common.lean import ProofTree, Theorem
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, Ended, Purpose
from common.protocol.messages import MAX_MESSAGE_BYTES, LeanRunRequest, LeanVerifyReply
from node.lean.opened import OpenedLean
from node.lean.text.script import proof_script
from node.prover.environment import Verification
from node.proving.statements import read_target
from tests.forging import forging
from tests.node.prover.nodes import played

FILE = """axiom cheat (p : Prop) : p
theorem t (p q : Prop) (h : p ∧ q) : q ∧ p := by
  sorry
"""
"""A tactic may use the axiom, and a search takes it for a proof; verification permits Lean's own axioms alone."""


@pytest.fixture
def theorem(tmp_path: Path) -> Theorem:
    (tmp_path / "file.lean").write_text(FILE, encoding="utf-8")
    return read_target([str(tmp_path / "file.lean"), "t"]).readings[0]


def attempt(attempt_id: str, theorem: Theorem, **changes: object) -> Attempt:
    fields = {"theorem_id": "t", "purpose": Purpose.EVAL, "simulations": 20, "seed": 1} | changes
    return Attempt(attempt_id=attempt_id, theorem=theorem, **fields)  # type: ignore[arg-type]


async def test_the_search_goes_on_after_a_proof_that_lean_refuses_whoever_accepts_it(
    bus: Bus, broker: BusSettings, lean_proxy: object, theorem: Theorem, tmp_path: Path
) -> None:
    accepted = LeanVerifyReply(accepted=True, axioms=(), lean_version="4.35.0", rechecked=True)
    tactics = tmp_path / "cheating.txt"
    tactics.write_text("exact cheat _\nconstructor\nexact h.1\nexact h.2\n", encoding="utf-8")
    attempts = [attempt("believed", theorem), attempt("verified", theorem, verify=True)]
    async with forging(broker, bus.run, (accepted, {})):
        found = await played(bus, attempts, policy=f"tactics:{tactics}")
        tactics.write_text("exact cheat _\n", encoding="utf-8")  # nothing else is there to be found
        alone = await played(bus, [attempt("refused", theorem, verify=True)], policy=f"tactics:{tactics}")
    believed, verified, refused = found["believed"], found["verified"], alone["refused"]
    assert believed.proof is not None and "cheat" in proof_script(believed.proof)
    assert verified.outcome is AttemptOutcome.PROVED, verified.message
    assert verified.proof is not None and "cheat" not in proof_script(verified.proof)
    statistics = verified.statistics
    assert statistics.proofs_rejected >= 1 and statistics.seconds_verify > 0
    assert statistics.solved_at_simulations > believed.statistics.solved_at_simulations
    assert (refused.outcome, refused.proof) == (AttemptOutcome.FAILED, None)
    assert refused.statistics.ended is Ended.EXHAUSTED and refused.statistics.proofs_rejected == 1
    assert "uses other axioms than Lean's own: cheat" in refused.message


async def test_where_nobody_verifies_any_more_a_proof_is_the_attempts_error(
    bus: Bus, opened_lean: OpenedLean, theorem: Theorem, tmp_path: Path
) -> None:
    tactics = tmp_path / "honest.txt"
    tactics.write_text("exact ⟨h.2, h.1⟩\n", encoding="utf-8")
    await bus.serve(subjects.LEAN_RUN, LeanRunRequest, opened_lean.requests.run, queue="lean-proxy", limit=8)
    settings = {"policy": f"tactics:{tactics}", "verify_patience": 0.5}
    result = (await played(bus, [attempt("a", theorem, verify=True)], **settings))["a"]
    assert (result.outcome, result.proof) == (AttemptOutcome.ERROR, None)
    assert "lean.verify" in result.message
    assert (result.statistics.simulations, result.statistics.proofs_rejected) == (1, 0)


async def test_a_proof_that_no_message_holds_is_refused(bus: Bus, theorem: Theorem) -> None:
    verify = Verification(bus, theorem, timeout=0.2, patience=0.4)
    rfl = ProofTree("rfl")
    tree = ProofTree("constructor", layout=((0,), (1,)), children=(rfl,))
    assert "does not fit its 1 branches" in await verify(tree)
    assert "too large to be verified" in await verify(ProofTree(f"exact {'x' * MAX_MESSAGE_BYTES}"))
