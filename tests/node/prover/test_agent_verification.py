"""Proofs are verified while their search is still there: a refused one does not end it."""

from __future__ import annotations

import asyncio

import pytest

from common.bus import Unanswered
from common.lean import ProofTree
from common.protocol.attempts import AttemptOutcome, AttemptResult, Ended, Method
from node.prover.agent import Agent, Playing
from node.prover.search.methods import METHODS
from node.prover.search.parameters import SearchParameters
from tests.node.prover.toys import ToyLean, ToyPolicy, attempt, is_valid

every_method = pytest.mark.parametrize("method", METHODS)


class Verifier:
    """Refuses the first proofs, accepts the next one, and keeps them all."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.seen: list[ProofTree] = []

    async def __call__(self, proof: ProofTree) -> str:
        self.seen.append(proof)
        await asyncio.sleep(0)
        return f"refusal {len(self.seen)}" if len(self.seen) <= self.refusals else ""


async def play(verifier: Verifier, seed: int, *, closing: int = 12, **changes: object) -> AttemptResult:
    lean = ToyLean(seed, closing=closing)
    wanted = attempt(**{"simulations": 200, **changes})  # type: ignore[arg-type]
    agent = Agent(wanted, ToyPolicy(1), lean, Playing("p", leaves=4, verify=verifier))
    result = await agent.play()
    assert agent.search is not None and agent.search.in_flight == 0
    return result


@every_method
async def test_the_search_goes_on_after_a_refusal_until_a_proof_is_accepted(method: Method) -> None:
    proved = 0
    for seed in range(10):
        verifier = Verifier(refusals=3)
        result = await play(verifier, seed, method=method)
        assert len({str(proof) for proof in verifier.seen}) == len(verifier.seen), "no proof is verified twice"
        assert all(is_valid(proof, "s0", ToyLean(seed, closing=12).table) for proof in verifier.seen)
        if result.outcome is AttemptOutcome.PROVED:
            proved += 1
            assert result.proof == verifier.seen[-1] and len(verifier.seen) == 4
            assert result.statistics.proofs_rejected == 3
            assert 0 < result.statistics.solved_at_simulations <= result.statistics.simulations
    assert proved >= 5


async def test_an_attempt_ends_after_too_many_refused_proofs() -> None:
    async def refusals_of(parameters: SearchParameters) -> tuple[AttemptResult, int]:
        verifier = Verifier(refusals=10**9)
        lean = ToyLean(1, closing=12)
        agent = Agent(attempt(100), ToyPolicy(1), lean, Playing("p", leaves=4, verify=verifier, parameters=parameters))
        return await agent.play(), len(verifier.seen)

    _, usual = await refusals_of(SearchParameters())
    result, limited = await refusals_of(SearchParameters(max_refusals=2))
    assert limited == result.statistics.proofs_rejected == 2 < usual
    assert (result.outcome, result.statistics.ended) == (AttemptOutcome.FAILED, Ended.EXHAUSTED)
    assert "too many refused proofs" in result.message and "proofs refused by verification: 2" in result.message


async def test_verification_that_nobody_answers_is_an_error_and_no_proof() -> None:
    async def unanswered(proof: ProofTree) -> str:
        raise Unanswered("nobody serves lean.verify")

    result = await Agent(
        attempt(), ToyPolicy(1), ToyLean(1, closing=6), Playing("p", leaves=1, verify=unanswered)
    ).play()
    assert (result.outcome, result.proof) == (AttemptOutcome.ERROR, None)
    assert "nobody serves lean.verify" in result.message
