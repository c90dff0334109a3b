"""Whole proofs and then a search: who has which part of the budget, and what both have cost together."""

from __future__ import annotations

import pytest

from common.protocol.attempts import AttemptOutcome, AttemptStatistics, Ended, Method
from node.prover.agent import Playing
from node.prover.player import agent_of
from node.prover.policies.proofs import beginning
from node.prover.whole_proof import Beginnings, both, halved, remaining
from tests.node.prover.toys import ToyLean, ToyPolicy, attempt as any_attempt
from tests.node.prover.whole import Listed, attempt


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (0, ""),
        (2, "intro h"),
        (5, "intro h\ncases h with\n| inl a => simp\n| inr b => simp"),
        (6, "intro h\ncases h with\n| inl a => simp\n| inr b => simp\nhave : p := by\n  simp"),
    ],
)
def test_a_beginning_ends_above_the_tactic_with_the_error(line: int, text: str) -> None:
    script = "intro h\ncases h with\n| inl a => simp\n| inr b => simp\nhave : p := by\n  simp\nexact this"
    assert beginning(script, line) == text


async def test_beginnings_are_proposed_on_the_first_state_alone() -> None:
    policy = Beginnings(["intro h", "simp"])
    first, other = await policy.advise("⊢ a", 6, 1), await policy.advise("⊢ b", 6, 2)
    assert [each.tactic for each in first.proposals] == ["intro h", "simp"] and other.proposals == []
    assert (await policy.advise("⊢ a", 6, 3)).proposals == first.proposals
    assert first.drawn == 0, "nobody drew them anew"


def test_each_half_has_its_budget_and_no_budget_stays_none() -> None:
    wanted = any_attempt(9, lean_attempts=21, seconds=4.0, then="mcts")
    half = halved(wanted)
    assert (half.simulations, half.lean_attempts, half.seconds) == (5, 11, 2.0)
    rest = remaining(wanted, AttemptStatistics(simulations=5, lean_attempts=3, seconds=2.5, seconds_verify=1.0))
    assert rest is not None and rest.method == "mcts"
    assert (rest.simulations, rest.lean_attempts, rest.seconds) == (4, 18, 2.5)
    free = remaining(any_attempt(0, then="mcts"), AttemptStatistics(simulations=5, seconds=2.0))
    assert free is not None and (free.simulations, free.lean_attempts, free.seconds) == (0, 0, 0.0)
    assert remaining(wanted, AttemptStatistics(lean_attempts=21)) is None


def test_costs_are_added_and_a_proof_of_the_search_stands_behind_the_proofs() -> None:
    proofs = {"tactics_tried": 4, "lean_attempts": 4, "tokens": 50, "duplicates": 1}
    first = AttemptStatistics(simulations=5, seconds=3.0, seconds_verify=1.0, **proofs)  # type: ignore[arg-type]
    solved = {"solved_at_simulations": 3, "solved_at_lean_attempts": 8, "solved_at_seconds": 1.5}
    second = AttemptStatistics(simulations=3, lean_attempts=10, seconds=2.0, weights_last=7, **solved)  # type: ignore[arg-type]
    total = both(first, second)
    assert (total.simulations, total.lean_attempts, total.tokens, total.duplicates) == (8, 14, 50, 1)
    assert (total.solved_at_simulations, total.solved_at_lean_attempts, total.solved_at_seconds) == (8, 12, 3.5)
    assert (total.seconds, total.seconds_verify, total.weights_last) == (5.0, 1.0, 7)
    unsolved = both(first, AttemptStatistics(simulations=3, ended=Ended.SIMULATIONS))
    assert (unsolved.solved_at_simulations, unsolved.ended) == (0, Ended.SIMULATIONS)


async def test_the_search_has_what_the_proofs_have_left_and_no_more() -> None:
    proved = 0
    for seed in range(6):
        lean = ToyLean(seed, closing=12)
        wanted = attempt(simulations=40, lean_attempts=60, then=Method.BEST_FIRST)
        source = Listed(*(f"t{number}" for number in range(3)))
        result = await agent_of(wanted, ToyPolicy(1), source, lean, Playing("p", leaves=2)).play()
        statistics = result.statistics
        assert statistics.simulations <= 40 and len(lean.ran) == statistics.lean_attempts <= 60
        proved += result.outcome is AttemptOutcome.PROVED
    assert proved
