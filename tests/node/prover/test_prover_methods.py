"""Final verification with real Lean while the search is still there, by every search method."""

from __future__ import annotations

from common.bus import Bus
from common.lean import ProofTree, Theorem
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, Method, Purpose
from common.protocol.messages import LeanVerifyReply, LeanVerifyRequest
from node.lean.text.script import proof_script
from node.prover.agent import Agent, Playing
from node.prover.environment import LeanEnvironment
from node.prover.policies.fixed import FixedPolicy
from node.prover.search.methods import METHODS
from node.prover.settings import ProverSettings

CHOICE = Theorem("t", "(p q r : Prop)", "p ∧ (q ∨ r) → (p ∧ q) ∨ (p ∧ r)")
FALSE = Theorem("t", "(p q : Prop)", "p → q")


def attempt(attempt_id: str, theorem: Theorem, method: Method = Method.MCTS, simulations: int = 60) -> Attempt:
    return Attempt(
        attempt_id=attempt_id,
        theorem_id="t",
        theorem=theorem,
        purpose=Purpose.EVAL,
        simulations=simulations,
        seed=1,
        method=method,
        lean_attempts=2000,
        seconds=300.0,
    )


async def verify(bus: Bus, theorem: Theorem, proof: ProofTree) -> LeanVerifyReply:
    request = LeanVerifyRequest(theorem=theorem, script=proof_script(proof))
    return await bus.request_patiently(subjects.LEAN_VERIFY, request, LeanVerifyReply, timeout=30, deadline=60)


async def test_a_proof_that_the_verifier_does_not_want_is_replaced_by_one_that_lean_accepts(
    bus: Bus, lean_proxy: object
) -> None:
    for method in map(Method, METHODS):
        await refuse_twice(bus, method)


async def refuse_twice(bus: Bus, method: Method) -> None:
    """Play an attempt two proofs of which are refused, and have Lean verify the third."""
    theorem = Theorem("t", "(n : Nat)", "n + 0 = n")
    seen: list[str] = []

    async def unlike_the_first_two(proof: ProofTree) -> str:
        seen.append(proof_script(proof))
        if len(seen) <= 2:
            return "not like this"
        verdict = await verify(bus, theorem, proof)
        return "" if verdict.accepted else verdict.reason

    lean = LeanEnvironment(bus, theorem, tactic_timeout=5, patience=30)
    parameters = ProverSettings(policy="fixed").search_parameters()
    agent = Agent(
        attempt("a", theorem, method),
        FixedPolicy(),
        lean,
        Playing("p", leaves=2, parameters=parameters, verify=unlike_the_first_two),
    )
    result = await agent.play()
    assert result.outcome is AttemptOutcome.PROVED, result.message
    assert result.statistics.proofs_rejected == 2 and result.statistics.seconds_verify > 0
    assert len(set(seen)) == 3
    assert result.proof is not None and proof_script(result.proof) == seen[-1]
