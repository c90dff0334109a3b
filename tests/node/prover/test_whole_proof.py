"""Attempts at whole proofs in a small world: what is counted, what is tried, what goes back to be corrected."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from common.bus import Unanswered
from common.lean import Outcome, ProofTree, Step
from common.protocol.attempts import AttemptOutcome, Ended
from node.lean.text.rules import MAX_TACTIC_BYTES
from node.prover.agent import Playing
from node.prover.player import agent_of
from node.prover.policies.policy import NoTactics
from node.prover.policies.proofs import Draft, ProofRequest, ProofsUnavailable
from node.prover.whole_proof import MOST_LOSSES
from tests.node.prover.whole import Lean, Listed, Verifier, attempt, play


async def test_the_first_proof_that_lean_takes_is_the_result_and_what_stands_behind_it_is_not_counted() -> None:
    lean = Lean(good=("good", "better"))
    result = await play(Listed("bad 0", "", "half", "bad 0", "bad 1", "good", "better", "bad 2", "bad 3"), lean)
    statistics = result.statistics
    assert (result.outcome, result.proof) == (AttemptOutcome.PROVED, ProofTree("good", state="⊢ t"))
    assert (statistics.simulations, statistics.solved_at_simulations) == (6, 6)
    assert (statistics.tactics_tried, statistics.solved_at_lean_attempts) == (4, 4)
    assert (statistics.without_proof, statistics.duplicates, statistics.tactics_failed) == (1, 1, 3)
    assert lean.ran == ["bad 0", "half", "bad 1", "good", "better", "bad 2"]
    assert statistics.lean_attempts == len(lean.ran)
    assert statistics.samples >= 8 and statistics.tokens == 10 * statistics.samples


async def test_what_the_rules_forbid_and_what_differs_in_comments_alone_does_not_reach_lean() -> None:
    lean = Lean()
    result = await play(Listed("sorry", "  bad 1 -- first", "/- a plan -/\nbad 1", "native_decide", "bad 1"), lean)
    assert lean.ran == ["bad 1"]
    assert (result.statistics.without_proof, result.statistics.duplicates) == (2, 2)
    assert (result.outcome, result.statistics.ended) == (AttemptOutcome.FAILED, Ended.EXHAUSTED)
    assert "no more proofs were to be had after 5" in result.message and "duplicates: 2" in result.message


PROOFS = ("bad 0", "bad 0", "", "bad 1", "half", "bad 2", "good", "bad 3")


async def test_a_budget_is_used_up_to_the_last_proof_and_not_beyond() -> None:
    whole = (await play(Listed(*PROOFS))).statistics
    assert (whole.solved_at_simulations, whole.solved_at_lean_attempts) == (7, 5)
    for simulations in range(1, 10):
        lean = Lean()
        result = await play(Listed(*PROOFS), lean, simulations=simulations)
        proved = simulations >= whole.solved_at_simulations
        assert (result.outcome is AttemptOutcome.PROVED) == proved
        assert result.statistics.simulations == min(simulations, 7)
        if not proved:
            assert result.statistics.ended is Ended.SIMULATIONS and result.statistics.samples == simulations
    for attempts in range(1, 8):
        lean = Lean()
        result = await play(Listed(*PROOFS), lean, simulations=0, lean_attempts=attempts)
        proved = attempts >= whole.solved_at_lean_attempts
        assert (result.outcome is AttemptOutcome.PROVED) == proved
        assert len(lean.ran) == result.statistics.lean_attempts <= attempts
        if not proved:
            assert result.statistics.ended is Ended.LEAN_ATTEMPTS and len(lean.ran) == attempts


async def test_a_failed_proof_goes_back_with_leans_words_as_often_as_asked() -> None:
    source = Listed("bad 0", "", "bad 10")
    result = await play(source, Lean(good=("bad 12",)), correct=2, samples=3)
    statistics = result.statistics
    assert result.outcome is AttemptOutcome.PROVED and result.proof == ProofTree("bad 12", state="⊢ t")
    assert (statistics.corrections, statistics.simulations) == (4, 7)
    assert statistics.tokens == 3 * 10 + 4 * 7
    last = source.asked[-1].correct
    assert [(each.draft.text, each.errors) for each in last] == [
        ("bad 10", "unknown tactic bad 10"),
        ("bad 11", "unknown tactic bad 11"),
    ]
    few = await play(Listed("bad 0", "", "bad 10"), Lean(good=("bad 12",)), correct=2, samples=3, simulations=6)
    assert (few.statistics.ended, few.statistics.simulations) == (Ended.SIMULATIONS, 6)
    none = Listed("half")
    await play(none, correct=0)
    assert not any(request.correct for request in none.asked)


async def test_a_refused_proof_is_not_the_end_and_what_workers_did_not_finish_is_verified_last() -> None:
    long = "long " + "x" * MAX_TACTIC_BYTES
    lean = Lean(good=("good 1", "good 2"))
    verifier = Verifier("hang 2", "good 2")
    result = await play(Listed("hang 1", "good 1", long, "hang 2", "good 2"), lean, verifier)
    assert verifier.seen == ["good 1", "hang 1", long, "hang 2"]
    assert (result.outcome, result.proof) == (AttemptOutcome.PROVED, ProofTree("hang 2", state="⊢ t"))
    assert long not in lean.ran
    statistics = result.statistics
    assert (statistics.proofs_rejected, statistics.solved_at_simulations) == (1, 4)
    refused = await play(Listed("good 1"), Lean(good=("good 1",)), Verifier())
    assert refused.outcome is AttemptOutcome.FAILED
    assert "proofs refused by verification: 1, the last one: refused: good 1" in refused.message
    assert refused.statistics.solved_at_simulations == 0
    alone = await play(Listed("hang 1"))
    assert alone.outcome is AttemptOutcome.FAILED, "without verification nobody can say that it is a proof"


async def test_lost_proofs_are_tried_again_cost_no_lean_attempts_and_are_no_failure() -> None:
    lean = Lean()
    result = await play(Listed("lost 1", "bad 1", "bad 2"), lean)
    assert lean.ran.count("lost 1") == 1 + MOST_LOSSES and lean.ran.count("bad 1") == 1
    assert (result.outcome, result.statistics.expansions_lost) == (AttemptOutcome.UNDECIDED, 1)
    assert result.statistics.lean_attempts == 2
    assert (await play(Listed("lost 1", "lost 2"))).outcome is AttemptOutcome.ERROR


async def test_an_attempt_for_whole_proofs_that_nothing_writes_is_an_error_that_says_so() -> None:
    agent = agent_of(attempt(), NoTactics(), None, Lean(), Playing("p", leaves=1))
    result = await agent.play()
    assert (result.outcome, result.proof) == (AttemptOutcome.ERROR, None)
    assert "the method whole-proof needs a policy that writes whole proofs" in result.message


@pytest.mark.parametrize("error", [ProofsUnavailable("no server"), Unanswered("no inference")])
async def test_a_source_that_fails_is_an_error(error: Exception) -> None:
    class Failing(Listed):
        async def propose(self, request: ProofRequest) -> list[Draft]:
            if request.first:
                raise error
            return await super().propose(request)

    result = await play(Failing(*PROOFS))
    assert result.outcome is AttemptOutcome.ERROR and str(error) in result.message
    assert result.statistics.simulations == 4


async def test_when_time_is_up_what_was_sampled_counts_and_nothing_goes_on() -> None:
    class Stuck(Lean):
        async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
            self.ran += tactics
            await asyncio.Event().wait()
            return {}

    result = await play(Listed(*PROOFS), Stuck(), seconds=0.05)
    assert (result.outcome, result.statistics.ended) == (AttemptOutcome.UNDECIDED, Ended.SECONDS)
    assert result.statistics.simulations == 4

    class Silent(Listed):
        async def propose(self, request: ProofRequest) -> list[Draft]:
            await asyncio.Event().wait()
            return []

    result = await play(Silent(), seconds=0.05)
    assert result.outcome is AttemptOutcome.ERROR and "over before the first" in result.message
