"""The agent in toy worlds: what it asks for, in which order it feeds, and what it reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from common.lean import Outcome, OutcomeKind, Step
from common.proofs import transitions_of
from common.protocol.attempts import AttemptOutcome, Purpose, Transition
from node.prover.agent import Agent, Playing, node_seed, unsolved
from node.prover.policies.policy import Advice, StateTooLong
from node.prover.search.simulation import SearchStatistics
from tests.node.prover.toys import LOST, BadLean, LosingLean, ToyLean, ToyPolicy, attempt


class LosingOneStateLean(ToyLean):
    """Loses all that is run on the state that is expanded third."""

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        outcomes = await super().run(path, tactics)
        states = list(dict.fromkeys(state for state, _ in self.ran))
        return dict.fromkeys(tactics, LOST) if states.index(self.ran[-1][0]) == 2 else outcomes


def agent(policy: ToyPolicy, lean: ToyLean, simulations: int = 40, leaves: int = 4) -> Agent:
    return Agent(attempt(simulations), policy, lean, Playing("p", leaves=leaves))


async def test_a_proof_names_its_states_from_the_root() -> None:
    found = [await agent(ToyPolicy(1), ToyLean(seed, closing=12)).play() for seed in range(12)]
    proved = [result for result in found if result.outcome == "proved"]
    assert len(proved) >= 3
    for result in proved:
        assert result.proof is not None
        assert result.proof.state == "s0"
        steps = transitions_of(result.proof)
        assert steps[0] == Transition("s0", result.proof.tactic, result.proof.remaining_steps)
        assert (result.statistics.weights_first, result.statistics.weights_last) == (3, 3)
        shape = result.statistics.shape
        assert shape is not None and shape.proof_steps == result.proof.remaining_steps
        assert shape.expansions == result.statistics.simulations >= shape.expanded and not (
            shape.solved or shape.unsolved
        )


async def test_values_of_a_network_are_counted_by_whether_their_states_were_solved() -> None:
    play = Agent(attempt(60), ToyPolicy(0), ToyLean(3, closing=30), Playing("p", has_values=True))
    shape = (await play.play()).statistics.shape
    assert shape is not None and sum(shape.unsolved) > 0
    assert sum(shape.solved) + sum(shape.unsolved) == shape.expanded - shape.on_proof


async def test_a_failed_search_that_lost_an_expansion_is_undecided() -> None:
    result = await agent(ToyPolicy(0), LosingOneStateLean(3, closing=10_000), leaves=1).play()
    statistics = result.statistics
    assert (statistics.simulations, statistics.expansions_lost) == (40, 1)
    assert result.outcome is AttemptOutcome.UNDECIDED and not result.outcome.decided
    lossless = await agent(ToyPolicy(0), ToyLean(3, closing=10_000), leaves=1).play()
    assert lossless.outcome is AttemptOutcome.FAILED and lossless.statistics.expansions_lost == 0


@pytest.mark.parametrize(
    ("lost", "simulations", "outcome"),
    [
        (0, 16, AttemptOutcome.FAILED),
        (1, 16, AttemptOutcome.UNDECIDED),
        (8, 16, AttemptOutcome.UNDECIDED),
        (9, 16, AttemptOutcome.ERROR),
    ],
)
def test_what_a_search_without_proof_says_depends_on_what_it_lost(
    lost: int, simulations: int, outcome: AttemptOutcome
) -> None:
    assert unsolved(SearchStatistics(simulations=simulations, expansions_lost=lost))[0] is outcome


async def test_bad_statement_carries_leans_message() -> None:
    result = await agent(ToyPolicy(0), BadLean(1)).play()
    assert (result.outcome, result.message) == ("bad-statement", "unknown identifier 'foo'")


async def test_cancelled_agent_leaves_nothing_in_flight() -> None:
    play = agent(ToyPolicy(0), ToyLean(3, closing=10_000), simulations=10_000)
    task = asyncio.create_task(play.play())
    while not (play.search and play.search.in_flight > 1):  # noqa: ASYNC110 - every turn of the loop counts
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert play.search.in_flight == 0
    assert len(asyncio.all_tasks()) == 1


def test_seeds_differ_by_state_and_round_and_evaluations_repeat() -> None:
    first, again = attempt(attempt_id="x"), attempt(attempt_id="y")
    seeds = {node_seed(first, node, round) for node in range(20) for round in range(5)}
    assert len(seeds) == 100
    assert node_seed(first, 1, 0) != node_seed(again, 1, 0)
    before, after = (attempt(attempt_id=name, purpose=Purpose.EVAL) for name in ("x", "y"))
    assert node_seed(before, 1, 0) == node_seed(after, 1, 0)


async def test_outcomes_are_told_as_they_come_also_those_that_count_for_nothing() -> None:
    told: list[Outcome] = []
    lean = ToyLean(1)
    await Agent(attempt(), ToyPolicy(1), lean, Playing("p", leaves=2, on_outcomes=told.extend)).play()
    assert len(told) == len(lean.ran) > 0
    told.clear()
    await Agent(attempt(), ToyPolicy(1), LosingLean(1), Playing("p", leaves=2, on_outcomes=told.extend)).play()
    assert {outcome.kind for outcome in told} == {OutcomeKind.LOST}


class ShortSighted(ToyPolicy):
    """Cannot read some states."""

    def __init__(self, unread: Callable[[str], bool]) -> None:
        super().__init__(0)
        self.unread = unread

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        if self.unread(state):
            raise StateTooLong("the goals are too long", -8.0)
        return await super().advise(state, samples, seed)


async def test_a_state_that_the_policy_cannot_read_ends_its_branch_and_only_the_first_one_ends_the_search() -> None:
    lean = ToyLean(5, closing=1_000_000)
    odd = await agent(ShortSighted(lambda state: int(state[1:]) % 2 == 1), lean).play()
    assert odd.outcome is AttemptOutcome.FAILED and odd.statistics.simulations > 3
    assert not any(int(state[1:]) % 2 == 1 for state, _ in lean.ran)
    first = await agent(ShortSighted(lambda state: state == "s0"), ToyLean(5)).play()
    assert first.outcome is AttemptOutcome.ERROR and "the goals are too long" in first.message
