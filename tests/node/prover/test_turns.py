"""Searches that take turns: who is next, what they share, and what an attempt says of them."""

from collections.abc import Sequence

import pytest

from common.lean import Outcome, Step
from common.protocol.attempts import AttemptOutcome
from node.prover.agent import Agent, Playing
from node.prover.policies.combined import ByTurns, Player
from node.prover.policies.policy import Proposal
from node.prover.search.parameters import SearchParameters
from node.prover.search.search import Search
from node.prover.search.turns import TurnSearch
from tests.node.prover.toys import ERROR, PROVED, Says, attempt, goals


def turns(number: int = 2) -> TurnSearch:
    return TurnSearch([Search("s0", SearchParameters()) for _ in range(number)], head_start=0)


def play(search: TurnSearch, tactics: dict[str, Outcome]) -> int:
    """One simulation by hand: tactics that are known already are not sent; returns whose turn it was."""
    request = search.select()
    assert request is not None
    sent = {tactic: outcome for tactic, outcome in tactics.items() if tactic not in request.tried}
    assert search.feed(request, [Proposal(tactic, 1.0) for tactic in tactics], -2.0, sent)
    return request.turn


def test_next_is_the_search_that_has_sent_the_fewest_tactics_to_lean() -> None:
    search = turns()
    assert play(search, {"a": goals("s1")}) == 0
    assert play(search, dict.fromkeys("bcde", ERROR) | {"f": goals("s2")}) == 1
    assert [play(search, {f"{number}": goals(f"n{number}")}) for number in range(5)] == [0, 0, 0, 0, 0]
    assert play(search, {"g": ERROR}) == 1
    assert search.statistics.tactics_tried == 12
    assert search.statistics.simulations == 8


def test_an_outcome_that_one_search_knows_is_not_asked_for_again() -> None:
    search = turns()
    play(search, {"a": goals("s1"), "bad": ERROR, "back": goals("s0")})
    second = search.select()
    assert second is not None and second.turn == 1
    assert second.tried == {"a", "bad", "back"}
    proposals = [Proposal(tactic, 1.0) for tactic in ("back", "bad", "a", "new")]
    assert search.feed(second, proposals, -2.0, {"new": ERROR})
    assert [action.tactic for action in search.searches[1].tree.root.actions] == ["a"]
    statistics = search.statistics
    assert (statistics.tactics_tried, statistics.tactics_failed, statistics.tactics_useless) == (4, 2, 1)


def test_what_closes_a_state_in_one_search_closes_it_in_the_others() -> None:
    search = turns()
    play(search, {"a": goals("s1", "s2")})
    play(search, {"b": goals("s1", "s3"), "no": ERROR, "nor": ERROR})
    play(search, {"close": PROVED})  # one branch of the first search's tactic
    closed = next(node for node in search.searches[0].tree.nodes if node.steps)
    sent = search.statistics.tactics_tried
    assert [play(search, {}) for _ in range(5)] == [0, 0, 1, 0, 1]  # nothing is sent, and they take turns all the same
    assert search.statistics.tactics_tried == sent
    assert [node.state for node in search.searches[1].tree.nodes if node.steps] == [closed.state]
    assert not search.solved


def test_a_proof_says_after_how_many_tactics_of_all_it_was_known_and_may_be_refused() -> None:
    search = turns()
    play(search, {"a": goals("s1"), "b": ERROR})
    play(search, {"b": ERROR, "c": ERROR, "close": PROVED, "late": PROVED})
    assert search.solved and search.finished and search.select() is None
    assert search.statistics.solved_at_simulations == 2
    assert search.statistics.solved_at_tactics == 2 + 2  # `b` was known
    proof = search.proof()
    assert proof.tactic == "close"
    search.reject(proof)
    assert search.statistics.proofs_rejected == 1
    assert search.proof().tactic == "late"
    search.reject(search.proof())
    assert not search.solved and search.statistics.solved_at_tactics == 0
    assert search.select() is not None


class Chain:
    """A theorem that `close` proves where `step` has been taken so often."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.sent: list[str] = []

    async def open(self) -> str:
        return "0"

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        self.sent += tactics
        steps = {"step": goals(f"{len(path) + 1}"), "close": PROVED if len(path) == self.length else ERROR}
        return {tactic: steps.get(tactic, ERROR) for tactic in tactics}


@pytest.mark.parametrize("deep_first", [True, False])
async def test_a_long_list_beside_a_narrow_policy_does_not_keep_it_from_going_deep(deep_first: bool) -> None:
    narrow = Player(Says("step", "close"), has_values=True)
    broad = Player(Says(*(f"t{number}" for number in range(20)), "step", "close", exhausted=True))
    lean = Chain(8)
    policy = ByTurns((narrow, broad) if deep_first else (broad, narrow))
    result = await Agent(attempt(0, samples=2, lean_attempts=100), policy, lean, Playing("p", leaves=1)).play()
    assert result.outcome is AttemptOutcome.PROVED
    assert result.statistics.lean_attempts == len(lean.sent) <= 100
    alone = await Agent(attempt(0, samples=2, lean_attempts=100), broad.policy, Chain(8), Playing("p", leaves=1)).play()
    assert alone.outcome is AttemptOutcome.FAILED
